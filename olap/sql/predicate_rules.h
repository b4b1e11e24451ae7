// Predicate rules: equivalences that let conjuncts reach the scans and become join keys.
//
//   factor   (a AND b) OR (a AND c)  ->  a AND (b OR c)
//   list     x = 1 OR x IN (2, 3)  ->  x IN (1, 2, 3), by which scans skip blocks
//   imply    (r1 AND s1) OR (r2 AND s2), r over one member  ->  additionally r1 OR r2 for its scan
//   early    the same above a join, or in an aggregate over it, r over texts of the build side
//            ->  r1, r2 become columns there
//   not      NOT (x <> y)  ->  x = y; NOT (r OR s)  ->  NOT r AND NOT s
//   same     x IS NOT DISTINCT FROM y, or x = y OR both are NULL  ->  equalities, NULL to NULL
//   strict   a predicate that is not true when the columns it names are NULL turns a LEFT JOIN that
//            makes them NULL into an inner join

#pragma once

#include <functional>

#include "olap/sql/planned.h"

namespace diptych::olap {

// Moves the predicate's NOTs down, or removes them. Not for expressions that may be group keys,
// which are compared by their written form.
ExpressionPtr push_nots(ExpressionPtr predicate);

// Equivalent conjuncts with equalities in place of IS NOT DISTINCT FROM.
Expressions null_safe_keys(Expressions conjuncts);

// As above, and factors out conjuncts that all branches of an OR share.
Expressions factor_common(Expressions conjuncts);

// If every branch of a disjunction has conjuncts that satisfy `eligible`, the disjunction of those;
// otherwise nullptr.
ExpressionPtr implied_disjunction(const Expression& predicate,
                                  const std::function<bool(const Expression&)>& eligible);

// True if the expression's form shows that no values of its columns make it fail: comparisons,
// LIKE, IN, IS NULL, AND, OR and NOT over columns, literals, and a text's length, code and first
// characters.
bool cannot_fail(const Expression& expression);

// Replaces the largest `eligible` parts that compare texts by the columns that `column` returns. So
// a text is compared once for each row of a join's side, and not for each pair. Parts that may fail
// stay, because there may be no pair.
void take_text_parts(ExpressionPtr* expression,
                     const std::function<bool(const Expression& part)>& eligible,
                     const std::function<ExpressionPtr(ExpressionPtr part)>& column);

// True if the predicate cannot be true when all `slots` are NULL.
bool rejects_nulls(const Expression& predicate, const std::vector<uint32_t>& slots);

}  // namespace diptych::olap
