// Predicate rules: equivalences that let conjuncts reach the scans and become join keys.
//
//   factor   (a AND b) OR (a AND c)  ->  a AND (b OR c)
//   imply    (r1 AND s1) OR (r2 AND s2), r over one member  ->  additionally r1 OR r2 for its scan
//   early    the same above a join, and what aggregates over it ask, r over texts of its build side
//            ->  r1, r2 are columns there
//   not      NOT (x <> y)  ->  x = y; NOT (r OR s)  ->  NOT r AND NOT s
//   same     x IS NOT DISTINCT FROM y, or x = y OR both are NULL  ->  equalities, NULL to NULL
//   strict   a predicate that is not true when the columns it names are NULL turns a LEFT JOIN that
//            makes them NULL into an inner join

#pragma once

#include <functional>

#include "olap/sql/planned.h"

namespace diptych::olap {

// The predicate with its NOTs further down, or gone. Not for what may be a group key: equal texts
// have equal forms there.
ExpressionPtr push_nots(ExpressionPtr predicate);

// Conjuncts that are true where the given ones are, with equalities for IS NOT DISTINCT FROM.
Expressions null_safe_keys(Expressions conjuncts);

// Those, and what all branches of an OR share is taken out of it.
Expressions factor_common(Expressions conjuncts);

// For a disjunction whose every branch has conjuncts that satisfy `eligible`: the disjunction of
// those; nullptr otherwise.
ExpressionPtr implied_disjunction(const Expression& predicate,
                                  const std::function<bool(const Expression&)>& eligible);

// Whether no value of its columns makes it fail, as far as its form says: comparisons, LIKE, IN, IS
// NULL, AND, OR and NOT, of columns, literals, and a text's length, code and first characters.
bool cannot_fail(const Expression& expression);

// Puts in the place of the largest parts which are `eligible`, and compare texts, what `column`
// gives for them: so a text is looked at once a row of a join's side, and not for every pair.
// Parts that may fail stay, since there may be no pair.
void take_text_parts(ExpressionPtr* expression,
                     const std::function<bool(const Expression& part)>& eligible,
                     const std::function<ExpressionPtr(ExpressionPtr part)>& column);

// True if the predicate cannot be true where all `slots` are NULL.
bool rejects_nulls(const Expression& predicate, const std::vector<uint32_t>& slots);

}  // namespace diptych::olap
