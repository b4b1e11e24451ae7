// Pipelines: a source that hands out morsels, then stages that pass batches on, each by a call of
// the next one's push(). The last stage keeps the rows (a join's build side, groups, a sort, the
// result).
//
//   MorselSource --push--> Stage --push--> Stage --push--> collecting Stage
//
// Every worker has its own chain, made by a StageFactory; chains share only immutable state (a
// join's table), atomics (LIMIT's counter), and the collecting stages' per-worker parts, which the
// pipeline's owner puts together when run_pipeline() has returned.
//
// Invariants
//   P1  A batch that is pushed has at least one selected row.
//   P2  push() returns false when no more rows are wanted; the source then stops this worker.
//   P3  With one worker, morsels run in ascending order.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/threads/arena.h"
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
  MemoryBudget* memory;          // the query's
  PlanMeter* meter = nullptr;    // where somebody asks what the plan's operators do
  SharedScans* scans = nullptr;  // where the plan scans tables together with others

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

// One worker's source: pushes a morsel's rows into the chain that it owns.
class MorselSource {
 public:
  MorselSource() = default;
  virtual ~MorselSource() = default;
  MorselSource(const MorselSource&) = delete;
  MorselSource& operator=(const MorselSource&) = delete;

  virtual bool run(uint64_t morsel) = 0;
};
using SourceFactory = std::function<std::unique_ptr<MorselSource>(uint32_t worker)>;

// Runs morsels [0, morsels) on up to `workers` workers. Throws the first QueryFailure or
// std::bad_alloc of a worker, and kCancelled when the stop signal is seen (once a morsel).
void run_pipeline(const RunContext& context, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source);

// The same, where worker w takes the w-th share of the morsels in ascending order: what the chains
// of workers 0, 1, 2... keep is, one after the other, in the order of the morsels.
void run_in_order(const RunContext& context, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source);

}  // namespace diptych::olap
