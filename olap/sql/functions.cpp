// bind_function, bind_cast and parse_interval of operators.h.

#include <algorithm>
#include <charconv>
#include <unordered_map>

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
  const DataType type = is_integer((*number)->type) ? kBigIntType : (*number)->type;
  Expressions arguments;
  arguments.push_back(cast_to(*std::move(number), type));
  return done(make_function(Function::kAbs, type, std::move(arguments)), call.offset);
}

BoundResult bind_floor_or_ceil(Call call, Function function) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto number = number_argument(call, &call.arguments[0]);
  if (!number) return number.error();
  if (is_integer((*number)->type)) {
    return done(cast_to(*std::move(number), kBigIntType), call.offset);
  }
  DataType type = (*number)->type;
  if (type.kind == TypeKind::kDecimal) {
    // One digit more than before the point: 9.5 rounds up to 10.
    type = decimal_type(static_cast<unsigned>(type.precision - type.scale + 1), 0);
  }
  Expressions arguments;
  arguments.push_back(*std::move(number));
  return done(make_function(function, type, std::move(arguments)), call.offset);
}

BoundResult bind_round(Call call) {
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
                                     "round() to anything but a literal number of digits");
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
  return done(make_function(Function::kRound, type, std::move(arguments)), call.offset);
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

BoundResult bind_extract(Call call) {
  static const std::unordered_map<std::string_view, Function> kFields = {
      {"year", Function::kExtractYear},     {"quarter", Function::kExtractQuarter},
      {"month", Function::kExtractMonth},   {"day", Function::kExtractDay},
      {"hour", Function::kExtractHour},     {"minute", Function::kExtractMinute},
      {"second", Function::kExtractSecond},
  };
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const std::string field = field_name(call.arguments[0]);
  const auto found = kFields.find(field);
  if (found == kFields.end()) {
    return call.source.unsupported(call.offset, fmt::format("extracting \"{}\"", field));
  }
  auto moment = moment_argument(call, &call.arguments[1]);
  if (!moment) return moment.error();
  Expressions arguments;
  arguments.push_back(*std::move(moment));
  return done(make_function(found->second, kBigIntType, std::move(arguments)), call.offset);
}

BoundResult bind_date_trunc(Call call) {
  static const std::unordered_map<std::string_view, Function> kFields = {
      {"year", Function::kTruncateYear},
      {"month", Function::kTruncateMonth},
      {"day", Function::kTruncateDay},
  };
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const std::string field = field_name(call.arguments[0]);
  const auto found = kFields.find(field);
  if (found == kFields.end()) {
    return call.source.unsupported(call.offset, fmt::format("truncating to \"{}\"", field));
  }
  auto moment = moment_argument(call, &call.arguments[1]);
  if (!moment) return moment.error();
  Expressions arguments;
  arguments.push_back(cast_to(*std::move(moment), kTimestampType));
  return done(make_function(found->second, kTimestampType, std::move(arguments)), call.offset);
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
       [](Call c) { return bind_text_function(std::move(c), Function::kAscii, kBigIntType); }},
      {"length",
       [](Call c) { return bind_text_function(std::move(c), Function::kLength, kBigIntType); }},
      {"octet_length",
       [](Call c) { return bind_text_function(std::move(c), Function::kLength, kBigIntType); }},
      {"upper",
       [](Call c) { return bind_text_function(std::move(c), Function::kUpper, kTextType); }},
      {"lower",
       [](Call c) { return bind_text_function(std::move(c), Function::kLower, kTextType); }},
      {"btrim",
       [](Call c) { return bind_text_function(std::move(c), Function::kTrim, kTextType); }},
      {"abs", bind_abs},
      {"round", bind_round},
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

// True for the casts that plan.h lists, of anything but literals.
bool castable(const DataType& from, const DataType& to) {
  if (to.is_string()) {
    return to.length == 0 || (from.is_string() && from.length != 0 && from.length <= to.length);
  }
  switch (from.kind) {
    case TypeKind::kInt: return is_numeric(to);
    case TypeKind::kBigInt: return is_numeric(to) && to.kind != TypeKind::kInt;
    case TypeKind::kDecimal: return to.kind == TypeKind::kDecimal || to.kind == TypeKind::kDouble;
    case TypeKind::kDate: return to.kind == TypeKind::kTimestamp;
    default: return false;
  }
}

struct IntervalUnit {
  std::string_view name;
  Interval one;
};

constexpr IntervalUnit kIntervalUnits[] = {
    {"year", {12, 0, 0}},
    {"quarter", {3, 0, 0}},
    {"month", {1, 0, 0}},
    {"mon", {1, 0, 0}},
    {"week", {0, 7, 0}},
    {"day", {0, 1, 0}},
    {"hour", {0, 0, 3'600'000'000}},
    {"minute", {0, 0, 60'000'000}},
    {"second", {0, 0, 1'000'000}},
};

const Interval* find_unit(std::string_view name) {
  for (const IntervalUnit& unit : kIntervalUnits) {
    const bool plural = name.size() == unit.name.size() + 1 && name.back() == 's';
    if (name == unit.name || (plural && name.starts_with(unit.name))) return &unit.one;
  }
  return nullptr;
}

std::string_view next_word(std::string_view* text) {
  while (text->starts_with(' ')) text->remove_prefix(1);
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(word.size());
  return word;
}

}  // namespace

BoundResult bind_function(const SourceText& source, std::string_view name, int64_t offset,
                          std::vector<Bound> arguments) {
  const auto found = binders().find(name);
  if (found == binders().end()) {
    return source.unsupported(offset, fmt::format("function {}()", name));
  }
  return found->second(Call{source, name, offset, std::move(arguments)});
}

BoundResult bind_cast(const SourceText& source, const DataType& type, int64_t offset,
                      Bound operand) {
  if (operand.interval) return source.unsupported(offset, "a cast of an INTERVAL");
  ExpressionPtr& e = operand.expression;
  if (is_null_literal(*e)) return Bound{make_null(type), std::nullopt, false, operand.offset};
  if (e->type == type) return Bound{std::move(e), std::nullopt, false, operand.offset};
  if (is_literal(*e)) {
    if (auto value = base::convert_value(type, e->literal); value && !type.is_string()) {
      return Bound{make_literal(type, *std::move(value)), std::nullopt, false, operand.offset};
    } else if (!value && operand.untyped) {
      return source.wrong(operand.offset, value.error().message, "22P02");
    }
    if (e->type.is_string() && type.is_string()) {
      auto text = base::convert_value(type, e->literal);
      if (!text) return source.wrong(operand.offset, text.error().message, "22001");
      return Bound{make_literal(type, *std::move(text)), std::nullopt, false, operand.offset};
    }
  }
  if (!castable(e->type, type)) {
    return source.unsupported(
        offset, fmt::format("a cast from {} to {}", e->type.to_string(), type.to_string()));
  }
  return Bound{make_expression(ExpressionKind::kCast, type, std::move(e)), std::nullopt, false,
               operand.offset};
}

base::Result<Interval> parse_interval(const SourceText& source, int64_t offset,
                                      std::string_view text, std::string_view default_unit) {
  constexpr int64_t kAmountMax = 1'000'000;
  Interval interval;
  std::string_view rest = text;
  for (std::string_view word = next_word(&rest); !word.empty(); word = next_word(&rest)) {
    int64_t amount = 0;
    if (word.size() > 1 && word.starts_with('+')) word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), amount);
    const bool number = error == std::errc() && end == word.data() + word.size();
    std::string_view unit_name = next_word(&rest);
    if (unit_name.empty()) unit_name = default_unit;
    std::string lower(unit_name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const Interval* unit = find_unit(lower);
    if (!number || unit == nullptr || amount > kAmountMax || amount < -kAmountMax) {
      return source.wrong(offset,
                          fmt::format("\"{}\" is no INTERVAL: numbers with units are, as "
                                      "in '3 months' or '1 year 10 days'",
                                      text),
                          "22007");
    }
    interval.months += amount * unit->months;
    interval.days += amount * unit->days;
    interval.micros += amount * unit->micros;
  }
  return interval;
}

}  // namespace diptych::olap
