// PlanMeter: measures the operators of one run for EXPLAIN ANALYZE: rows, own time, bytes. Other
// runs have no meter and no cost.
//
// Batches go down a chain by nested calls. A MeterStage behind each operator counts the operator's
// output rows and stops its clock while the next operators work on them. Between pipelines, a
// MeterScope assigns the caller's time to an operator.
//
//   scan's source ─► MeterStage(scan) ─► join's probe ─► MeterStage(join) ─► ...
//      own: scan        rows of scan        own: join        rows of join
//
// Threads    one cell for each worker and operator; figures() after all workers have ended.

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

  // The plan outlives the meter.
  PlanMeter(const Operator& root, uint32_t workers);

  Cell& cell(uint32_t worker, const Operator& op) {
    return cells_[worker * numbers_.size() + numbers_.at(&op)];
  }
  // nullptr for the root.
  const Operator* parent_of(const Operator& op) const { return parents_.at(&op); }
  // The figures that the caller's thread sets once for an operator.
  OperatorFigures& once(const Operator& op) { return once_[&op]; }

  // Assigns the worker's time from now on to this operator (nullptr: to none). Returns the operator
  // before.
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

// MeterScope: assigns the caller's time to an operator while the scope lives. Does nothing without
// a meter.
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

// A source whose time is assigned to an operator.
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
