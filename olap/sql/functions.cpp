// bind_function of operators.h.

#include <algorithm>
#include <numbers>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/counted.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/function_call.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {

BoundResult called(ExpressionPtr expression, int64_t offset) {
  return Bound{fold(std::move(expression)), false, offset};
}

// The argument as text; untyped ones are texts already.
base::Result<ExpressionPtr> text_argument(const FunctionCall& call, Bound* argument) {
  if (!argument->expression->type.is_string()) {
    return call.wrong_type(*argument);
  }
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> integer_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kBigIntType, argument); !adopted) {
    return adopted.error();
  }
  if (!is_integer(argument->expression->type)) {
    return call.wrong_type(*argument);
  }
  return cast_to(std::move(argument->expression), kBigIntType);
}

base::Result<ExpressionPtr> number_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kDoubleType, argument); !adopted) {
    return adopted.error();
  }
  if (!is_numeric(argument->expression->type)) {
    return call.wrong_type(*argument);
  }
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> moment_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kTimestampType, argument); !adopted) {
    return adopted.error();
  }
  if (!is_datetime(argument->expression->type)) return call.wrong_type(*argument);
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> interval_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kIntervalType, argument); !adopted) {
    return adopted.error();
  }
  if (argument->expression->type != kIntervalType) return call.wrong_type(*argument);
  return std::move(argument->expression);
}

namespace {

// What the letters of a signature take.
base::Result<ExpressionPtr> argument_of(const FunctionCall& call, char kind, Bound* argument) {
  switch (kind) {
    case 't': return text_argument(call, argument);
    case 'i': return integer_argument(call, argument);
    case 'v': return interval_argument(call, argument);
    case 'm': {
      auto moment = moment_argument(call, argument);
      if (!moment) return moment;
      return cast_to(*std::move(moment), kTimestampType);
    }
    default: {
      auto number = number_argument(call, argument);
      if (!number) return number;
      return cast_to(*std::move(number), kDoubleType);
    }
  }
}

}  // namespace

BoundResult bind_signature(FunctionCall call, const Signature& signature) {
  const size_t wanted = signature.arguments.size();
  const bool optional = signature.absent != nullptr;
  if (optional && call.arguments.size() + 1 == wanted) {
    call.arguments.push_back(
        {make_literal(kTextType, base::Value(std::string(signature.absent))), false, call.offset});
  }
  if (call.arguments.size() != wanted) {
    return call.wrong_count(base::counted(wanted, "argument") + (optional ? " or one fewer" : ""));
  }
  Expressions arguments;
  for (size_t i = 0; i < wanted; ++i) {
    auto argument = argument_of(call, signature.arguments[i], &call.arguments[i]);
    if (!argument) return argument.error();
    arguments.push_back(*std::move(argument));
  }
  const bool blanks = optional && signature.function == Function::kTrimBoth &&
                      is_literal(*arguments[1]) &&
                      arguments[1]->literal == base::Value(std::string(" "));
  if (blanks) {
    arguments.pop_back();
    return called(make_function(Function::kTrim, kTextType, std::move(arguments)), call.offset);
  }
  ExpressionPtr result = make_function(signature.function, signature.type, std::move(arguments));
  result->nullable = result->nullable || signature.may_be_null;
  return called(std::move(result), call.offset);
}

namespace {

using base::DataType;
using base::TypeKind;
using Call = FunctionCall;

BoundResult bind_text_function(Call call, Function function, DataType type) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto text = text_argument(call, &call.arguments[0]);
  if (!text) return text.error();
  Expressions arguments;
  arguments.push_back(*std::move(text));
  return called(make_function(function, type, std::move(arguments)), call.offset);
}

// substring(text FROM pattern), substring(text SIMILAR pattern ESCAPE character)
BoundResult bind_substring_by_pattern(Call call, Function function) {
  Expressions arguments;
  for (Bound& argument : call.arguments) {
    auto text = text_argument(call, &argument);
    if (!text) return text.error();
    arguments.push_back(*std::move(text));
  }
  ExpressionPtr result = make_function(function, kTextType, std::move(arguments));
  result->nullable = true;
  return called(std::move(result), call.offset);
}

BoundResult bind_substring(Call call) {
  if (call.arguments.size() < 2 || call.arguments.size() > 3) {
    return call.wrong_count("2 or 3 arguments");
  }
  const bool by_pattern =
      call.name == "substring" &&
      std::all_of(call.arguments.begin() + 1, call.arguments.end(),
                  [](const Bound& argument) { return argument.expression->type.is_string(); });
  if (by_pattern) {
    const bool similar = call.arguments.size() == 3;
    return bind_substring_by_pattern(
        std::move(call), similar ? Function::kSimilarSubstring : Function::kRegexSubstring);
  }
  Expressions arguments;
  auto text = text_argument(call, &call.arguments[0]);
  if (!text) return text.error();
  arguments.push_back(*std::move(text));
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    auto number = integer_argument(call, &call.arguments[i]);
    if (!number) return number.error();
    arguments.push_back(*std::move(number));
  }
  // To the end of the text: a length that no text reaches.
  if (arguments.size() == 2) {
    arguments.push_back(make_literal(kBigIntType, base::Value(int64_t{INT32_MAX})));
  }
  return called(make_function(Function::kSubstring, kTextType, std::move(arguments)), call.offset);
}

// What the first character is does not depend on those behind it.
BoundResult bind_ascii(Call call) {
  auto ascii = bind_text_function(std::move(call), Function::kAscii, kIntType);
  if (!ascii || ascii->expression->children.empty()) return ascii;
  ExpressionPtr& text = ascii->expression->children[0];
  if (text->kind != ExpressionKind::kFunction || text->function != Function::kSubstring)
    return ascii;
  const auto* first = std::get_if<int64_t>(&text->children[1]->literal);
  const auto* length = std::get_if<int64_t>(&text->children[2]->literal);
  const bool from_the_first = first != nullptr && *first == 1 && length != nullptr && *length > 0;
  if (from_the_first) text = std::move(text->children[0]);
  return ascii;
}

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

constexpr Signature kSignatures[] = {
    {"length", Function::kCharLength, kIntType, "t"},
    {"char_length", Function::kCharLength, kIntType, "t"},
    {"character_length", Function::kCharLength, kIntType, "t"},
    {"position", Function::kPosition, kIntType, "tt"},
    {"strpos", Function::kPosition, kIntType, "tt"},
    {"replace", Function::kReplace, kTextType, "ttt"},
    {"lpad", Function::kLeftPad, kTextType, "tit", " "},
    {"rpad", Function::kRightPad, kTextType, "tit", " "},
    {"left", Function::kLeft, kTextType, "ti"},
    {"right", Function::kRight, kTextType, "ti"},
    {"reverse", Function::kReverse, kTextType, "t"},
    {"repeat", Function::kRepeat, kTextType, "ti"},
    {"split_part", Function::kSplitPart, kTextType, "tti"},
    {"btrim", Function::kTrimBoth, kTextType, "tt", " "},
    {"ltrim", Function::kTrimLeft, kTextType, "tt", " "},
    {"rtrim", Function::kTrimRight, kTextType, "tt", " "},
    {"starts_with", Function::kStartsWith, kBooleanType, "tt"},
    {"chr", Function::kChr, kTextType, "i"},
    {"translate", Function::kTranslate, kTextType, "ttt"},
    {"initcap", Function::kInitcap, kTextType, "t"},
    {"power", Function::kPower, kDoubleType, "dd"},
    {"pow", Function::kPower, kDoubleType, "dd"},
    {"sqrt", Function::kSqrt, kDoubleType, "d"},
    {"exp", Function::kExp, kDoubleType, "d"},
    {"ln", Function::kLn, kDoubleType, "d"},
    {"log10", Function::kLog10, kDoubleType, "d"},
    {"make_date", Function::kMakeDate, kDateType, "iii"},
    {"cbrt", Function::kCbrt, kDoubleType, "d"},
    {"sin", Function::kSin, kDoubleType, "d"},
    {"cos", Function::kCos, kDoubleType, "d"},
    {"tan", Function::kTan, kDoubleType, "d"},
    {"cot", Function::kCot, kDoubleType, "d"},
    {"asin", Function::kAsin, kDoubleType, "d"},
    {"acos", Function::kAcos, kDoubleType, "d"},
    {"atan", Function::kAtan, kDoubleType, "d"},
    {"atan2", Function::kAtan2, kDoubleType, "dd"},
    {"sinh", Function::kSinh, kDoubleType, "d"},
    {"cosh", Function::kCosh, kDoubleType, "d"},
    {"tanh", Function::kTanh, kDoubleType, "d"},
    {"degrees", Function::kDegrees, kDoubleType, "d"},
    {"radians", Function::kRadians, kDoubleType, "d"},
    {"width_bucket", Function::kWidthBucket, kIntType, "dddi"},
    {"regexp_like", Function::kRegexLike, kBooleanType, "ttt", ""},
    {"md5", Function::kMd5, kTextType, "t"},
    {"justify_hours", Function::kJustifyHours, kIntervalType, "v"},
    {"justify_days", Function::kJustifyDays, kIntervalType, "v"},
    {"justify_interval", Function::kJustifyInterval, kIntervalType, "v"},
    {"date_bin", Function::kDateBin, kTimestampType, "vmm"},
    {"quote_ident", Function::kQuoteIdentifier, kTextType, "t"},
};

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
    auto number = argument_of(call, 'd', &argument);
    if (!number) return number.error();
    if ((*number)->nullable) {
      tests.push_back(
          fold(make_expression(ExpressionKind::kIsNotNull, kBooleanType, clone(**number))));
    }
    Expressions one;
    one.push_back(*std::move(number));
    quotient.push_back(make_function(Function::kLn, kDoubleType, std::move(one)));
  }
  std::swap(quotient[0], quotient[1]);
  ExpressionPtr result = make_expression(ExpressionKind::kDivide, kDoubleType, std::move(quotient));
  if (!tests.empty()) {
    result = make_case(conjunction(std::move(tests)), fold(std::move(result)));
  }
  return called(std::move(result), call.offset);
}

// A value as concat() writes it: a BOOLEAN as t or f.
ExpressionPtr written_text(ExpressionPtr value) {
  if (value->type.kind != TypeKind::kBoolean) return cast_to(std::move(value), kTextType);
  const auto text = [](const char* letter) {
    return make_literal(kTextType, base::Value(std::string(letter)));
  };
  Expressions choice;
  choice.push_back(clone(*value));
  choice.push_back(text("t"));
  choice.push_back(negated(std::move(value)));
  choice.push_back(text("f"));
  choice.push_back(make_null(kTextType));
  return fold(make_expression(ExpressionKind::kCase, kTextType, std::move(choice)));
}

// Halves of halves: within each other 100 texts would be 100 deep.
ExpressionPtr joined_texts(std::span<ExpressionPtr> texts) {
  if (texts.size() == 1) return std::move(texts[0]);
  const size_t half = texts.size() / 2;
  return fold(make_expression(ExpressionKind::kConcat, kTextType, joined_texts(texts.first(half)),
                              joined_texts(texts.subspan(half))));
}

// Texts of any values, NULL as nothing.
BoundResult bind_concat(Call call) {
  if (call.arguments.empty()) return call.wrong_count("1 argument or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    ExpressionPtr text = written_text(std::move(argument.expression));
    if (text->nullable) {
      text = fold(make_expression(ExpressionKind::kCoalesce, kTextType, std::move(text),
                                  make_literal(kTextType, base::Value(std::string()))));
    }
    texts.push_back(std::move(text));
  }
  return called(joined_texts(texts), call.offset);
}

BoundResult bind_concat_ws(Call call) {
  if (call.arguments.size() < 2) return call.wrong_count("2 arguments or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    texts.push_back(written_text(std::move(argument.expression)));
  }
  const bool nullable = texts[0]->nullable;
  ExpressionPtr result = make_function(Function::kConcatWs, kTextType, std::move(texts));
  result->nullable = nullable;
  return Bound{std::move(result), false, call.offset};
}

// format(template, values...): NULL where the template is.
BoundResult bind_format(Call call) {
  if (call.arguments.empty()) return call.wrong_count("1 argument or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    texts.push_back(written_text(std::move(argument.expression)));
  }
  if (!texts[0]->type.is_string()) return call.wrong_type(call.arguments[0]);
  const bool nullable = texts[0]->nullable;
  ExpressionPtr result = make_function(Function::kFormat, kTextType, std::move(texts));
  result->nullable = nullable;
  return Bound{std::move(result), false, call.offset};
}

// Of any value, as a cast to TEXT writes it; quote_nullable() makes NULL the word.
BoundResult bind_quote(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  Expressions value;
  value.push_back(cast_to(std::move(call.arguments[0].expression), kTextType));
  ExpressionPtr quoted = make_function(Function::kQuoteLiteral, kTextType, std::move(value));
  if (call.name == "quote_nullable") {
    quoted = make_expression(ExpressionKind::kCoalesce, kTextType, fold(std::move(quoted)),
                             make_literal(kTextType, base::Value(std::string("NULL"))));
  }
  return called(std::move(quoted), call.offset);
}

// Of two INTs an INT.
BoundResult bind_divisor(Call call, const Signature& signature) {
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const auto narrow = [](const Bound& argument) {
    return argument.untyped || argument.expression->type.kind == TypeKind::kInt;
  };
  const bool ints = narrow(call.arguments[0]) && narrow(call.arguments[1]);
  auto result = bind_signature(std::move(call), signature);
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
    // A text has as many digits as are written.
    auto adopted = adopt_type(call.source, decimal_type(1, 0), &argument);
    if (!adopted) return adopted.error();
    auto number = number_argument(call, &argument);
    if (!number) return number.error();
    if ((*number)->type.kind == TypeKind::kDouble) return call.wrong_type({*std::move(number)});
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

// overlay(text PLACING part FROM start [FOR length])
BoundResult bind_overlay(Call call) {
  if (call.arguments.size() == 3) {
    Expressions part;
    part.push_back(clone(*call.arguments[1].expression));
    call.arguments.push_back(
        {make_function(Function::kCharLength, kIntType, std::move(part)), false, call.offset});
  }
  return bind_signature(std::move(call), {"overlay", Function::kOverlay, kTextType, "ttii"});
}

const std::unordered_map<std::string_view, FunctionBinder>& binders() {
  static const std::unordered_map<std::string_view, FunctionBinder> kBinders = {
      {"substring", bind_substring},
      {"substr", bind_substring},
      {"ascii", bind_ascii},
      {"octet_length",
       [](Call c) { return bind_text_function(std::move(c), Function::kLength, kIntType); }},
      {"upper",
       [](Call c) { return bind_text_function(std::move(c), Function::kUpper, kTextType); }},
      {"lower",
       [](Call c) { return bind_text_function(std::move(c), Function::kLower, kTextType); }},
      {"abs", bind_abs},
      {"round", [](Call c) { return bind_round(std::move(c), Function::kRound); }},
      {"trunc", [](Call c) { return bind_round(std::move(c), Function::kTruncate); }},
      {"log", bind_log},
      {"sign", bind_sign},
      {"concat", bind_concat},
      {"concat_ws", bind_concat_ws},
      {"floor", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kFloor); }},
      {"ceil", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kCeil); }},
      {"ceiling", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kCeil); }},
      {"format", bind_format},
      {"quote_literal", bind_quote},
      {"quote_nullable", bind_quote},
      {"gcd",
       [](Call c) {
         return bind_divisor(std::move(c), {"gcd", Function::kGcd, kBigIntType, "ii"});
       }},
      {"lcm",
       [](Call c) {
         return bind_divisor(std::move(c), {"lcm", Function::kLcm, kBigIntType, "ii"});
       }},
      {"mod", bind_mod},
      {"div", bind_div},
      {"factorial", bind_factorial},
      {"pi", bind_pi},
      {"to_hex", bind_to_hex},
      {"overlay", bind_overlay},
  };
  return kBinders;
}

}  // namespace

bool is_function(std::string_view name) {
  return binders().contains(name) || find_date_function_binder(name) != nullptr ||
         find_regex_function_binder(name) != nullptr ||
         std::any_of(std::begin(kSignatures), std::end(kSignatures),
                     [&](const Signature& signature) { return signature.name == name; });
}

std::vector<std::string> function_names() {
  std::vector<std::string> names = date_function_names();
  for (const std::string_view name : kRegexFunctionNames) names.emplace_back(name);
  for (const Signature& signature : kSignatures) names.emplace_back(signature.name);
  for (const auto& [name, binder] : binders()) names.emplace_back(name);
  return names;
}

BoundResult bind_function(const SourceText& source, std::string_view name, int64_t offset,
                          std::vector<Bound> arguments) {
  for (const Signature& signature : kSignatures) {
    if (signature.name == name) {
      return bind_signature(FunctionCall{source, name, offset, std::move(arguments)}, signature);
    }
  }
  if (const FunctionBinder binder = find_date_function_binder(name)) {
    return binder(FunctionCall{source, name, offset, std::move(arguments)});
  }
  if (const FunctionBinder binder = find_regex_function_binder(name)) {
    return binder(FunctionCall{source, name, offset, std::move(arguments)});
  }
  const auto found = binders().find(name);
  DIPTYCH_CHECK(found != binders().end(), "the caller has asked is_function()");
  return found->second(FunctionCall{source, name, offset, std::move(arguments)});
}

}  // namespace diptych::olap
