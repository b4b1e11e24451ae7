// bind_function of operators.h.

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/operators.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

// One call being bound: what every function's rule needs.
struct Call {
  const SourceText& source;
  std::string_view name;
  int64_t offset;
  std::vector<Bound> arguments;

  base::Error wrong_type(const Bound& argument) const {
    return source.wrong(offset,
                        fmt::format("function {}() does not take {}", name, type_name_of(argument)),
                        "42883");
  }
  base::Error wrong_count(std::string_view expected) const {
    return source.wrong(
        offset, fmt::format("function {}() takes {}, not {}", name, expected, arguments.size()),
        "42883");
  }
};

BoundResult done(ExpressionPtr expression, int64_t offset) {
  return Bound{fold(std::move(expression)), std::nullopt, false, offset};
}

// The argument as text; untyped ones are texts already.
base::Result<ExpressionPtr> text_argument(const Call& call, Bound* argument) {
  if (argument->interval || !argument->expression->type.is_string()) {
    return call.wrong_type(*argument);
  }
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> integer_argument(const Call& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kBigIntType, argument); !adopted) {
    return adopted.error();
  }
  if (argument->interval || !is_integer(argument->expression->type)) {
    return call.wrong_type(*argument);
  }
  return cast_to(std::move(argument->expression), kBigIntType);
}

BoundResult bind_text_function(Call call, Function function, DataType type) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto text = text_argument(call, &call.arguments[0]);
  if (!text) return text.error();
  Expressions arguments;
  arguments.push_back(*std::move(text));
  return done(make_function(function, type, std::move(arguments)), call.offset);
}

BoundResult bind_substring(Call call) {
  if (call.arguments.size() < 2 || call.arguments.size() > 3) {
    return call.wrong_count("2 or 3 arguments");
  }
  Expressions arguments;
  auto text = text_argument(call, &call.arguments[0]);
  if (!text) return text.error();
  arguments.push_back(*std::move(text));
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    auto number = integer_argument(call, &call.arguments[i]);
    if (!number) return number.error();
    const auto* length = is_literal(**number) ? std::get_if<int64_t>(&(*number)->literal) : nullptr;
    if (i == 2 && length != nullptr && *length < 0) {
      return call.source.wrong(call.offset, "a substring's length is not negative", "22011");
    }
    arguments.push_back(*std::move(number));
  }
  // To the end of the text: a length that no text reaches.
  if (arguments.size() == 2) {
    arguments.push_back(make_literal(kBigIntType, base::Value(int64_t{INT32_MAX})));
  }
  return done(make_function(Function::kSubstring, kTextType, std::move(arguments)), call.offset);
}

base::Result<ExpressionPtr> number_argument(const Call& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kDoubleType, argument); !adopted) {
    return adopted.error();
  }
  if (argument->interval || !is_numeric(argument->expression->type)) {
    return call.wrong_type(*argument);
  }
  return std::move(argument->expression);
}

BoundResult bind_abs(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  const DataType type = (*number)->type;
  Expressions arguments;
  arguments.push_back(*std::move(number));
  return done(make_function(Function::kAbs, type, std::move(arguments)), call.offset);
}

BoundResult bind_floor_or_ceil(Call call, Function function) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  if (is_integer((*number)->type)) return done(*std::move(number), call.offset);
  DataType type = (*number)->type;
  if (type.kind == TypeKind::kDecimal) {
    // One digit more than before the point: 9.5 rounds up to 10.
    type = decimal_type(static_cast<unsigned>(type.precision - type.scale + 1), 0);
  }
  Expressions arguments;
  arguments.push_back(*std::move(number));
  return done(make_function(function, type, std::move(arguments)), call.offset);
}

BoundResult bind_round(Call call, Function function) {
  if (call.arguments.empty() || call.arguments.size() > 2) {
    return call.wrong_count("1 or 2 arguments");
  }
  int64_t digits = 0;
  if (call.arguments.size() == 2) {
    const Bound& argument = call.arguments[1];
    const auto* literal = argument.expression != nullptr && is_literal(*argument.expression)
                              ? std::get_if<int64_t>(&argument.expression->literal)
                              : nullptr;
    if (literal == nullptr || *literal < 0 || *literal > kWideDecimalDigitsMax) {
      return call.source.unsupported(argument.offset,
                                     "rounding to anything but a literal number of digits");
    }
    digits = *literal;
  }
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  DataType type = (*number)->type;
  if (is_integer(type) || (type.kind == TypeKind::kDecimal && digits >= type.scale)) {
    return done(*std::move(number), call.offset);  // nothing to round
  }
  if (type.kind == TypeKind::kDecimal) {
    type = decimal_type(static_cast<unsigned>(type.precision - type.scale + digits + 1),
                        static_cast<unsigned>(digits));
  }
  Expressions arguments;
  arguments.push_back(*std::move(number));
  arguments.push_back(make_literal(kBigIntType, base::Value(digits)));
  return done(make_function(function, type, std::move(arguments)), call.offset);
}

// The field name of extract() and date_trunc(), lower case; empty where it is no text literal.
std::string field_name(const Bound& argument) {
  const auto* text = argument.expression != nullptr && is_literal(*argument.expression)
                         ? std::get_if<std::string>(&argument.expression->literal)
                         : nullptr;
  if (text == nullptr) return {};
  std::string field = *text;
  for (char& c : field) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return field;
}

base::Result<ExpressionPtr> moment_argument(const Call& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kTimestampType, argument); !adopted) {
    return adopted.error();
  }
  const bool moment =
      !argument->interval && (argument->expression->type.kind == TypeKind::kDate ||
                              argument->expression->type.kind == TypeKind::kTimestamp);
  if (!moment) return call.wrong_type(*argument);
  return std::move(argument->expression);
}

// Fields whose value may have a fraction: DECIMAL(24,6).
bool is_fractional(std::string_view field) {
  return field == "second" || field == "epoch" || field == "milliseconds";
}

// Plural and short names are the same fields.
std::string canonical_field(std::string field) {
  static const std::unordered_map<std::string_view, std::string_view> kNames = {
      {"seconds", "second"},
      {"sec", "second"},
      {"minutes", "minute"},
      {"min", "minute"},
      {"hours", "hour"},
      {"days", "day"},
      {"weeks", "week"},
      {"months", "month"},
      {"mon", "month"},
      {"years", "year"},
      {"decades", "decade"},
      {"centuries", "century"},
      {"microsecond", "microseconds"},
      {"millisecond", "milliseconds"}};
  const auto found = kNames.find(field);
  return found == kNames.end() ? field : std::string(found->second);
}

BoundResult bind_extract_of_interval(const Call& call, const std::string& field, Bound interval) {
  if (field != "epoch" || interval.interval->months != 0) {
    return call.source.unsupported(call.offset, "a field of an INTERVAL other than epoch");
  }
  ExpressionPtr micros = micros_of(std::move(interval));
  ExpressionPtr units = cast_to(std::move(micros), decimal_type(19, 0));
  ExpressionPtr second =
      make_literal(decimal_type(7, 0), base::Value(base::DecimalValue{1'000'000, 0}));
  return done(make_expression(ExpressionKind::kDivide, decimal_type(kWideDecimalDigitsMax, 6),
                              cast_to(std::move(units), decimal_type(kWideDecimalDigitsMax, 0)),
                              cast_to(std::move(second), decimal_type(kWideDecimalDigitsMax, 0))),
              call.offset);
}

BoundResult bind_extract(Call call) {
  static const std::unordered_map<std::string_view, Function> kFields = {
      {"year", Function::kExtractYear},   {"quarter", Function::kExtractQuarter},
      {"month", Function::kExtractMonth}, {"day", Function::kExtractDay},
      {"hour", Function::kExtractHour},   {"minute", Function::kExtractMinute},
  };
  static const std::unordered_set<std::string_view> kOthers = {
      "second", "epoch",   "milliseconds", "microseconds", "dow",     "isodow",
      "doy",    "isoyear", "week",         "decade",       "century", "millennium"};
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const std::string field = canonical_field(field_name(call.arguments[0]));
  if (call.arguments[1].interval) {
    return bind_extract_of_interval(call, field, std::move(call.arguments[1]));
  }
  auto moment = moment_argument(call, &call.arguments[1]);
  if (!moment) return moment.error();
  Expressions arguments;
  if (const auto found = kFields.find(field); found != kFields.end()) {
    arguments.push_back(*std::move(moment));
    return done(make_function(found->second, kBigIntType, std::move(arguments)), call.offset);
  }
  if (!kOthers.contains(field)) {
    return call.source.wrong(call.offset, fmt::format("\"{}\" is no field of a date", field),
                             "22023");
  }
  arguments.push_back(cast_to(*std::move(moment), kTimestampType));
  arguments.push_back(make_literal(kTextType, base::Value(field)));
  ExpressionPtr value =
      make_function(Function::kExtractField, decimal_type(24, 6), std::move(arguments));
  if (is_fractional(field)) return done(std::move(value), call.offset);
  return done(cast_to(std::move(value), kBigIntType), call.offset);
}

BoundResult bind_date_trunc(Call call) {
  static const std::unordered_map<std::string_view, Function> kFields = {
      {"year", Function::kTruncateYear},
      {"month", Function::kTruncateMonth},
      {"day", Function::kTruncateDay},
  };
  static const std::unordered_set<std::string_view> kOthers = {
      "microseconds", "milliseconds", "second", "minute",  "hour",
      "week",         "quarter",      "decade", "century", "millennium"};
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const std::string field = canonical_field(field_name(call.arguments[0]));
  auto moment = moment_argument(call, &call.arguments[1]);
  if (!moment) return moment.error();
  Expressions arguments;
  arguments.push_back(cast_to(*std::move(moment), kTimestampType));
  if (const auto found = kFields.find(field); found != kFields.end()) {
    return done(make_function(found->second, kTimestampType, std::move(arguments)), call.offset);
  }
  if (!kOthers.contains(field)) {
    return call.source.wrong(call.offset, fmt::format("\"{}\" is no field of a date", field),
                             "22023");
  }
  arguments.push_back(make_literal(kTextType, base::Value(field)));
  return done(make_function(Function::kTruncateField, kTimestampType, std::move(arguments)),
              call.offset);
}

// What the letters of a signature take.
base::Result<ExpressionPtr> argument_of(const Call& call, char kind, Bound* argument) {
  switch (kind) {
    case 't': return text_argument(call, argument);
    case 'i': return integer_argument(call, argument);
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

struct Signature {
  std::string_view name;
  Function function;
  DataType type;
  std::string_view arguments;  // a letter each: text, integer, double, moment
  std::string_view absent;     // the last text argument where it is left out
};

constexpr Signature kSignatures[] = {
    {"length", Function::kCharLength, kIntType, "t", {}},
    {"char_length", Function::kCharLength, kIntType, "t", {}},
    {"character_length", Function::kCharLength, kIntType, "t", {}},
    {"position", Function::kPosition, kIntType, "tt", {}},
    {"strpos", Function::kPosition, kIntType, "tt", {}},
    {"replace", Function::kReplace, kTextType, "ttt", {}},
    {"lpad", Function::kLeftPad, kTextType, "tit", " "},
    {"rpad", Function::kRightPad, kTextType, "tit", " "},
    {"left", Function::kLeft, kTextType, "ti", {}},
    {"right", Function::kRight, kTextType, "ti", {}},
    {"reverse", Function::kReverse, kTextType, "t", {}},
    {"repeat", Function::kRepeat, kTextType, "ti", {}},
    {"split_part", Function::kSplitPart, kTextType, "tti", {}},
    {"btrim", Function::kTrimBoth, kTextType, "tt", " "},
    {"ltrim", Function::kTrimLeft, kTextType, "tt", " "},
    {"rtrim", Function::kTrimRight, kTextType, "tt", " "},
    {"starts_with", Function::kStartsWith, kBooleanType, "tt", {}},
    {"chr", Function::kChr, kTextType, "i", {}},
    {"translate", Function::kTranslate, kTextType, "ttt", {}},
    {"initcap", Function::kInitcap, kTextType, "t", {}},
    {"power", Function::kPower, kDoubleType, "dd", {}},
    {"pow", Function::kPower, kDoubleType, "dd", {}},
    {"sqrt", Function::kSqrt, kDoubleType, "d", {}},
    {"exp", Function::kExp, kDoubleType, "d", {}},
    {"ln", Function::kLn, kDoubleType, "d", {}},
    {"log10", Function::kLog10, kDoubleType, "d", {}},
    {"sign", Function::kSign, kDoubleType, "d", {}},
    {"make_date", Function::kMakeDate, kDateType, "iii", {}},
    {"to_char", Function::kToChar, kTextType, "mt", {}},
};

BoundResult bind_signature(Call call, const Signature& signature) {
  const size_t wanted = signature.arguments.size();
  const bool optional = !signature.absent.empty();
  if (optional && call.arguments.size() + 1 == wanted) {
    call.arguments.push_back({make_literal(kTextType, base::Value(std::string(signature.absent))),
                              std::nullopt, false, call.offset});
  }
  if (call.arguments.size() != wanted) {
    return call.wrong_count(fmt::format("{}{} arguments", wanted, optional ? " or one fewer" : ""));
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
    return done(make_function(Function::kTrim, kTextType, std::move(arguments)), call.offset);
  }
  return done(make_function(signature.function, signature.type, std::move(arguments)), call.offset);
}

// log(x) is decadic; log(b, x) to the base b.
BoundResult bind_log(Call call) {
  if (call.arguments.size() == 2) {
    Expressions quotient;
    for (Bound& argument : call.arguments) {
      auto number = argument_of(call, 'd', &argument);
      if (!number) return number.error();
      Expressions one;
      one.push_back(*std::move(number));
      quotient.push_back(make_function(Function::kLn, kDoubleType, std::move(one)));
    }
    std::swap(quotient[0], quotient[1]);
    return done(make_expression(ExpressionKind::kDivide, kDoubleType, std::move(quotient)),
                call.offset);
  }
  return bind_signature(std::move(call), {"log", Function::kLog10, kDoubleType, "d", {}});
}

// Texts of any values, NULL as nothing.
BoundResult bind_concat(Call call) {
  if (call.arguments.empty()) return call.wrong_count("1 argument or more");
  ExpressionPtr result;
  for (Bound& argument : call.arguments) {
    if (argument.interval) return call.wrong_type(argument);
    ExpressionPtr text = cast_to(std::move(argument.expression), kTextType);
    if (text->nullable) {
      text = fold(make_expression(ExpressionKind::kCoalesce, kTextType, std::move(text),
                                  make_literal(kTextType, base::Value(std::string()))));
    }
    result = result == nullptr ? std::move(text)
                               : fold(make_expression(ExpressionKind::kConcat, kTextType,
                                                      std::move(result), std::move(text)));
  }
  return done(std::move(result), call.offset);
}

BoundResult bind_concat_ws(Call call) {
  if (call.arguments.size() < 2) return call.wrong_count("2 arguments or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    if (argument.interval) return call.wrong_type(argument);
    texts.push_back(cast_to(std::move(argument.expression), kTextType));
  }
  const bool nullable = texts[0]->nullable;
  ExpressionPtr result = make_function(Function::kConcatWs, kTextType, std::move(texts));
  result->nullable = nullable;
  return Bound{std::move(result), std::nullopt, false, call.offset};
}

BoundResult bind_now(Call call) {
  if (!call.arguments.empty()) return call.wrong_count("no argument");
  return done(current_timestamp(), call.offset);
}

BoundResult bind_mod(Call call) {
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  return bind_operator(call.source, "%", call.offset, std::move(call.arguments[0]),
                       std::move(call.arguments[1]));
}

using Binder = BoundResult (*)(Call);

const std::unordered_map<std::string_view, Binder>& binders() {
  static const std::unordered_map<std::string_view, Binder> kBinders = {
      {"substring", bind_substring},
      {"substr", bind_substring},
      {"ascii",
       [](Call c) { return bind_text_function(std::move(c), Function::kAscii, kIntType); }},
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
      {"concat", bind_concat},
      {"concat_ws", bind_concat_ws},
      {"now", bind_now},
      {"transaction_timestamp", bind_now},
      {"statement_timestamp", bind_now},
      {"floor", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kFloor); }},
      {"ceil", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kCeil); }},
      {"ceiling", [](Call c) { return bind_floor_or_ceil(std::move(c), Function::kCeil); }},
      {"extract", bind_extract},
      {"date_part", bind_extract},
      {"date_trunc", bind_date_trunc},
      {"mod", bind_mod},
  };
  return kBinders;
}

}  // namespace

ExpressionPtr current_timestamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return make_literal(kTimestampType,
                      base::Value(base::Timestamp{
                          std::chrono::duration_cast<std::chrono::microseconds>(now).count()}));
}

BoundResult bind_function(const SourceText& source, std::string_view name, int64_t offset,
                          std::vector<Bound> arguments) {
  for (const Signature& signature : kSignatures) {
    if (signature.name == name) {
      return bind_signature(Call{source, name, offset, std::move(arguments)}, signature);
    }
  }
  const auto found = binders().find(name);
  if (found == binders().end()) {
    base::Error unknown = source.unsupported(offset, fmt::format("function {}()", name));
    unknown.state = "42883";
    return unknown;
  }
  return found->second(Call{source, name, offset, std::move(arguments)});
}

}  // namespace diptych::olap
