// Constant folding: an expression whose operands are all literals becomes a literal.
//
// An expression that fails, such as an overflow or a division by zero, stays in the plan, so that
// the error occurs only if a row is computed. Folded are:
//   arithmetic and comparisons; AND, OR, NOT with literal parts; IS NULL; functions, LIKE and casts
//   (constant_value.h); expressions that are NULL because an operand is; NULLIF.
// Parts of a CASE or COALESCE that no row reaches, because of literals before them, are dropped.
// A DATE that is compared with a TIMESTAMP literal is compared with a DATE.

#pragma once

#include "olap/sql/expression_tree.h"

namespace diptych::olap {

// Folds the root of the tree, whose children are folded already.
ExpressionPtr fold(ExpressionPtr expression);

// Folds all of the tree.
ExpressionPtr fold_tree(ExpressionPtr expression);

// Folds a call of a function, whose arguments are folded already: the levels that stand on them.
ExpressionPtr fold_call(ExpressionPtr call);

// NOT predicate.
ExpressionPtr negated(ExpressionPtr predicate);

}  // namespace diptych::olap
