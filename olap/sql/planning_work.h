// PlanningWork: what the planning of one statement may cost. Its loops tell it of each step, and it
// ends the planning where the query was stopped, or the plan would become too large.
//
// What runs inside libpg_query, before the first step, cannot be ended: up to 1.1 s of CPU for
// a statement of kStatementBytesMax.
//
// Threads    one statement's; not shared. The control is stopped by any.
// Errors     PlanningEnd, which prepare() catches: nobody else does.

#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"
#include "olap/query_control.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

// Of a SELECT list, GROUP BY, ORDER BY or VALUES, of the aggregates and window functions of one
// SELECT, of a row: as PostgreSQL has it. Lists are searched from the start, so this bounds that.
inline constexpr size_t kColumnsMax = 1664;
// Of all SELECTs of a statement, and of the tables that they read.
inline constexpr size_t kStatementColumnsMax = 100'000;
inline constexpr size_t kCopiesMax = 5'000;  // operators
// Of one expression: what names an operand twice (BETWEEN, CASE x WHEN, IS DISTINCT FROM) within
// itself 30 times would be 2^30 nodes.
inline constexpr size_t kExpressionNodesMax = 600'000;
// Predicates that are tried on samples, at most 2 ms each.
inline constexpr size_t kSampledMax = 64;

struct PlanningEnd {
  base::Error error;
};

class PlanningWork {
 public:
  // Both outlive it; nobody stops what has no control.
  PlanningWork(const SourceText& source, const QueryControl* control)
      : source_(source), control_(control) {}

  // An expression is bound or estimated, a list searched, a table joined.
  void step() const {
    if (control_ != nullptr && control_->is_stopped()) throw PlanningEnd{control_->error()};
  }
  // A list of the statement has so many members: `what` has them, "a SELECT".
  void check_columns(size_t count, const char* what) const {
    step();
    if (count > kColumnsMax) fail_columns(what);
  }
  void check_statement_columns(size_t count) const {
    if (count > kStatementColumnsMax) fail_columns("a statement");
  }
  void check_expression(size_t nodes) const {
    if (nodes > kExpressionNodesMax) fail_expression();
  }
  // Operators that stand in a plan once more.
  void add_copies(size_t operators) {
    step();
    copies_ += operators;
    if (copies_ > kCopiesMax) fail_copies();
  }
  // Whether one more predicate may be tried on a sample.
  bool takes_sample() {
    step();
    return samples_++ < kSampledMax;
  }

 private:
  [[noreturn]] void fail_columns(const char* what) const;
  [[noreturn]] void fail_copies() const;
  [[noreturn]] void fail_expression() const;

  const SourceText& source_;
  const QueryControl* control_;
  size_t copies_ = 0;
  size_t samples_ = 0;
};

}  // namespace diptych::olap
