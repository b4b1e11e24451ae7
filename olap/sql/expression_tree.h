// Expression trees: functions that make, copy, compare and split expressions in the front end.
//
// While a statement is being bound, kColumn's `column` is a slot: the number of a column anywhere
// in the statement (olap/sql/query_block.h). The plan builder turns slots into positions.

#pragma once

#include <functional>
#include <vector>

#include "olap/plan.h"

namespace diptych::olap {

using Expressions = std::vector<ExpressionPtr>;

ExpressionPtr make_column(uint32_t slot, base::DataType type, bool nullable);
ExpressionPtr make_literal(base::DataType type, base::Value value);
ExpressionPtr make_null(base::DataType type);
// The result is nullable if a child is, except for kinds with another rule (IS NULL, CASE,
// COALESCE, NULLIF).
ExpressionPtr make_expression(ExpressionKind kind, base::DataType type, Expressions children);
ExpressionPtr make_expression(ExpressionKind kind, base::DataType type, ExpressionPtr child);
ExpressionPtr make_expression(ExpressionKind kind, base::DataType type, ExpressionPtr left,
                              ExpressionPtr right);
ExpressionPtr make_function(Function function, base::DataType type, Expressions arguments);
// CASE WHEN condition THEN value [ELSE otherwise] END, with the value's type.
ExpressionPtr make_case(ExpressionPtr condition, ExpressionPtr value,
                        ExpressionPtr otherwise = nullptr);

ExpressionPtr clone(const Expression& expression);
Expressions clone(const Expressions& expressions);
bool equal(const Expression& a, const Expression& b);

// =, <>, <, <=, >, >=.
inline bool is_comparison(ExpressionKind kind) {
  return kind >= ExpressionKind::kEqual && kind <= ExpressionKind::kGreaterEqual;
}
inline bool is_literal(const Expression& e) {
  return e.kind == ExpressionKind::kLiteral;
}
inline bool is_null_literal(const Expression& e) {
  return is_literal(e) && base::is_null(e.literal);
}
bool is_true_literal(const Expression& e);
// True for a predicate that no row satisfies: FALSE or NULL.
inline bool is_never_true(const Expression& predicate) {
  return is_literal(predicate) && !is_true_literal(predicate);
}
// True for functions whose value need not be NULL if an argument is.
bool leaves_out_nulls(const Expression& e);

// The number of nodes.
size_t node_count(const Expression& expression);

// Calls visit with every kColumn in the tree.
void for_each_column(const Expression& expression,
                     const std::function<void(const Expression&)>& visit);
void for_each_column(Expression& expression, const std::function<void(Expression&)>& visit);

bool names_a_column(const Expression& expression);

// Recomputes nullability after children were replaced by expressions that may be NULL.
void renew_nullable(Expression* expression);

// Replaces each column by the expression that `value` returns; nullptr keeps the column.
void substitute(ExpressionPtr* expression,
                const std::function<ExpressionPtr(const Expression& column)>& value);

// Splits a AND (b AND c) into [a, b, c] and drops literal TRUEs. conjunction() is the inverse; it
// returns TRUE for an empty list.
Expressions split_conjuncts(ExpressionPtr predicate);
ExpressionPtr conjunction(Expressions conjuncts);
ExpressionPtr disjunction(Expressions branches);

// The expression under casts from INT to BIGINT. These keep values distinct and in order, so
// uniqueness and bounds carry over.
const Expression& without_integer_casts(const Expression& expression);

}  // namespace diptych::olap
