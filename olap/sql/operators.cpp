#include "olap/sql/operators.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "olap/decimal_text.h"
#include "olap/execution/vector/column_range.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

std::optional<ExpressionKind> comparison_kind(std::string_view name) {
  if (name == "=") return ExpressionKind::kEqual;
  if (name == "<>") return ExpressionKind::kNotEqual;
  if (name == "<") return ExpressionKind::kLess;
  if (name == "<=") return ExpressionKind::kLessEqual;
  if (name == ">") return ExpressionKind::kGreater;
  if (name == ">=") return ExpressionKind::kGreaterEqual;
  return std::nullopt;
}

base::Error no_operator(const SourceText& source, std::string_view name, int64_t offset,
                        const Bound& left, const Bound& right) {
  return source.wrong(offset,
                      fmt::format("operator \"{}\" does not take {} and {}", name,
                                  type_name_of(left), type_name_of(right)),
                      "42883");
}

// Of operands without a type of their own.
base::Error ambiguous_operator(const SourceText& source, std::string_view name, int64_t offset) {
  return source.wrong(offset,
                      fmt::format("operator \"{}\" is not unique: say which type its operands "
                                  "have, as in CAST('1' AS INT)",
                                  name),
                      "42725");
}

// The type of + and - over two exact numbers, at least one of them a decimal.
DataType decimal_sum_type(const DataType& a, const DataType& b) {
  const unsigned scale = scale_beside_integers(std::max(a.scale, b.scale));
  const auto integer_digits =
      static_cast<unsigned>(std::max(a.precision - a.scale, b.precision - b.scale));
  return decimal_type(integer_digits + scale + 1, scale);
}

// Decimal operands of * may have any scales but one width.
// Exact, but where that would leave few digits before the point: then as a quotient.
BoundResult bind_decimal_product(Bound left, Bound right) {
  constexpr unsigned kExactScaleMax = 22;
  DataType a = as_decimal(*left.expression);
  DataType b = as_decimal(*right.expression);
  const unsigned digits = static_cast<unsigned>(a.precision) + b.precision;
  unsigned scale = static_cast<unsigned>(a.scale) + b.scale;
  if (digits > kWideDecimalDigitsMax && scale > kExactScaleMax) {
    scale = scale_beside_integers(std::max<unsigned>({kQuotientScale, a.scale, b.scale}));
  }
  const DataType type = decimal_type(digits, scale);
  if (is_wide(a) != is_wide(b)) {
    a = decimal_type(kWideDecimalDigitsMax, a.scale);
    b = decimal_type(kWideDecimalDigitsMax, b.scale);
  }
  return typed(
      make_expression(ExpressionKind::kMultiply, type, cast_to(std::move(left.expression), a),
                      cast_to(std::move(right.expression), b)),
      left.offset);
}

// Of integers an integer, truncated; else a decimal with 16 digits after the point or more.
BoundResult bind_exact_division(bool integers, Bound left, Bound right) {
  if (integers) {
    const DataType type = *common_type(left.expression->type, right.expression->type);
    return typed(
        make_expression(ExpressionKind::kDivide, type, cast_to(std::move(left.expression), type),
                        cast_to(std::move(right.expression), type)),
        left.offset);
  }
  const DataType a = as_decimal(*left.expression);
  const DataType b = as_decimal(*right.expression);
  const unsigned scale =
      scale_beside_integers(std::max<unsigned>({kQuotientScale, a.scale, b.scale}));
  const DataType type = decimal_type(kWideDecimalDigitsMax, scale);
  return typed(
      make_expression(
          ExpressionKind::kDivide, type,
          cast_to(std::move(left.expression), decimal_type(kWideDecimalDigitsMax, a.scale)),
          cast_to(std::move(right.expression), decimal_type(kWideDecimalDigitsMax, b.scale))),
      left.offset);
}

BoundResult bind_arithmetic(const SourceText& source, std::string_view name, int64_t offset,
                            Bound left, Bound right) {
  const DataType& a = left.expression->type;
  const DataType& b = right.expression->type;
  if (!is_numeric(a) || !is_numeric(b)) return no_operator(source, name, offset, left, right);
  const bool floating = a.kind == TypeKind::kDouble || b.kind == TypeKind::kDouble;
  const bool integers = is_integer(a) && is_integer(b);
  ExpressionKind kind = ExpressionKind::kAdd;
  DataType type = floating ? kDoubleType : *common_type(a, b);
  if (name == "/") {
    kind = ExpressionKind::kDivide;
    if (!floating) return bind_exact_division(integers, std::move(left), std::move(right));
  } else if (name == "%") {
    if (floating) return no_operator(source, name, offset, left, right);
    kind = ExpressionKind::kModulo;
    if (!integers) {
      const DataType common =
          *common_type(as_decimal(*left.expression), as_decimal(*right.expression));
      type = decimal_type(kWideDecimalDigitsMax, common.scale);
    }
  } else {
    if (name == "-") kind = ExpressionKind::kSubtract;
    if (name == "*") kind = ExpressionKind::kMultiply;
    if (!floating && !integers) {
      if (name == "*") {
        return bind_decimal_product(std::move(left), std::move(right));
      }
      type = decimal_sum_type(as_decimal(*left.expression), as_decimal(*right.expression));
    }
  }
  return typed(make_expression(kind, type, cast_to(std::move(left.expression), type),
                               cast_to(std::move(right.expression), type)),
               left.offset);
}

// Untyped operands of arithmetic take the other side's type: '3' + 4, and NULL + x.
base::Result<void> adopt_for_arithmetic(const SourceText& source, std::string_view name,
                                        int64_t offset, Bound* left, Bound* right) {
  if (left->untyped && right->untyped) return ambiguous_operator(source, name, offset);
  if (!left->untyped && !right->untyped) return {};
  const DataType type = (left->untyped ? right : left)->expression->type;
  if (!is_numeric(type) && type != kIntervalType) {
    return no_operator(source, name, offset, *left, *right);
  }
  return adopt_type(source, type, left->untyped ? left : right);
}

bool has_datetime(const Bound& operand) {
  return is_datetime(operand.expression->type);
}

bool is_interval(const Bound& operand) {
  return !operand.untyped && operand.expression->type == kIntervalType;
}

// A date minus a date is whole days; with a timestamp, an interval.
BoundResult bind_moment_difference(Bound left, Bound right) {
  const bool dates = left.expression->type.kind == TypeKind::kDate &&
                     right.expression->type.kind == TypeKind::kDate;
  const DataType& type = dates ? kDateType : kTimestampType;
  Expressions moments;
  moments.push_back(cast_to(std::move(left.expression), type));
  moments.push_back(cast_to(std::move(right.expression), type));
  return typed(dates ? make_function(Function::kDaysBetween, kIntType, std::move(moments))
                     : make_function(Function::kIntervalBetween, kIntervalType, std::move(moments)),
               left.offset);
}

// DATE or TIMESTAMP plus or minus an INTERVAL: a TIMESTAMP, as in PostgreSQL. The parts of a
// constant one are added one by one, days to a date as such, in whole vectors; others at once.
BoundResult bind_moment_shift(std::string_view name, Bound moment, Bound interval) {
  ExpressionPtr sum = std::move(moment.expression);
  const auto add = [&](Function function, ExpressionPtr by) {
    Expressions arguments;
    arguments.push_back(std::move(sum));
    arguments.push_back(std::move(by));
    const DataType type = arguments[0]->type;
    sum = fold(make_function(function, type, std::move(arguments)));
  };
  const base::Interval* const constant = constant_interval(interval);
  if (constant != nullptr && constant->micros != INT64_MIN) {  // which has no negative
    const int64_t sign = name == "-" ? -1 : 1;
    const auto add_part = [&](Function function, int64_t amount) {
      if (amount != 0) add(function, make_literal(kBigIntType, base::Value(sign * amount)));
    };
    add_part(Function::kAddMonths, constant->months);
    add_part(Function::kAddDays, constant->days);
    sum = cast_to(std::move(sum), kTimestampType);
    add_part(Function::kAddMicros, constant->micros);
  } else {
    sum = cast_to(std::move(sum), kTimestampType);
    ExpressionPtr by = std::move(interval.expression);
    if (name == "-") by = make_expression(ExpressionKind::kNegate, kIntervalType, std::move(by));
    add(Function::kAddInterval, fold(std::move(by)));
  }
  return Bound{std::move(sum), false, moment.offset};
}

// An INTERVAL times or by a number, which is a DOUBLE then.
BoundResult bind_interval_scale(const SourceText& source, std::string_view name, Bound interval,
                                Bound number) {
  const int64_t place = interval.offset;
  if (auto adopted = adopt_type(source, kDoubleType, &number); !adopted) return adopted.error();
  return typed(make_expression(name == "*" ? ExpressionKind::kMultiply : ExpressionKind::kDivide,
                               kIntervalType, std::move(interval.expression),
                               cast_to(std::move(number.expression), kDoubleType)),
               place);
}

// What is added to a TIMESTAMP is an INTERVAL; to a DATE it could be days as well.
base::Result<void> adopt_as_shift(const SourceText& source, std::string_view name, int64_t offset,
                                  Bound* left, Bound* right) {
  if (left->untyped && right->untyped) return {};
  const Bound& moment = left->untyped ? *right : *left;
  if (!has_datetime(moment)) return {};
  if (moment.expression->type.kind == TypeKind::kDate) {
    return ambiguous_operator(source, name, offset);
  }
  return adopt_type(source, kIntervalType, left->untyped ? left : right);
}

// Of an INTERVAL, and something else or another one.
BoundResult bind_interval_arithmetic(const SourceText& source, std::string_view name,
                                     int64_t offset, Bound left, Bound right) {
  const auto is_number = [](const Bound& operand) {
    return operand.untyped || is_numeric(operand.expression->type);
  };
  if (name == "*" && is_number(left)) std::swap(left, right);
  if ((name == "*" || name == "/") && is_interval(left) && is_number(right)) {
    return bind_interval_scale(source, name, std::move(left), std::move(right));
  }
  if (name != "+" && name != "-") return no_operator(source, name, offset, left, right);
  if (auto adopted = adopt_for_arithmetic(source, name, offset, &left, &right); !adopted) {
    return adopted.error();
  }
  if (name == "+" && has_datetime(right)) std::swap(left, right);
  if (has_datetime(left)) return bind_moment_shift(name, std::move(left), std::move(right));
  if (!is_interval(left) || !is_interval(right)) {
    return no_operator(source, name, offset, left, right);
  }
  return typed(
      make_expression(name == "+" ? ExpressionKind::kAdd : ExpressionKind::kSubtract, kIntervalType,
                      std::move(left.expression), std::move(right.expression)),
      left.offset);
}

// DATE plus or minus a number of days.
BoundResult bind_day_arithmetic(const SourceText& source, std::string_view name, int64_t offset,
                                Bound left, Bound right) {
  if (left.expression->type.kind != TypeKind::kDate && name == "+") std::swap(left, right);
  const bool days = left.expression->type.kind == TypeKind::kDate &&
                    is_integer(right.expression->type) && (name == "+" || name == "-");
  if (!days) return no_operator(source, name, offset, left, right);
  ExpressionPtr amount = cast_to(std::move(right.expression), kBigIntType);
  if (name == "-") {
    amount = fold(make_expression(ExpressionKind::kNegate, kBigIntType, std::move(amount)));
  }
  Expressions arguments;
  arguments.push_back(std::move(left.expression));
  arguments.push_back(std::move(amount));
  return typed(make_function(Function::kAddDays, kDateType, std::move(arguments)), left.offset);
}

// With a literal of more digits behind the point than the value has: what is below it is at most
// its floor, and nothing equals it. So no operand gets more digits than it has.
BoundResult bind_finer_comparison(const SourceText& source, ExpressionKind kind, int64_t offset,
                                  Bound value, const Bound& literal) {
  const auto& number = std::get<base::DecimalValue>(literal.expression->literal);
  const uint8_t scale = value.expression->type.scale;  // 0 of integers
  const base::int128_t unit = base::power_of_ten(static_cast<uint32_t>(number.scale - scale));
  const bool negative = number.units < 0 || literal.dropped_sign < 0;
  const base::int128_t floor = number.units / unit - (negative ? 1 : 0);
  const DataType type = decimal_type(kWideDecimalDigitsMax, scale);
  const auto compare = [&](std::string_view name) {
    Bound bound{make_literal(type, base::Value(base::DecimalValue{floor, scale})), false,
                literal.offset};
    return bind_operator(source, name, offset, copy_of(value), std::move(bound));
  };
  const bool equality = kind == ExpressionKind::kEqual || kind == ExpressionKind::kNotEqual;
  const bool below = kind == ExpressionKind::kLess || kind == ExpressionKind::kLessEqual;
  if (!equality) return compare(below ? "<=" : ">");
  auto first = compare("<=");
  if (!first) return first;
  auto second = compare(">");
  if (!second) return second;
  return typed(
      make_expression(kind == ExpressionKind::kEqual ? ExpressionKind::kAnd : ExpressionKind::kOr,
                      kBooleanType, std::move(first->expression), std::move(second->expression)),
      value.offset);
}

BoundResult bind_comparison(const SourceText& source, std::string_view name, ExpressionKind kind,
                            int64_t offset, Bound left, Bound right) {
  if (is_finer_literal(right, left)) {
    return bind_finer_comparison(source, kind, offset, std::move(left), right);
  }
  if (is_finer_literal(left, right)) {
    return bind_finer_comparison(source, mirrored(kind), offset, std::move(right), left);
  }
  Bound* operands[] = {&left, &right};
  const std::string what = fmt::format("operator \"{}\"", name);
  if (auto unified = unify(source, what, offset, operands, TypeIs::kUnseen); !unified) {
    return unified.error();
  }
  return typed(
      make_expression(kind, kBooleanType, std::move(left.expression), std::move(right.expression)),
      left.offset);
}

bool is_date_operand(const Bound& operand) {
  return operand.expression->type.kind == TypeKind::kDate;
}

base::Error no_prefix_operator(const SourceText& source, std::string_view name, int64_t offset,
                               const Bound& operand) {
  return source.wrong(offset,
                      fmt::format("operator \"{}\" does not take {}", name, type_name_of(operand)),
                      "42883");
}

BoundResult bind_negation(const SourceText& source, int64_t offset, Bound operand) {
  if (operand.untyped) return ambiguous_operator(source, "-", offset);
  const DataType type = operand.expression->type;
  if (!is_numeric(type) && type != kIntervalType) {
    return no_prefix_operator(source, "-", offset, operand);
  }
  return typed(make_expression(ExpressionKind::kNegate, type, std::move(operand.expression)),
               offset);
}

// As in PostgreSQL of numbers alone, and an untyped operand is a DOUBLE.
BoundResult bind_plus(const SourceText& source, int64_t offset, Bound operand) {
  if (auto adopted = adopt_type(source, kDoubleType, &operand); !adopted) return adopted.error();
  if (!is_numeric(operand.expression->type)) {
    return no_prefix_operator(source, "+", offset, operand);
  }
  return operand;
}

std::optional<Function> bit_function(std::string_view name) {
  if (name == "&") return Function::kBitAnd;
  if (name == "|") return Function::kBitOr;
  if (name == "#") return Function::kBitXor;
  if (name == "<<") return Function::kShiftLeft;
  if (name == ">>") return Function::kShiftRight;
  return std::nullopt;
}

// Of two INTs an INT, of a shift what is shifted; a shift is by the number's low bits.
BoundResult bind_bits(const SourceText& source, std::string_view name, Function function,
                      int64_t offset, Bound left, Bound right) {
  if (auto adopted = adopt_for_arithmetic(source, name, offset, &left, &right); !adopted) {
    return adopted.error();
  }
  if (!is_integer(left.expression->type) || !is_integer(right.expression->type)) {
    return no_operator(source, name, offset, left, right);
  }
  const bool shifts = function == Function::kShiftLeft || function == Function::kShiftRight;
  const bool narrow = left.expression->type.kind == TypeKind::kInt &&
                      (shifts || right.expression->type.kind == TypeKind::kInt);
  const int64_t place = left.offset;
  Expressions arguments;
  arguments.push_back(cast_to(std::move(left.expression), kBigIntType));
  arguments.push_back(cast_to(std::move(right.expression), kBigIntType));
  if (shifts) {
    Expressions bits;
    bits.push_back(std::move(arguments[1]));
    bits.push_back(make_literal(kBigIntType, base::Value(int64_t{narrow ? 31 : 63})));
    arguments[1] = make_function(Function::kBitAnd, kBigIntType, std::move(bits));
  }
  const DataType type = narrow ? kIntType : kBigIntType;
  return typed(make_function(function, type, std::move(arguments)), place);
}

}  // namespace

bool is_finer_literal(const Bound& literal, const Bound& value) {
  const DataType& type = value.expression->type;
  const bool exact = is_integer(type) || type.kind == TypeKind::kDecimal;
  const bool dropped = literal.dropped_sign != 0 && value.dropped_sign == 0;
  if (!is_literal(*literal.expression) || value.untyped || !exact ||
      (is_literal(*value.expression) && !dropped)) {
    return false;
  }
  const auto* const number = std::get_if<base::DecimalValue>(&literal.expression->literal);
  if (number == nullptr || number->scale < type.scale) return false;
  return dropped ||
         number->units % base::power_of_ten(static_cast<uint32_t>(number->scale - type.scale)) != 0;
}

std::optional<base::Value> named_moment(const SourceText& source, const DataType& type,
                                        const base::Value& literal) {
  const auto* const text = std::get_if<std::string>(&literal);
  const bool date = type.kind == TypeKind::kDate;
  if (text == nullptr || (!date && type.kind != TypeKind::kTimestamp)) return std::nullopt;
  const int64_t now = source.moment().micros;
  const int64_t today = now / base::kMicrosPerDay;
  int64_t micros = 0;
  if (*text == "now") {
    micros = now;
  } else if (*text == "today" || *text == "yesterday" || *text == "tomorrow") {
    const int64_t days = today - (*text == "yesterday" ? 1 : 0) + (*text == "tomorrow" ? 1 : 0);
    micros = days * base::kMicrosPerDay;
  } else {
    return std::nullopt;
  }
  if (!date) return base::Value(base::Timestamp{micros});
  return base::Value(base::Date{static_cast<int32_t>(micros / base::kMicrosPerDay)});
}

Bound typed(ExpressionPtr expression, int64_t offset) {
  return {fold(std::move(expression)), false, offset};
}

std::string type_name_of(const Bound& operand) {
  return operand.expression->type.to_string();
}

base::Result<ExpressionPtr> as_predicate(const SourceText& source, std::string_view what,
                                         Bound operand) {
  if (operand.untyped) {
    if (auto adopted = adopt_type(source, kBooleanType, &operand); !adopted) {
      return adopted.error();
    }
  }
  if (operand.expression->type.kind != TypeKind::kBoolean) {
    return source.wrong(operand.offset,
                        fmt::format("{} needs a BOOLEAN, not {}", what, type_name_of(operand)),
                        "42804");
  }
  return std::move(operand.expression);
}

BoundResult bind_prefix_operator(const SourceText& source, std::string_view name, int64_t offset,
                                 Bound operand) {
  if (name == "-") return bind_negation(source, offset, std::move(operand));
  if (name == "+") return bind_plus(source, offset, std::move(operand));
  if (name == "~") {
    if (operand.untyped) return ambiguous_operator(source, name, offset);
    if (!is_integer(operand.expression->type)) {
      return no_prefix_operator(source, name, offset, operand);
    }
    Bound ones{make_literal(kIntType, base::Value(int64_t{-1})), false, offset};
    return bind_operator(source, "#", offset, std::move(operand), std::move(ones));
  }
  const std::string_view function = name == "@"     ? "abs"
                                    : name == "|/"  ? "sqrt"
                                    : name == "||/" ? "cbrt"
                                                    : "";
  if (function.empty()) return source.unsupported(offset, fmt::format("operator \"{}\"", name));
  if (!operand.untyped && !is_numeric(operand.expression->type)) {
    return no_prefix_operator(source, name, offset, operand);
  }
  std::vector<Bound> arguments;
  arguments.push_back(std::move(operand));
  return bind_function(source, function, offset, std::move(arguments));
}

BoundResult bind_operator(const SourceText& source, std::string_view name, int64_t offset,
                          Bound left, Bound right) {
  if (const auto kind = comparison_kind(name)) {
    return bind_comparison(source, name, *kind, offset, std::move(left), std::move(right));
  }
  if (is_pattern_operator(name)) {
    return bind_pattern_operator(source, name, offset, std::move(left), std::move(right));
  }
  if (name == "||") {
    const auto is_text = [](const Bound& operand) {
      return operand.untyped || operand.expression->type.is_string();
    };
    if (!is_text(left) && !is_text(right)) return no_operator(source, name, offset, left, right);
    return typed(make_expression(ExpressionKind::kConcat, kTextType,
                                 cast_to(std::move(left.expression), kTextType),
                                 cast_to(std::move(right.expression), kTextType)),
                 left.offset);
  }
  if (name == "^" || name == "^@") {
    const auto fits = [&](const Bound& operand) {
      const DataType& type = operand.expression->type;
      return operand.untyped || (name == "^" ? is_numeric(type) : type.is_string());
    };
    if (!fits(left) || !fits(right)) return no_operator(source, name, offset, left, right);
    std::vector<Bound> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    return bind_function(source, name == "^" ? "power" : "starts_with", offset,
                         std::move(operands));
  }
  if (const auto function = bit_function(name)) {
    return bind_bits(source, name, *function, offset, std::move(left), std::move(right));
  }
  const bool arithmetic = name == "+" || name == "-" || name == "*" || name == "/" || name == "%";
  if (!arithmetic) return source.unsupported(offset, fmt::format("operator \"{}\"", name));
  if (name == "+" && (left.untyped || right.untyped)) {
    if (auto adopted = adopt_as_shift(source, name, offset, &left, &right); !adopted) {
      return adopted.error();
    }
  }
  if (is_interval(left) || is_interval(right)) {
    return bind_interval_arithmetic(source, name, offset, std::move(left), std::move(right));
  }
  if (name == "-" && (has_datetime(left) || has_datetime(right)) &&
      (left.untyped || right.untyped)) {
    Bound& open = left.untyped ? left : right;
    const DataType type = (left.untyped ? right : left).expression->type;
    if (auto adopted = adopt_type(source, type, &open); !adopted) return adopted.error();
  }
  if (name == "-" && has_datetime(left) && has_datetime(right)) {
    return bind_moment_difference(std::move(left), std::move(right));
  }
  const bool days =
      (is_date_operand(left) && !right.untyped) || (is_date_operand(right) && !left.untyped);
  if (days) {
    return bind_day_arithmetic(source, name, offset, std::move(left), std::move(right));
  }
  if (auto adopted = adopt_for_arithmetic(source, name, offset, &left, &right); !adopted) {
    return adopted.error();
  }
  return bind_arithmetic(source, name, offset, std::move(left), std::move(right));
}

BoundResult bind_row_operator(const SourceText& source, std::string_view name, int64_t offset,
                              std::vector<Bound> left, std::vector<Bound> right) {
  if (left.size() != right.size()) {
    const bool rows = left.size() != 1 && right.size() != 1;
    return source.wrong(offset, "the rows on both sides have not as many columns",
                        rows ? base::SqlState("42601") : base::SqlState("42883"));
  }
  if (left.size() == 1) {
    return bind_operator(source, name, offset, std::move(left[0]), std::move(right[0]));
  }
  if (!comparison_kind(name)) {
    return source.wrong(offset, fmt::format("operator \"{}\" does not compare rows", name),
                        "42804");
  }
  const bool each = name == "=" || name == "<>";
  const std::string_view strict = name.substr(0, 1);  // < of <=
  ExpressionPtr result;
  for (size_t i = left.size(); i-- > 0;) {
    auto own = bind_operator(source, each || result == nullptr ? name : strict, offset,
                             copy_of(left[i]), copy_of(right[i]));
    if (!own) return own;
    if (result == nullptr) {
      result = std::move(own->expression);
    } else if (each) {
      const auto kind = name == "=" ? ExpressionKind::kAnd : ExpressionKind::kOr;
      result =
          fold(make_expression(kind, kBooleanType, std::move(own->expression), std::move(result)));
    } else {  // a < c OR (a = c AND the rest)
      auto same = bind_operator(source, "=", offset, std::move(left[i]), std::move(right[i]));
      if (!same) return same;
      result = fold(
          make_expression(ExpressionKind::kOr, kBooleanType, std::move(own->expression),
                          fold(make_expression(ExpressionKind::kAnd, kBooleanType,
                                               std::move(same->expression), std::move(result)))));
    }
  }
  return typed(std::move(result), offset);
}

}  // namespace diptych::olap
