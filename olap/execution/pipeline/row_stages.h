// The stages that treat each row by itself (filter, project, limit), and VALUES as a source.
//
// Threads    a stage belongs to one worker; LimitCounter is shared by the workers of one LIMIT.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"

namespace diptych::olap {

class FilterStage : public Stage {
 public:
  FilterStage(const RunContext& context, const Operator& filter, StagePtr next)
      : predicates_(filter.predicates, context.limits()), next_(std::move(next)) {}
  bool push(Batch& batch) override;

 private:
  Predicates predicates_;
  StagePtr next_;
  Selection selection_;
};

class ProjectStage : public Stage {
 public:
  ProjectStage(const RunContext& context, const Operator& project, StagePtr next)
      : nodes_(compile_expressions(project.expressions, context.limits())),
        next_(std::move(next)) {}
  bool push(Batch& batch) override;

 private:
  std::vector<NodePtr> nodes_;
  StagePtr next_;
  Batch output_;
};

// Counts the rows that reached a LIMIT, over all workers.
class LimitCounter {
 public:
  LimitCounter(uint64_t offset, uint64_t limit)
      : begin_(offset), end_(limit > kNoLimit - offset ? kNoLimit : offset + limit) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  // Claims numbers for `rows` rows and returns the first.
  uint64_t claim(uint64_t rows) {
    // relaxed: which rows get which numbers is arbitrary; only the count matters.
    return next_.fetch_add(rows, std::memory_order_relaxed);
  }

 private:
  const uint64_t begin_;
  const uint64_t end_;
  std::atomic<uint64_t> next_{0};  // writer: workers
};

class LimitStage : public Stage {
 public:
  LimitStage(LimitCounter* counter, StagePtr next) : counter_(counter), next_(std::move(next)) {}
  bool push(Batch& batch) override;

 private:
  LimitCounter* counter_;
  StagePtr next_;
  Selection selection_;
};

// ValuesSource: gives rows of expressions without input; a morsel is one row.
class ValuesSource : public MorselSource {
 public:
  ValuesSource(const RunContext& context, const Operator& values, StagePtr next)
      : limits_(context.limits()), values_(values), next_(std::move(next)) {}
  bool run(uint64_t morsel) override;

  static uint64_t rows(const Operator& values) {
    return values.expressions.empty() ? 0 : values.expressions.size() / values.output.size();
  }

 private:
  const QueryLimits limits_;
  const Operator& values_;
  StagePtr next_;
};

// GivenRows: rows of an operator that were computed elsewhere (star_batch.h). It outlives its
// sources.
class GivenRows {
 public:
  explicit GivenRows(const Operator& op) : op_(&op) {}
  virtual ~GivenRows() = default;
  GivenRows(const GivenRows&) = delete;
  GivenRows& operator=(const GivenRows&) = delete;

  const Operator& op() const { return *op_; }
  virtual uint64_t morsels() const = 0;
  virtual std::unique_ptr<MorselSource> source(StagePtr next) const = 0;

 private:
  const Operator* op_;
};

// GivenRow: one row of counts and sums.
class GivenRow : public GivenRows {
 public:
  struct Cell {
    bool is_null = false;
    int128_t value = 0;
  };
  // `cells` is by output column; each column is BIGINT or a decimal of over 18 digits.
  GivenRow(const Operator& op, std::vector<Cell> cells) : GivenRows(op), cells_(std::move(cells)) {}

  uint64_t morsels() const override { return 1; }
  std::unique_ptr<MorselSource> source(StagePtr next) const override;
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  const std::vector<Cell> cells_;
};

}  // namespace diptych::olap
