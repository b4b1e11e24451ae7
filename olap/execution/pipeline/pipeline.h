// Pipelines: a source pushes the batches of a morsel through a chain of stages; each stage calls
// the push() of the next. The last stage keeps the rows (a join's build side, groups, a sort, the
// result).
//
//   MorselSource --push--> Stage --push--> Stage --push--> collecting Stage
//
// Every worker has its own chain, made by a StageFactory. Chains share only immutable state (a
// join's table) and atomics (LIMIT's counter). Collecting stages fill a part for each worker, and
// the pipeline's owner combines the parts when run_pipeline() has returned.
//
// Invariants
//   P1  A pushed batch has at least one selected row.
//   P2  push() returns false when no more rows are wanted; the source then stops this worker.
//   P3  With one worker, morsels run in ascending order.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/threads/execution_arena.h"
#include "olap/execution/vector/vector.h"
#include "olap/execution/vector/vector_texts.h"
#include "olap/query.h"
#include "storage/table.h"

namespace diptych::olap {

class PlanMeter;    // plan_meter.h
class SharedScans;  // shared_scans.h

struct RunContext {
  const storage::Replica* replica;
  ExecutionArena* arena;
  const StopSignal* stop;
  MemoryBudget* memory;          // the query's budget
  PlanMeter* meter = nullptr;    // set for EXPLAIN ANALYZE
  SharedScans* scans = nullptr;  // set if the plan shares scans with other plans

  QueryLimits limits() const { return {memory, stop}; }
};

class Stage {
 public:
  Stage() = default;
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  virtual bool push(Batch& batch) = 0;
};
using StagePtr = std::unique_ptr<Stage>;
using StageFactory = std::function<StagePtr(uint32_t worker)>;

// MorselSource: the source of one worker. It owns its chain and pushes a morsel's rows into it.
class MorselSource {
 public:
  MorselSource() = default;
  virtual ~MorselSource() = default;
  MorselSource(const MorselSource&) = delete;
  MorselSource& operator=(const MorselSource&) = delete;

  virtual bool run(uint64_t morsel) = 0;
};
using SourceFactory = std::function<std::unique_ptr<MorselSource>(uint32_t worker)>;

// Runs morsels [0, morsels) on up to `workers` workers. Rethrows the first QueryFailure or
// std::bad_alloc of a worker, and throws kCancelled if the stop signal is set (checked once a
// morsel).
void run_pipeline(const RunContext& context, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source);

// As run_pipeline(), but worker w runs the w-th share of the morsels in ascending order. So the
// rows that the chains of workers 0, 1, 2... keep are, one after the other, in the morsels' order.
void run_in_order(const RunContext& context, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source);

}  // namespace diptych::olap
