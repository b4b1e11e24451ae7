// PlanMeter: what the operators of one run do: rows, own time, bytes. For EXPLAIN ANALYZE; a run
// that nobody asks about has none, and pays nothing.
//
// Batches go down the chains of a pipeline by nested calls, so a worker's time is its that works
// on the batch: a MeterStage stands behind each operator, counts the rows that it hands on, and
// stops the operator's clock while the next ones have them. Between the pipelines the caller's
// work is an operator's for as long as a MeterScope says so.
//
//   scan's source ─► MeterStage(scan) ─► join's probe ─► MeterStage(join) ─► ...
//      own: scan        rows of scan        own: join        rows of join
//
// Threads    one cell for each worker and operator; figures() when all have ended.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/plan_report.h"

namespace diptych::olap {

class PlanMeter {
 public:
  struct Cell {
    uint64_t rows = 0;
    uint64_t own_ns = 0;
    uint64_t decoded_bytes = 0;
    uint64_t filtered_rows = 0;
    uint64_t joinless_rows = 0;
    uint64_t worse_rows = 0;
    bool ran = false;
  };

  // The plan must stay.
  PlanMeter(const Operator& root, uint32_t workers);

  Cell& cell(uint32_t worker, const Operator& op) {
    return cells_[worker * numbers_.size() + numbers_.at(&op)];
  }
  // nullptr for the root: behind it is the result.
  const Operator* parent_of(const Operator& op) const { return parents_.at(&op); }
  // What is said once, by the caller's thread.
  OperatorFigures& once(const Operator& op) { return once_[&op]; }

  // From here on the worker's time is this operator's; nullptr: nobody's. Returns whose it was.
  const Operator* switch_to(uint32_t worker, const Operator* op);

  PlanFigures figures() const;

 private:
  struct Clock {
    const Operator* op = nullptr;
    uint64_t since_ns = 0;
  };

  void number(const Operator& op, const Operator* parent);

  std::unordered_map<const Operator*, size_t> numbers_;
  std::unordered_map<const Operator*, const Operator*> parents_;
  std::vector<Cell> cells_;  // by worker, then by number
  std::vector<Clock> clocks_;
  std::unordered_map<const Operator*, OperatorFigures> once_;
};

// While it lives, the caller's time is the operator's. Does nothing without a meter.
class MeterScope {
 public:
  MeterScope(PlanMeter* meter, const Operator& op) : meter_(meter) {
    if (meter_ != nullptr) before_ = meter_->switch_to(0, &op);
  }
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;
  ~MeterScope() {
    if (meter_ != nullptr) meter_->switch_to(0, before_);
  }

 private:
  PlanMeter* meter_;
  const Operator* before_ = nullptr;
};

class MeterStage : public Stage {
 public:
  MeterStage(PlanMeter* meter, uint32_t worker, const Operator& op, StagePtr next)
      : meter_(meter), worker_(worker), cell_(meter->cell(worker, op)), next_(std::move(next)) {
    parent_ = meter->parent_of(op);
    cell_.ran = true;
  }
  bool push(Batch& batch) override {
    cell_.rows += batch.selection->count;
    const Operator* const before = meter_->switch_to(worker_, parent_);
    const bool more = next_->push(batch);
    meter_->switch_to(worker_, before);
    return more;
  }

 private:
  PlanMeter* const meter_;
  const uint32_t worker_;
  PlanMeter::Cell& cell_;
  const Operator* parent_;
  StagePtr next_;
};

// A source whose time is an operator's.
class MeterSource : public MorselSource {
 public:
  MeterSource(PlanMeter* meter, uint32_t worker, const Operator& op,
              std::unique_ptr<MorselSource> source)
      : meter_(meter), worker_(worker), op_(op), source_(std::move(source)) {}
  bool run(uint64_t morsel) override {
    const Operator* const before = meter_->switch_to(worker_, &op_);
    const bool more = source_->run(morsel);
    meter_->switch_to(worker_, before);
    return more;
  }

 private:
  PlanMeter* const meter_;
  const uint32_t worker_;
  const Operator& op_;
  std::unique_ptr<MorselSource> source_;
};

}  // namespace diptych::olap
