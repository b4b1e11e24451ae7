// PlanningWork: limits the cost of planning one statement. The loops of planning report each step,
// and it ends the planning if the query is stopped or the plan would become too large.
//
// libpg_query runs before the first step and cannot be stopped; it takes up to 1.1 s of CPU for a
// statement of kStatementBytesMax.
//
// Threads    one for each statement; not shared. Any thread may stop the control.
// Errors     PlanningEnd, which only prepare() and the parsing of views catch.

#pragma once

#include <cstddef>

#include "base/result.h"
#include "olap/query_control.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

// The limit on members of a SELECT list, GROUP BY, ORDER BY, VALUES or row, and on aggregates and
// window functions of one SELECT, as in PostgreSQL. It bounds searches, which begin at the start.
inline constexpr size_t kColumnsMax = 1664;
// The limit on columns of all SELECTs of a statement, and of the tables that they read.
inline constexpr size_t kStatementColumnsMax = 100'000;
inline constexpr size_t kCopiesMax = 5'000;  // operators
// The limit on nodes of one expression. Some constructs use an operand twice (BETWEEN, CASE x WHEN,
// IS DISTINCT FROM); nested 30 deep, they would have 2^30 nodes.
inline constexpr size_t kExpressionNodesMax = 600'000;
// The limit on predicates that are evaluated on samples, at most 2 ms each.
inline constexpr size_t kSampledMax = 64;

struct PlanningEnd {
  base::Error error;
};

class PlanningWork {
 public:
  // Both arguments outlive it. Without a control, planning cannot be stopped.
  PlanningWork(const SourceText& source, const QueryControl* control)
      : source_(source), control_(control) {}

  // Reports a step: an expression bound or estimated, a list searched, a table joined.
  void step() const {
    if (control_ != nullptr && control_->is_stopped()) throw PlanningEnd{control_->error()};
  }
  // Checks the number of members of a list; `what` names its owner, such as "a SELECT".
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
  // Reports operators that are copied within a plan.
  void add_copies(size_t operators) {
    step();
    copies_ += operators;
    if (copies_ > kCopiesMax) fail_copies();
  }
  // True if one more predicate may be evaluated on a sample.
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
