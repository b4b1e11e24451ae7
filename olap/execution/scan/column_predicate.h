// ColumnPredicate: a condition on one column against constants, in the form that storage evaluates
// on codes (storage/encoding/predicate.h).
//
// It supports =, <>, <, <=, >, >= and IN with literals, LIKE whose only % is at one end, IS [NOT]
// NULL, a BOOLEAN column by itself, and AND, OR and NOT of those on one column, which may be under
// a cast from INT to BIGINT. It also supports =, <> and IN of the column's first characters
// (substring(c, 1, n), left(c, n)) with ASCII literals. The predicate passes exactly the rows for
// which the condition is true, and cannot fail. Other conditions give nullopt and are evaluated as
// expressions.
//
// Threads    functions of values; any thread.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "olap/plan.h"
#include "storage/encoding/predicate.h"

namespace diptych::olap {

struct ColumnPredicate {
  uint32_t column;  // the expression's column number
  storage::encoding::Predicate passes;
};

std::optional<ColumnPredicate> column_predicate(const Expression& condition);

// A condition that replaces conjuncts.
struct ColumnCondition {
  ColumnPredicate predicate;
  std::vector<uint32_t> conjuncts;  // the numbers of the replaced conjuncts
};
// The conditions of this kind in a conjunction; conjuncts on one column are combined if possible.
// Cheap conditions come first: those on numbers before those on texts.
std::vector<ColumnCondition> column_conditions(const std::vector<ExpressionPtr>& conjuncts);

}  // namespace diptych::olap
