#include "olap/sql/constant_folding.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "base/civil_day.h"
#include "olap/date_range.h"
#include "olap/execution/expression/comparison_kernels.h"
#include "olap/sql/constant_value.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DecimalValue;
using base::int128_t;
using base::power_of_ten;
using base::TypeKind;
using base::Value;

using Folded = std::optional<Value>;  // nullopt: leave the expression as it is

// What does not fit is left to execution, which fails.
bool fits_type(const base::DataType& type, int64_t number) {
  return type.kind != TypeKind::kInt || number == static_cast<int32_t>(number);
}

template <class Integer>
std::optional<Integer> checked(ExpressionKind kind, Integer a, Integer b) {
  Integer result = 0;
  switch (kind) {
    case ExpressionKind::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ExpressionKind::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ExpressionKind::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ExpressionKind::kModulo:
    case ExpressionKind::kDivide:
      if (b == 0 || b == -1) return std::nullopt;
      return kind == ExpressionKind::kModulo ? a % b : a / b;
    default: return std::nullopt;
  }
}

Folded fold_decimals(const Expression& e, const DecimalValue& a, const DecimalValue& b) {
  // Its scales differ, or it is rounded.
  const bool rounded = e.kind == ExpressionKind::kMultiply && e.type.scale != a.scale + b.scale;
  if (e.kind == ExpressionKind::kDivide || rounded) return std::nullopt;
  const auto units = checked(e.kind, a.units, b.units);
  if (!units) return std::nullopt;
  const int128_t limit = power_of_ten(e.type.precision);
  if (*units >= limit || *units <= -limit) return std::nullopt;
  return Value(DecimalValue{*units, e.type.scale});
}

Folded fold_doubles(ExpressionKind kind, double a, double b) {
  double result = 0;
  switch (kind) {
    case ExpressionKind::kAdd: result = a + b; break;
    case ExpressionKind::kSubtract: result = a - b; break;
    case ExpressionKind::kMultiply: result = a * b; break;
    case ExpressionKind::kDivide:
      if (b == 0) return std::nullopt;
      result = a / b;
      break;
    default: return std::nullopt;
  }
  const bool scales = kind == ExpressionKind::kMultiply || kind == ExpressionKind::kDivide;
  const bool underflow = scales && result == 0 && a != 0 && b != 0;
  if (!std::isfinite(result) || underflow) return std::nullopt;
  return Value(result);
}

Folded as_folded(const std::optional<base::Interval>& interval) {
  if (!interval) return std::nullopt;
  return Value(*interval);
}

Folded fold_intervals(ExpressionKind kind, const base::Interval& a, const Value& b) {
  if (const auto* other = std::get_if<base::Interval>(&b)) {
    return as_folded(kind == ExpressionKind::kAdd ? base::sum(a, *other)
                                                  : base::difference(a, *other));
  }
  const double number = std::get<double>(b);
  if (kind == ExpressionKind::kMultiply) return as_folded(base::product(a, number));
  if (number == 0) return std::nullopt;
  return as_folded(base::quotient(a, number));
}

Folded fold_arithmetic(const Expression& e) {
  const Value& a = e.children[0]->literal;
  const Value& b = e.children[1]->literal;
  if (const auto* interval = std::get_if<base::Interval>(&a)) {
    return fold_intervals(e.kind, *interval, b);
  }
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* number = std::get_if<int64_t>(&a)) {
    const auto result = checked(e.kind, *number, std::get<int64_t>(b));
    if (!result || !fits_type(e.type, *result)) return std::nullopt;
    return Value(*result);
  }
  if (const auto* number = std::get_if<double>(&a)) {
    return fold_doubles(e.kind, *number, std::get<double>(b));
  }
  if (const auto* number = std::get_if<DecimalValue>(&a)) {
    return fold_decimals(e, *number, std::get<DecimalValue>(b));
  }
  return std::nullopt;
}

// In the order that execution compares by: NaN equals NaN.
template <class T>
bool compare(ExpressionKind kind, const T& a, const T& b) {
  switch (kind) {
    case ExpressionKind::kEqual: return value_equal(a, b);
    case ExpressionKind::kNotEqual: return !value_equal(a, b);
    case ExpressionKind::kLess: return value_less(a, b);
    case ExpressionKind::kLessEqual: return !value_less(b, a);
    case ExpressionKind::kGreater: return value_less(b, a);
    default: return !value_less(a, b);
  }
}

Folded fold_comparison(ExpressionKind kind, const Value& a, const Value& b) {
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* decimal = std::get_if<DecimalValue>(&a)) {
    const auto& other = std::get<DecimalValue>(b);
    if (decimal->scale != other.scale) return std::nullopt;
    return Value(compare(kind, decimal->units, other.units));
  }
  if (const auto* interval = std::get_if<base::Interval>(&a)) {
    return Value(compare(kind, interval->normalized(), std::get<base::Interval>(b).normalized()));
  }
  return std::visit(
      [&]<class T>(const T& left) -> Folded {
        if constexpr (std::is_same_v<T, DecimalValue> || std::is_same_v<T, base::Interval> ||
                      std::is_same_v<T, std::monostate>) {
          return std::nullopt;
        } else {
          return Value(compare(kind, left, std::get<T>(b)));
        }
      },
      a);
}

ExpressionKind commuted(ExpressionKind comparison) {
  switch (comparison) {
    case ExpressionKind::kLess: return ExpressionKind::kGreater;
    case ExpressionKind::kLessEqual: return ExpressionKind::kGreaterEqual;
    case ExpressionKind::kGreater: return ExpressionKind::kLess;
    case ExpressionKind::kGreaterEqual: return ExpressionKind::kLessEqual;
    default: return comparison;
  }
}

// A DATE, cast to a TIMESTAMP, beside a literal: the days decide, and scans compare these on codes.
// Another comparison stays.
ExpressionPtr compare_days(ExpressionPtr e) {
  const size_t at = is_literal(*e->children[0]) ? 0 : 1;
  const auto* const moment = std::get_if<base::Timestamp>(&e->children[at]->literal);
  Expression& cast = *e->children[1 - at];
  if (moment == nullptr || !is_literal(*e->children[at]) || cast.kind != ExpressionKind::kCast ||
      cast.children[0]->type.kind != TypeKind::kDate) {
    return e;
  }
  const ExpressionKind kind = at == 0 ? commuted(e->kind) : e->kind;
  const std::chrono::microseconds micros(moment->micros);
  const auto day = std::chrono::floor<std::chrono::days>(micros);
  // What is before a moment of a day is before its midnight or at it.
  const bool midnight = day == micros;
  const bool equality = kind == ExpressionKind::kEqual || kind == ExpressionKind::kNotEqual;
  if (equality && !midnight) return e;
  ExpressionKind by_days = kind;
  if (!midnight && kind == ExpressionKind::kLess) by_days = ExpressionKind::kLessEqual;
  if (!midnight && kind == ExpressionKind::kGreaterEqual) by_days = ExpressionKind::kGreater;
  const base::Date date{static_cast<int32_t>(day.count())};
  return make_expression(by_days, e->type, std::move(cast.children[0]),
                         make_literal(kDateType, Value(date)));
}

Folded fold_negation(const Expression& e) {
  const Value& value = e.children[0]->literal;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    if (*number == INT64_MIN || !fits_type(e.type, -*number)) return std::nullopt;
    return Value(-*number);
  }
  if (const auto* number = std::get_if<double>(&value)) return Value(-*number);
  if (const auto* interval = std::get_if<base::Interval>(&value)) {
    return as_folded(base::negated(*interval));
  }
  if (const auto* number = std::get_if<DecimalValue>(&value)) {
    return Value(DecimalValue{-number->units, number->scale});
  }
  return std::nullopt;
}

// Drops literal parts that do not matter, and decides where one literal does.
ExpressionPtr fold_connective(ExpressionPtr e) {
  const bool deciding = e->kind == ExpressionKind::kOr;  // TRUE decides an OR, FALSE an AND
  Expressions kept;
  for (ExpressionPtr& child : e->children) {
    const bool* value = is_literal(*child) ? std::get_if<bool>(&child->literal) : nullptr;
    if (value != nullptr && *value == deciding) return make_literal(kBooleanType, Value(deciding));
    if (value == nullptr) kept.push_back(std::move(child));
  }
  return deciding ? disjunction(std::move(kept)) : conjunction(std::move(kept));
}

// Drops conditions that are literals; what only rows reach that one of them takes is not computed.
ExpressionPtr fold_case(ExpressionPtr e) {
  Expressions kept;
  Expressions& children = e->children;
  size_t at = 0;
  for (; at + 1 < children.size(); at += 2) {
    const ExpressionPtr& condition = children[at];
    if (is_true_literal(*condition)) break;
    if (is_literal(*condition)) continue;
    kept.push_back(std::move(children[at]));
    kept.push_back(std::move(children[at + 1]));
  }
  const size_t otherwise = std::min(at + 1, children.size() - 1);
  if (kept.empty()) return cast_to(std::move(children[otherwise]), e->type);
  kept.push_back(std::move(children[otherwise]));
  return make_expression(ExpressionKind::kCase, e->type, std::move(kept));
}

// Drops NULLs, and what follows a literal.
ExpressionPtr fold_coalesce(ExpressionPtr e) {
  Expressions kept;
  for (ExpressionPtr& child : e->children) {
    if (is_null_literal(*child)) continue;
    kept.push_back(std::move(child));
    if (is_literal(*kept.back())) break;
  }
  if (kept.empty()) return make_null(e->type);
  if (kept.size() == 1) return cast_to(std::move(kept[0]), e->type);
  return make_expression(ExpressionKind::kCoalesce, e->type, std::move(kept));
}

ExpressionPtr fold_nullif(ExpressionPtr e) {
  const Expression& a = *e->children[0];
  const Expression& b = *e->children[1];
  if (!is_literal(a) || !is_literal(b)) return e;
  Folded equal = Value(false);
  if (!is_null_literal(a) && !is_null_literal(b)) {
    equal = fold_comparison(ExpressionKind::kEqual, a.literal, b.literal);
  }
  if (!equal) return e;
  return std::get<bool>(*equal) ? make_null(e->type) : cast_to(std::move(e->children[0]), e->type);
}

// True for the kinds whose value is NULL as soon as one operand is.
bool is_strict(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::kCast:
    case ExpressionKind::kNegate:
    case ExpressionKind::kAdd:
    case ExpressionKind::kSubtract:
    case ExpressionKind::kMultiply:
    case ExpressionKind::kDivide:
    case ExpressionKind::kModulo:
    case ExpressionKind::kEqual:
    case ExpressionKind::kNotEqual:
    case ExpressionKind::kLess:
    case ExpressionKind::kLessEqual:
    case ExpressionKind::kGreater:
    case ExpressionKind::kGreaterEqual:
    case ExpressionKind::kNot:
    case ExpressionKind::kLike:
    case ExpressionKind::kConcat:
    case ExpressionKind::kFunction: return true;
    default: return false;
  }
}

Folded fold_value(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kNegate: return fold_negation(e);
    case ExpressionKind::kAdd:
    case ExpressionKind::kSubtract:
    case ExpressionKind::kMultiply:
    case ExpressionKind::kDivide:
    case ExpressionKind::kModulo: return fold_arithmetic(e);
    case ExpressionKind::kEqual:
    case ExpressionKind::kNotEqual:
    case ExpressionKind::kLess:
    case ExpressionKind::kLessEqual:
    case ExpressionKind::kGreater:
    case ExpressionKind::kGreaterEqual:
      return fold_comparison(e.kind, e.children[0]->literal, e.children[1]->literal);
    case ExpressionKind::kIsNull: return Value(is_null_literal(*e.children[0]));
    case ExpressionKind::kIsNotNull: return Value(!is_null_literal(*e.children[0]));
    case ExpressionKind::kNot: return Value(!std::get<bool>(e.children[0]->literal));
    case ExpressionKind::kConcat:
      return Value(std::get<std::string>(e.children[0]->literal) +
                   std::get<std::string>(e.children[1]->literal));
    case ExpressionKind::kCast:
    case ExpressionKind::kLike:
    case ExpressionKind::kFunction: return constant_value(e);
    default: return std::nullopt;
  }
}

// One that computes its value of all its operands.
ExpressionPtr fold_operation(ExpressionPtr expression) {
  const Expressions& children = expression->children;
  const bool checks =
      expression->kind == ExpressionKind::kFunction && expression->function == Function::kSingleRow;
  const bool null = is_strict(expression->kind) && !checks && !leaves_out_nulls(*expression) &&
                    std::any_of(children.begin(), children.end(),
                                [](const ExpressionPtr& c) { return is_null_literal(*c); });
  if (null) return make_null(expression->type);
  const bool constant = !children.empty() && !checks &&
                        std::all_of(children.begin(), children.end(),
                                    [](const ExpressionPtr& c) { return is_literal(*c); });
  if (!constant && is_comparison(expression->kind)) return compare_days(std::move(expression));
  if (!constant) return expression;
  Folded value = fold_value(*expression);
  if (!value) return expression;
  return make_literal(expression->type, *std::move(value));
}

// What making a call puts on its arguments at most: casts of them, the function, a cast of its
// result, and a condition around it. Further ones would be walked again for each call of a nest.
constexpr int kCallLevels = 4;

ExpressionPtr fold_levels(ExpressionPtr expression, int levels) {
  if (expression->children.empty()) return expression;
  for (ExpressionPtr& child : expression->children) {
    if (levels > 1) child = fold_levels(std::move(child), levels - 1);
  }
  return fold(std::move(expression));
}

}  // namespace

ExpressionPtr fold(ExpressionPtr expression) {
  switch (expression->kind) {
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr: return fold_connective(std::move(expression));
    case ExpressionKind::kCase: return fold_case(std::move(expression));
    case ExpressionKind::kCoalesce: return fold_coalesce(std::move(expression));
    case ExpressionKind::kNullIf: return fold_nullif(std::move(expression));
    default: return fold_operation(std::move(expression));
  }
}

ExpressionPtr fold_tree(ExpressionPtr expression) {
  return fold_levels(std::move(expression), std::numeric_limits<int>::max());
}

ExpressionPtr fold_call(ExpressionPtr call) {
  return fold_levels(std::move(call), kCallLevels);
}

ExpressionPtr negated(ExpressionPtr predicate) {
  return fold(make_expression(ExpressionKind::kNot, kBooleanType, std::move(predicate)));
}

}  // namespace diptych::olap
