// Constant folding: an expression whose operands are all literals becomes a literal.
//
// Only what cannot fail is folded: an overflow, a division by zero or a function that is not listed
// stays in the plan, so that the error comes when (and only if) the row is computed.
//   arithmetic and comparisons; AND, OR, NOT with literal parts; IS NULL; date and timestamp
//   arithmetic; casts that lose nothing; whatever is NULL because an operand is; NULLIF.
// Parts of a CASE or a COALESCE that no row reaches, as literals before them decide, are dropped.
// A DATE that is compared with a TIMESTAMP literal is compared with a DATE.

#pragma once

#include "olap/sql/expression_tree.h"

namespace diptych::olap {

// Folds the root of the tree: its children are taken as folded already.
ExpressionPtr fold(ExpressionPtr expression);

// NOT predicate.
ExpressionPtr negated(ExpressionPtr predicate);

}  // namespace diptych::olap
