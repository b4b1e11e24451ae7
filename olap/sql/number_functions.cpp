// Functions of numbers: find_number_function_binder of function_call.h.

#include <algorithm>
#include <numbers>
#include <unordered_map>

#include "olap/execution/expression/row_functions.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/function_call.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;
using Call = FunctionCall;

BoundResult bind_abs(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  const DataType type = (*number)->type;
  Expressions arguments;
  arguments.push_back(*std::move(number));
  return called(make_function(Function::kAbs, type, std::move(arguments)), call.offset);
}

BoundResult bind_floor_or_ceil(Call call, Function function) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  if (is_integer((*number)->type)) return called(*std::move(number), call.offset);
  DataType type = (*number)->type;
  if (type.kind == TypeKind::kDecimal) {
    // One digit more than before the point: 9.5 rounds up to 10.
    type = decimal_type(static_cast<unsigned>(type.precision - type.scale + 1), 0);
  }
  Expressions arguments;
  arguments.push_back(*std::move(number));
  return called(make_function(function, type, std::move(arguments)), call.offset);
}

// A numeric to digits that are no literal: it keeps its scale, with zeros at the end.
BoundResult bind_round_by_row(Call call, Function function) {
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  if ((*number)->type.kind == TypeKind::kDouble) {
    return call.source.unsupported(call.arguments[1].offset,
                                   "rounding a DOUBLE to digits that are no literal");
  }
  auto digits = integer_argument(call, &call.arguments[1]);
  if (!digits) return digits.error();
  const DataType type = decimal_type(kWideDecimalDigitsMax, as_decimal(**number).scale);
  Expressions arguments;
  arguments.push_back(cast_to(*std::move(number), type));
  arguments.push_back(*std::move(digits));
  return called(make_function(function, type, std::move(arguments)), call.offset);
}

BoundResult bind_round(Call call, Function function) {
  if (call.arguments.empty() || call.arguments.size() > 2) {
    return call.wrong_count("1 or 2 arguments");
  }
  int64_t digits = 0;
  if (call.arguments.size() == 2) {
    // Only of decimals are there digits: a text is one, with as many as are written.
    auto adopted = adopt_type(call.source, decimal_type(1, 0), &call.arguments[0]);
    if (!adopted) return adopted.error();
    const Bound& argument = call.arguments[1];
    const auto* literal = std::get_if<int64_t>(&argument.expression->literal);
    if (literal == nullptr) return bind_round_by_row(std::move(call), function);
    if (*literal < -int64_t{kWideDecimalDigitsMax} || *literal > kWideDecimalDigitsMax) {
      return call.source.unsupported(argument.offset, "rounding to such a number of digits");
    }
    digits = *literal;
  }
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  if (is_integer((*number)->type) && digits < 0) {
    const DataType decimal = as_decimal(**number);
    *number = cast_to(*std::move(number), decimal);
  }
  DataType type = (*number)->type;
  if (is_integer(type) || (type.kind == TypeKind::kDecimal && digits >= type.scale)) {
    return called(*std::move(number), call.offset);  // nothing to round
  }
  if (type.kind == TypeKind::kDecimal) {
    const auto scale = static_cast<unsigned>(std::max<int64_t>(digits, 0));
    const auto whole = static_cast<unsigned>(type.precision - type.scale + 1);
    type = decimal_type(
        std::max(whole, static_cast<unsigned>(std::max<int64_t>(1 - digits, 0))) + scale, scale);
  }
  Expressions arguments;
  arguments.push_back(*std::move(number));
  arguments.push_back(make_literal(kBigIntType, base::Value(digits)));
  return called(make_function(function, type, std::move(arguments)), call.offset);
}

// DOUBLE, but of a DECIMAL a DECIMAL.
BoundResult bind_sign(Call call) {
  const bool is_exact =
      call.arguments.size() == 1 && call.arguments[0].expression->type.kind == TypeKind::kDecimal;
  auto sign = bind_signature(std::move(call), {"sign", Function::kSign, kDoubleType, "d"});
  if (sign && is_exact) sign->expression = cast_to(std::move(sign->expression), decimal_type(1, 0));
  return sign;
}

// log(x) is decadic; log(b, x) to the base b, and NULL where one of them is, whatever the other.
BoundResult bind_log(Call call) {
  if (call.arguments.size() != 2) {
    return bind_signature(std::move(call), {"log", Function::kLog10, kDoubleType, "d"});
  }
  Expressions quotient;
  Expressions tests;
  for (Bound& argument : call.arguments) {
    auto bound = number_argument(call, &argument);
    if (!bound) return bound.error();
    ExpressionPtr number = cast_to(*std::move(bound), kDoubleType);
    if (number->nullable) {
      tests.push_back(is_known(*number));
    }
    Expressions one;
    one.push_back(std::move(number));
    quotient.push_back(make_function(Function::kLn, kDoubleType, std::move(one)));
  }
  std::swap(quotient[0], quotient[1]);
  ExpressionPtr result = make_expression(ExpressionKind::kDivide, kDoubleType, std::move(quotient));
  if (!tests.empty()) {
    result = make_case(conjunction(std::move(tests)), fold(std::move(result)));
  }
  return called(std::move(result), call.offset);
}

// A number as a decimal; of a text one with as many digits as are written.
base::Result<ExpressionPtr> exact_argument(const Call& call, Bound* argument) {
  auto adopted = adopt_type(call.source, decimal_type(1, 0), argument);
  if (!adopted) return adopted.error();
  auto number = number_argument(call, argument);
  if (number && (*number)->type.kind == TypeKind::kDouble) {
    return call.wrong_type({*std::move(number)});
  }
  return number;
}

// Of two decimals, in the units of the finer one.
BoundResult bind_divisor_of_decimals(Call call, Function function) {
  Expressions arguments;
  unsigned scale = 0;
  for (Bound& argument : call.arguments) {
    auto number = exact_argument(call, &argument);
    if (!number) return number.error();
    scale = std::max(scale, unsigned{as_decimal(**number).scale});
    arguments.push_back(*std::move(number));
  }
  const DataType type = decimal_type(kWideDecimalDigitsMax, scale);
  for (ExpressionPtr& argument : arguments) argument = fold(cast_to(std::move(argument), type));
  return called(make_function(function, type, std::move(arguments)), call.offset);
}

// gcd and lcm: of two INTs an INT.
BoundResult bind_divisor(Call call, Function function, Function of_decimals) {
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const auto kind_of = [&](size_t i) { return call.arguments[i].expression->type.kind; };
  if (kind_of(0) == TypeKind::kDecimal || kind_of(1) == TypeKind::kDecimal) {
    return bind_divisor_of_decimals(std::move(call), of_decimals);
  }
  const auto narrow = [&](size_t i) {
    return call.arguments[i].untyped || kind_of(i) == TypeKind::kInt;
  };
  const bool ints = narrow(0) && narrow(1);
  auto result = bind_signature(std::move(call), {call.name, function, kBigIntType, "ii"});
  if (!result || !ints) return result;
  return called(cast_to(std::move(result->expression), kIntType), result->offset);
}

BoundResult bind_mod(Call call) {
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  return bind_operator(call.source, "%", call.offset, std::move(call.arguments[0]),
                       std::move(call.arguments[1]));
}

// div(a, b): how often b is in a, of exact numbers.
BoundResult bind_div(Call call) {
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  for (Bound& argument : call.arguments) {
    auto number = exact_argument(call, &argument);
    if (!number) return number.error();
    argument.expression = *std::move(number);
  }
  Bound& a = call.arguments[0];
  Bound& b = call.arguments[1];
  if (!is_integer(a.expression->type) || !is_integer(b.expression->type)) {
    // Without the rest, whatever number of digits the quotient has.
    auto rest = bind_operator(call.source, "%", call.offset, copy_of(a), copy_of(b));
    if (!rest) return rest;
    auto whole = bind_operator(call.source, "-", call.offset, std::move(a), *std::move(rest));
    if (!whole) return whole;
    a = *std::move(whole);
  }
  const bool integers = is_integer(a.expression->type) && is_integer(b.expression->type);
  auto quotient = bind_operator(call.source, "/", call.offset, std::move(a), std::move(b));
  if (!quotient) return quotient;
  if (integers) {
    const DataType decimal = as_decimal(*quotient->expression);
    return called(cast_to(std::move(quotient->expression), decimal), call.offset);
  }
  call.arguments.clear();
  call.arguments.push_back(*std::move(quotient));
  return bind_round(std::move(call), Function::kTruncate);
}

BoundResult bind_factorial(Call call) {
  return bind_signature(std::move(call), {"factorial", Function::kFactorial,
                                          decimal_type(kWideDecimalDigitsMax, 0), "i"});
}

BoundResult bind_pi(Call call) {
  if (!call.arguments.empty()) return call.wrong_count("no argument");
  return called(make_literal(kDoubleType, base::Value(std::numbers::pi)), call.offset);
}

BoundResult bind_to_hex(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  const bool narrow = call.arguments[0].expression->type.kind == TypeKind::kInt;
  auto number = integer_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  Expressions arguments;
  arguments.push_back(*std::move(number));
  if (narrow) {
    arguments.push_back(make_literal(kBigIntType, base::Value(int64_t{UINT32_MAX})));
    ExpressionPtr low = make_function(Function::kBitAnd, kBigIntType, std::move(arguments));
    arguments.clear();
    arguments.push_back(std::move(low));
  }
  return called(make_function(Function::kToHex, kTextType, std::move(arguments)), call.offset);
}

// The digits behind the point: all values of a type have as many.
BoundResult bind_scale(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = exact_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  const int64_t scale = as_decimal(**number).scale;
  ExpressionPtr digits = make_literal(kIntType, base::Value(scale));
  return called(make_case(is_known(**number), std::move(digits)), call.offset);
}

// Without the zeros at the end.
BoundResult bind_min_scale(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = exact_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  const unsigned scale = as_decimal(**number).scale;
  Expressions arguments;
  arguments.push_back(cast_to(*std::move(number), decimal_type(kWideDecimalDigitsMax, scale)));
  arguments.push_back(make_literal(kBigIntType, base::Value(int64_t{scale})));
  return called(make_function(Function::kMinScale, kIntType, std::move(arguments)), call.offset);
}

// to_number(text, pattern): NULL where the pattern is empty.
BoundResult bind_to_number(Call call) {
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  Expressions arguments;
  for (Bound& argument : call.arguments) {
    auto text = text_argument(call, &argument);
    if (!text) return text.error();
    arguments.push_back(*std::move(text));
  }
  const auto* written = std::get_if<std::string>(&arguments[1]->literal);
  const int64_t scale = written == nullptr ? int64_t{kQuotientScale}
                                           : std::min<int64_t>(number_pattern_fraction(*written),
                                                               kWideDecimalDigitsMax);
  arguments[1] = fold(make_expression(ExpressionKind::kNullIf, kTextType, std::move(arguments[1]),
                                      make_literal(kTextType, base::Value(std::string()))));
  arguments.push_back(make_literal(kBigIntType, base::Value(scale)));
  const DataType type = decimal_type(kWideDecimalDigitsMax, static_cast<unsigned>(scale));
  return called(make_function(Function::kToNumber, type, std::move(arguments)), call.offset);
}

const std::unordered_map<std::string_view, FunctionBinder>& binders_of_numbers() {
  static const std::unordered_map<std::string_view, FunctionBinder> kBinders = {
      {"abs", bind_abs},
      {"round", [](Call c) { return bind_round(std::move(c), Function::kRound); }},
      {"trunc", [](Call c) { return bind_round(std::move(c), Function::kTruncate); }},
      {"floor", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kFloor); }},
      {"ceil", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kCeil); }},
      {"ceiling", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kCeil); }},
      {"log", bind_log},
      {"sign", bind_sign},
      {"gcd",
       [](Call c) { return bind_divisor(std::move(c), Function::kGcd, Function::kDecimalGcd); }},
      {"lcm",
       [](Call c) { return bind_divisor(std::move(c), Function::kLcm, Function::kDecimalLcm); }},
      {"mod", bind_mod},
      {"div", bind_div},
      {"factorial", bind_factorial},
      {"pi", bind_pi},
      {"to_hex", bind_to_hex},
      {"scale", bind_scale},
      {"min_scale", bind_min_scale},
      {"to_number", bind_to_number},
  };
  return kBinders;
}

}  // namespace

FunctionBinder find_number_function_binder(std::string_view name) {
  const auto found = binders_of_numbers().find(name);
  return found == binders_of_numbers().end() ? nullptr : found->second;
}

std::vector<std::string> number_function_names() {
  std::vector<std::string> names;
  for (const auto& [name, binder] : binders_of_numbers()) names.emplace_back(name);
  return names;
}

}  // namespace diptych::olap
