// CASE, COALESCE, tests, casts and calls of ExpressionBinder.

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_name.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

// The unit of INTERVAL '3' MONTH, from the grammar's bit mask; empty for a plain INTERVAL.
std::string_view interval_unit(const PgQuery__TypeName& name) {
  if (name.n_typmods == 0 || name.typmods[0]->node_case != PG_QUERY__NODE__NODE_A_CONST ||
      name.typmods[0]->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) {
    return {};
  }
  switch (name.typmods[0]->a_const->ival->ival) {
    case 1 << 1: return "month";
    case 1 << 2: return "year";
    case 1 << 3: return "day";
    case 1 << 10: return "hour";
    case 1 << 11: return "minute";
    case 1 << 12: return "second";
    default: return {};
  }
}

}  // namespace

BoundResult ExpressionBinder::bind_case(const PgQuery__CaseExpr& expression) {
  const int64_t offset = expression.location;
  std::optional<Bound> subject;
  if (expression.arg != nullptr) {
    auto bound = dispatch(*expression.arg);
    if (!bound) return bound;
    if (bound->interval) return source_.unsupported(bound->offset, "an INTERVAL as a value");
    subject = *std::move(bound);
  }
  Expressions conditions;
  std::vector<Bound> values;
  for (const Node* node : NodeList(expression.args, expression.n_args)) {
    auto condition = dispatch(*node->case_when->expr);
    if (!condition) return condition;
    if (subject) {
      Bound copy{clone(*subject->expression), std::nullopt, subject->untyped, subject->offset};
      condition =
          bind_operator(source_, "=", condition->offset, std::move(copy), *std::move(condition));
      if (!condition) return condition;
    }
    auto predicate = as_predicate(source_, "WHEN", *std::move(condition));
    if (!predicate) return predicate.error();
    conditions.push_back(*std::move(predicate));
    auto value = dispatch(*node->case_when->result);
    if (!value) return value;
    values.push_back(*std::move(value));
  }
  if (expression.defresult != nullptr) {
    auto value = dispatch(*expression.defresult);
    if (!value) return value;
    values.push_back(*std::move(value));
  } else {
    values.push_back(Bound{make_null(kTextType), std::nullopt, true, offset});
  }
  std::vector<Bound*> operands;
  for (Bound& value : values) operands.push_back(&value);
  const auto type = unify(source_, "CASE", offset, operands);
  if (!type) return type.error();
  Expressions children;
  for (size_t i = 0; i < conditions.size(); ++i) {
    children.push_back(std::move(conditions[i]));
    children.push_back(std::move(values[i].expression));
  }
  children.push_back(std::move(values.back().expression));
  return typed(make_expression(ExpressionKind::kCase, *type, std::move(children)), offset);
}

BoundResult ExpressionBinder::bind_coalesce(const PgQuery__CoalesceExpr& expression) {
  auto values = bind_all(NodeList(expression.args, expression.n_args));
  if (!values) return values.error();
  std::vector<Bound*> operands;
  for (Bound& value : *values) operands.push_back(&value);
  const auto type = unify(source_, "COALESCE", expression.location, operands);
  if (!type) return type.error();
  Expressions children;
  for (Bound& value : *values) children.push_back(std::move(value.expression));
  return typed(make_expression(ExpressionKind::kCoalesce, *type, std::move(children)),
               expression.location);
}

BoundResult ExpressionBinder::bind_null_test(const PgQuery__NullTest& test) {
  auto operand = dispatch(*test.arg);
  if (!operand) return operand;
  if (operand->interval) return source_.unsupported(operand->offset, "an INTERVAL as a value");
  const auto kind = test.nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
                        ? ExpressionKind::kIsNull
                        : ExpressionKind::kIsNotNull;
  const int64_t offset = operand->offset;
  return typed(make_expression(kind, kBooleanType, std::move(operand->expression)), offset);
}

// x IS TRUE is coalesce(x, false); x IS FALSE is coalesce(not x, false); the rest negate these.
BoundResult ExpressionBinder::bind_boolean_test(const PgQuery__BooleanTest& test) {
  auto operand = dispatch(*test.arg);
  if (!operand) return operand;
  const int64_t offset = operand->offset;
  auto predicate = as_predicate(source_, "IS TRUE or FALSE", *std::move(operand));
  if (!predicate) return predicate.error();
  ExpressionPtr tested = *std::move(predicate);
  const auto type = test.booltesttype;
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
    const auto kind = type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ? ExpressionKind::kIsNull
                                                                   : ExpressionKind::kIsNotNull;
    return typed(make_expression(kind, kBooleanType, std::move(tested)), offset);
  }
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_FALSE ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE) {
    tested = fold(make_expression(ExpressionKind::kNot, kBooleanType, std::move(tested)));
  }
  tested = make_expression(ExpressionKind::kCoalesce, kBooleanType, std::move(tested),
                           make_literal(kBooleanType, base::Value(false)));
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE) {
    tested = make_expression(ExpressionKind::kNot, kBooleanType, std::move(tested));
  }
  return typed(std::move(tested), offset);
}

BoundResult ExpressionBinder::bind_type_cast(const PgQuery__TypeCast& cast) {
  if (is_interval(*cast.type_name)) return bind_interval(cast);
  const auto type = bind_type(source_, *cast.type_name);
  if (!type) return type.error();
  auto operand = dispatch(*cast.arg);
  if (!operand) return operand;
  const int64_t offset = cast.location < 0 ? cast.type_name->location : cast.location;
  return bind_cast(source_, *type, offset, *std::move(operand));
}

BoundResult ExpressionBinder::bind_interval(const PgQuery__TypeCast& cast) {
  const int64_t offset = cast.type_name->location;
  const bool literal = cast.arg->node_case == PG_QUERY__NODE__NODE_A_CONST &&
                       cast.arg->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
  if (!literal) return source_.unsupported(offset, "an INTERVAL that is no literal");
  const std::string_view unit = interval_unit(*cast.type_name);
  if (unit.empty() && cast.type_name->n_typmods != 0) {
    return source_.unsupported(offset, "an INTERVAL of two units");
  }
  const auto interval =
      parse_interval(source_, cast.arg->a_const->location, cast.arg->a_const->sval->sval,
                     unit.empty() ? "second" : unit);
  if (!interval) return interval.error();
  return Bound{nullptr, *interval, false, offset};
}

BoundResult ExpressionBinder::bind_call(const PgQuery__FuncCall& call) {
  const std::string name = joined(strings_of(NodeList(call.funcname, call.n_funcname)));
  const int64_t offset = call.location;
  if (call.over != nullptr) return bind_window(call, name);
  if (is_aggregate(name)) return bind_aggregate(call, name);
  if (call.agg_star != 0 || call.agg_distinct != 0 || call.agg_filter != nullptr ||
      call.n_agg_order != 0 || call.agg_within_group != 0) {
    return source_.unsupported(offset, fmt::format("aggregate {}()", name));
  }
  auto arguments = bind_all(NodeList(call.args, call.n_args));
  if (!arguments) return arguments.error();
  return bind_function(source_, name, offset, *std::move(arguments));
}

BoundResult ExpressionBinder::sublink(const PgQuery__SubLink& subquery) {
  std::vector<Bound> tested;
  if (subquery.testexpr != nullptr) {
    auto bound = bind_row(*subquery.testexpr);
    if (!bound) return bound.error();
    tested = *std::move(bound);
  }
  return subqueries_.bind_subquery(subquery, std::move(tested), in_aggregate_);
}

}  // namespace diptych::olap
