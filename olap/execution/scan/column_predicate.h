// ColumnPredicate: a condition on one column against constants, as storage answers it on codes
// (storage/encoding/predicate.h).
//
// Understood are =, <>, <, <=, >, >= and IN with literals, LIKE whose only % is at one end, IS
// [NOT] NULL, a BOOLEAN column by itself, and AND, OR and NOT of those on the same column, which
// may be under a cast from INT to BIGINT; =, <> and IN of its first characters (substring(c, 1, n),
// left(c, n)) with literals of ASCII, too. A row that it passes is one for which the condition is
// true: it is exact, and cannot fail. Everything else is nothing here, and is left to expressions.
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
  uint32_t column;  // as the expression counts them
  storage::encoding::Predicate passes;
};

std::optional<ColumnPredicate> column_predicate(const Expression& condition);

// A conjunction's conditions of that kind, those on one column as one where they can be. Cheap
// ones come first: those on numbers before those on texts.
struct ColumnCondition {
  ColumnPredicate predicate;
  std::vector<uint32_t> conjuncts;  // that it stands for, by number
};
std::vector<ColumnCondition> column_conditions(const std::vector<ExpressionPtr>& conjuncts);

}  // namespace diptych::olap
