// Functions of dates, timestamps and intervals: find_date_function_binder of function_call.h.

#include <unordered_map>

#include "olap/sql/constant_folding.h"
#include "olap/sql/function_call.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;
using Call = FunctionCall;

// The field name of extract() and date_trunc(), lower case; empty where it is no text literal.
std::string field_name(const Bound& argument) {
  const auto* text = is_literal(*argument.expression)
                         ? std::get_if<std::string>(&argument.expression->literal)
                         : nullptr;
  if (text == nullptr) return {};
  std::string field = *text;
  for (char& c : field) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return field;
}

base::Error no_field(const Call& call, std::string_view field) {
  const Bound& written = call.arguments[0];
  if (!is_literal(*written.expression)) {
    return call.source.unsupported(written.offset,
                                   fmt::format("{}() of a field that is no constant", call.name));
  }
  const bool zone = field == "timezone" || field == "timezone_hour" || field == "timezone_minute";
  return call.source.wrong(written.offset, fmt::format("\"{}\" is no field of a date", field),
                           zone ? base::SqlState("0A000") : base::SqlState("22023"));
}

// Fields whose value may have a fraction: DECIMAL(24,6).
bool is_fractional(std::string_view field) {
  return field == "second" || field == "epoch" || field == "milliseconds";
}

// date_part takes a date as its midnight, and extract does not.
bool is_time_of_day(std::string_view field) {
  return field == "hour" || field == "minute" || field == "second" || field == "milliseconds" ||
         field == "microseconds";
}

// Plural and short names are the same fields.
std::string canonical_field(std::string field) {
  static const std::unordered_map<std::string_view, std::string_view> kNames = {
      {"us", "microseconds"},
      {"usec", "microseconds"},
      {"usecs", "microseconds"},
      {"usecond", "microseconds"},
      {"useconds", "microseconds"},
      {"microsecond", "microseconds"},
      {"ms", "milliseconds"},
      {"msec", "milliseconds"},
      {"msecs", "milliseconds"},
      {"msecond", "milliseconds"},
      {"mseconds", "milliseconds"},
      {"millisecond", "milliseconds"},
      {"s", "second"},
      {"sec", "second"},
      {"secs", "second"},
      {"seconds", "second"},
      {"m", "minute"},
      {"min", "minute"},
      {"mins", "minute"},
      {"minutes", "minute"},
      {"h", "hour"},
      {"hr", "hour"},
      {"hrs", "hour"},
      {"hours", "hour"},
      {"d", "day"},
      {"days", "day"},
      {"w", "week"},
      {"weeks", "week"},
      {"mon", "month"},
      {"mons", "month"},
      {"months", "month"},
      {"qtr", "quarter"},
      {"y", "year"},
      {"yr", "year"},
      {"yrs", "year"},
      {"years", "year"},
      {"dec", "decade"},
      {"decs", "decade"},
      {"decades", "decade"},
      {"c", "century"},
      {"cent", "century"},
      {"centuries", "century"},
      {"mil", "millennium"},
      {"mils", "millennium"},
      {"millennia", "millennium"}};
  const auto found = kNames.find(field);
  return found == kNames.end() ? field : std::string(found->second);
}

// The day's Julian number, and of a TIMESTAMP its time as a part of the day.
BoundResult bind_julian_day(const Call& call, ExpressionPtr moment) {
  constexpr int64_t kJulianOf1970 = 2'440'588;
  const auto between = [&](Function function, const DataType& type, ExpressionPtr to,
                           ExpressionPtr from) {
    Expressions both;
    both.push_back(std::move(to));
    both.push_back(std::move(from));
    return typed(make_function(function, type, std::move(both)), call.offset);
  };
  const bool is_date = moment->type == kDateType;
  ExpressionPtr date = fold(cast_to(clone(*moment), kDateType));
  Bound days = between(Function::kDaysBetween, kIntType, clone(*date),
                       make_literal(kDateType, base::Value(base::Date{0})));
  auto day = bind_operator(call.source, "+", call.offset, std::move(days),
                           typed(make_literal(kBigIntType, base::Value(kJulianOf1970)), -1));
  if (!day || is_date) return day;
  Bound time = between(Function::kMicrosBetween, kBigIntType, std::move(moment),
                       fold(cast_to(std::move(date), kTimestampType)));
  time.expression = cast_to(std::move(time.expression), decimal_type(19, 0));
  auto part = bind_operator(call.source, "/", call.offset, std::move(time),
                            typed(make_literal(kBigIntType, base::Value(base::kMicrosPerDay)), -1));
  if (!part) return part;
  return bind_operator(call.source, "+", call.offset, *std::move(day), *std::move(part));
}

BoundResult bind_extract(Call call) {
  static const std::unordered_map<std::string_view, Function> kFields = {
      {"year", Function::kExtractYear},
      {"quarter", Function::kExtractQuarter},
      {"month", Function::kExtractMonth},
      {"week", Function::kExtractWeek},
      {"day", Function::kExtractDay},
      {"isoyear", Function::kExtractIsoYear},
      {"decade", Function::kExtractDecade},
      {"century", Function::kExtractCentury},
      {"millennium", Function::kExtractMillennium},
      {"doy", Function::kExtractDayOfYear},
      {"dow", Function::kExtractDayOfWeek},
      {"isodow", Function::kExtractIsoDayOfWeek},
      {"hour", Function::kExtractHour},
      {"minute", Function::kExtractMinute},
      {"microseconds", Function::kExtractMicroseconds},
  };
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const std::string field = canonical_field(field_name(call.arguments[0]));
  const auto found = kFields.find(field);
  const bool is_julian = field == "julian";
  if (found == kFields.end() && !is_fractional(field) && !is_julian) {
    return no_field(call, field);
  }
  Expressions arguments;
  if (call.arguments[1].expression->type == kIntervalType) {
    arguments.push_back(std::move(call.arguments[1].expression));
  } else {
    auto moment = moment_argument(call, &call.arguments[1]);
    if (!moment) return moment.error();
    if (call.name == "extract" && (*moment)->type == kDateType && is_time_of_day(field)) {
      return call.source.wrong(call.offset, fmt::format("a date has no \"{}\"", field), "0A000");
    }
    if (is_julian) return bind_julian_day(call, *std::move(moment));
    if (found != kFields.end()) {
      arguments.push_back(*std::move(moment));
      return called(make_function(found->second, kBigIntType, std::move(arguments)), call.offset);
    }
    arguments.push_back(cast_to(*std::move(moment), kTimestampType));
  }
  arguments.push_back(make_literal(kTextType, base::Value(field)));
  ExpressionPtr value =
      make_function(Function::kExtractField, decimal_type(24, 6), std::move(arguments));
  if (is_fractional(field)) return called(std::move(value), call.offset);
  return called(cast_to(std::move(value), kBigIntType), call.offset);
}

// A DOUBLE, and of a date its midnight's; NULL of no field.
BoundResult bind_date_part(Call call) {
  if (call.arguments.size() == 2 && is_null_literal(*call.arguments[0].expression)) {
    return called(make_null(kDoubleType), call.offset);
  }
  auto part = bind_extract(std::move(call));
  if (!part) return part;
  return called(cast_to(std::move(part->expression), kDoubleType), part->offset);
}

BoundResult bind_truncated_interval(Call call, const std::string& field) {
  if (is_null_literal(*call.arguments[0].expression)) {
    return called(make_null(kIntervalType), call.offset);
  }
  // Weeks are refused where a value is truncated to them.
  static const std::unordered_map<std::string_view, base::Interval> kUnits = {
      {"millennium", {.months = 12'000}},
      {"century", {.months = 1200}},
      {"decade", {.months = 120}},
      {"year", {.months = 12}},
      {"quarter", {.months = 3}},
      {"month", {.months = 1}},
      {"week", {.days = 7}},
      {"day", {.days = 1}},
      {"hour", {.micros = base::kMicrosPerHour}},
      {"minute", {.micros = base::kMicrosPerMinute}},
      {"second", {.micros = base::kMicrosPerSecond}},
      {"milliseconds", {.micros = 1000}},
      {"microseconds", {.micros = 1}}};
  const auto unit = kUnits.find(field);
  if (unit == kUnits.end()) return no_field(call, field);
  Expressions arguments;
  arguments.push_back(std::move(call.arguments[1].expression));
  arguments.push_back(make_literal(kIntervalType, base::Value(unit->second)));
  return called(make_function(Function::kTruncateInterval, kIntervalType, std::move(arguments)),
                call.offset);
}

BoundResult bind_date_trunc(Call call) {
  static const std::unordered_map<std::string_view, Function> kDays = {
      {"millennium", Function::kTruncateMillennium},
      {"century", Function::kTruncateCentury},
      {"decade", Function::kTruncateDecade},
      {"year", Function::kTruncateYear},
      {"quarter", Function::kTruncateQuarter},
      {"month", Function::kTruncateMonth},
      {"week", Function::kTruncateWeek},
      {"day", Function::kTruncateDay}};
  static const std::unordered_map<std::string_view, Function> kTimes = {
      {"hour", Function::kTruncateHour},
      {"minute", Function::kTruncateMinute},
      {"second", Function::kTruncateSecond},
      {"milliseconds", Function::kTruncateMillisecond}};
  if (call.arguments.size() != 2) return call.wrong_count("2 arguments");
  const std::string field = canonical_field(field_name(call.arguments[0]));
  if (call.arguments[1].expression->type == kIntervalType) {
    return bind_truncated_interval(std::move(call), field);
  }
  auto moment = moment_argument(call, &call.arguments[1]);
  if (!moment) return moment.error();
  if (is_null_literal(*call.arguments[0].expression)) {
    return called(make_null(kTimestampType), call.offset);
  }
  if (const auto found = kDays.find(field); found != kDays.end()) {
    // Of a date, a date: fewer bytes, which SIMD computes.
    const DataType type = (*moment)->type;
    Expressions arguments;
    arguments.push_back(*std::move(moment));
    return called(cast_to(make_function(found->second, type, std::move(arguments)), kTimestampType),
                  call.offset);
  }
  ExpressionPtr timestamp = cast_to(*std::move(moment), kTimestampType);
  if (field == "microseconds") return called(std::move(timestamp), call.offset);
  const auto found = kTimes.find(field);
  if (found == kTimes.end()) return no_field(call, field);
  Expressions arguments;
  arguments.push_back(std::move(timestamp));
  return called(make_function(found->second, kTimestampType, std::move(arguments)), call.offset);
}

BoundResult bind_make_timestamp(Call call) {
  return bind_signature(std::move(call),
                        {"make_timestamp", Function::kMakeTimestamp, kTimestampType, "iiiiid"});
}

// age(to, from), or from until today: years and months, days and a time.
BoundResult bind_age(Call call) {
  if (call.arguments.size() == 1) {
    const auto day = base::Value(
        base::Date{static_cast<int32_t>(call.source.moment().micros / base::kMicrosPerDay)});
    call.arguments.insert(call.arguments.begin(), typed(make_literal(kDateType, day), call.offset));
  }
  if (call.arguments.size() != 2) return call.wrong_count("1 or 2 arguments");
  Expressions moments;
  for (Bound& argument : call.arguments) {
    auto moment = moment_argument(call, &argument);
    if (!moment) return moment.error();
    moments.push_back(fold(cast_to(*std::move(moment), kTimestampType)));
  }
  return called(make_function(Function::kAge, kIntervalType, std::move(moments)), call.offset);
}

// (a, b) OVERLAPS (c, d), in any order each; in the place of an end may stand a length.
BoundResult bind_overlaps(Call call) {
  using enum ExpressionKind;
  if (call.arguments.size() != 4) return call.wrong_count("two rows of two values");
  ExpressionPtr first[2];
  ExpressionPtr last[2];
  for (size_t side = 0; side < 2; ++side) {
    Bound& start = call.arguments[2 * side];
    Bound& end = call.arguments[2 * side + 1];
    auto moment = moment_argument(call, &start);
    if (!moment) return moment.error();
    start.expression = cast_to(*std::move(moment), kTimestampType);
    if (end.expression->type == kIntervalType) {
      auto sum = bind_operator(call.source, "+", call.offset, copy_of(start), std::move(end));
      if (!sum) return sum;
      end = *std::move(sum);
    }
    auto other = moment_argument(call, &end);
    if (!other) return other.error();
    Expressions both;
    both.push_back(std::move(start.expression));
    both.push_back(cast_to(*std::move(other), kTimestampType));
    // Where one of the two is unknown the other.
    const bool nullable = both[0]->nullable && both[1]->nullable;
    first[side] = make_function(Function::kLeast, kTimestampType, clone(both));
    first[side]->nullable = nullable;
    // Unknown where one of the two is.
    ExpressionPtr known =
        fold(make_expression(kEqual, kBooleanType, clone(*both[0]), clone(*both[1])));
    known = negated(fold(make_expression(kIsNull, kBooleanType, std::move(known))));
    last[side] =
        fold(make_case(std::move(known),
                       fold(make_function(Function::kGreatest, kTimestampType, std::move(both)))));
  }
  const auto compared = [](ExpressionKind kind, const ExpressionPtr& a, const ExpressionPtr& b) {
    return fold(make_expression(kind, kBooleanType, clone(*a), clone(*b)));
  };
  const auto both_of = [](ExpressionKind kind, ExpressionPtr a, ExpressionPtr b) {
    return fold(make_expression(kind, kBooleanType, std::move(a), std::move(b)));
  };
  // The one that begins later begins before the other ends. An end is never before its own start:
  // the second comparisons are false, or unknown where the end is.
  Expressions choice;
  choice.push_back(compared(kGreater, first[0], first[1]));
  choice.push_back(
      both_of(kOr, compared(kLess, first[0], last[1]), compared(kLess, last[0], first[1])));
  choice.push_back(compared(kLess, first[0], first[1]));
  choice.push_back(
      both_of(kOr, compared(kLess, first[1], last[0]), compared(kLess, last[1], first[0])));
  choice.push_back(compared(kEqual, first[0], first[1]));
  choice.push_back(both_of(kAnd, compared(kLessEqual, first[0], last[0]),
                           compared(kLessEqual, first[1], last[1])));
  choice.push_back(make_null(kBooleanType));
  return called(make_expression(kCase, kBooleanType, std::move(choice)), call.offset);
}

// There are no infinite ones.
BoundResult bind_isfinite(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  if (call.arguments[0].expression->type != kIntervalType) {
    auto moment = moment_argument(call, &call.arguments[0]);
    if (!moment) return moment.error();
    call.arguments[0].expression = *std::move(moment);
  }
  ExpressionPtr yes = make_literal(kBooleanType, base::Value(true));
  return called(make_case(is_known(*call.arguments[0].expression), std::move(yes)), call.offset);
}

BoundResult bind_now(Call call) {
  if (!call.arguments.empty()) return call.wrong_count("no argument");
  return called(current_timestamp(call.source), call.offset);
}

// to_timestamp(text, pattern), or of seconds since 1970.
BoundResult bind_to_timestamp(Call call) {
  if (call.arguments.size() != 1) {
    return bind_signature(std::move(call),
                          {"to_timestamp", Function::kToTimestamp, kTimestampType, "tt"});
  }
  auto seconds = number_argument(call, &call.arguments[0]);
  if (!seconds) return seconds.error();
  if (!is_integer((*seconds)->type)) {
    Expressions argument;
    argument.push_back(cast_to(*std::move(seconds), kDoubleType));
    return called(make_function(Function::kSecondsAsTimestamp, kTimestampType, std::move(argument)),
                  call.offset);
  }
  // As a BIGINT: the product of two INTs ends at 2,147 seconds.
  Bound million =
      typed(make_literal(kBigIntType, base::Value(base::kMicrosPerSecond)), call.offset);
  auto micros = bind_operator(call.source, "*", call.offset,
                              typed(*std::move(seconds), call.offset), std::move(million));
  if (!micros) return micros;
  Expressions arguments;
  arguments.push_back(make_literal(kTimestampType, base::Value(base::Timestamp{0})));
  arguments.push_back(cast_to(std::move(micros->expression), kBigIntType));
  return called(make_function(Function::kAddMicros, kTimestampType, std::move(arguments)),
                call.offset);
}

BoundResult bind_to_date(Call call) {
  auto moment =
      bind_signature(std::move(call), {"to_date", Function::kToTimestamp, kTimestampType, "tt"});
  if (!moment) return moment;
  return typed(cast_to(std::move(moment->expression), kDateType), moment->offset);
}

// Of a moment or an interval, NULL where the pattern is empty, or of a number.
BoundResult bind_to_char(Call call) {
  const bool number = call.arguments.size() == 2 && is_numeric(call.arguments[0].expression->type);
  if (!number) {
    if (call.arguments.size() == 2 && call.arguments[1].expression->type.is_string()) {
      ExpressionPtr& pattern = call.arguments[1].expression;
      pattern = fold(make_expression(ExpressionKind::kNullIf, kTextType, std::move(pattern),
                                     make_literal(kTextType, base::Value(std::string()))));
    }
    const bool span =
        !call.arguments.empty() && call.arguments[0].expression->type == kIntervalType;
    if (span) {
      return bind_signature(std::move(call),
                            {"to_char", Function::kToCharInterval, kTextType, "vt"});
    }
    return bind_signature(std::move(call), {"to_char", Function::kToChar, kTextType, "mt"});
  }
  ExpressionPtr& value = call.arguments[0].expression;
  const bool exact = value->type.kind != TypeKind::kDouble;
  Expressions arguments;
  arguments.push_back(exact ? cast_to(std::move(value), kTextType) : std::move(value));
  auto pattern = text_argument(call, &call.arguments[1]);
  if (!pattern) return pattern.error();
  arguments.push_back(*std::move(pattern));
  const Function function = exact ? Function::kToCharNumber : Function::kToCharDouble;
  return called(make_function(function, kTextType, std::move(arguments)), call.offset);
}

const std::unordered_map<std::string_view, FunctionBinder>& binders_of_dates() {
  static const std::unordered_map<std::string_view, FunctionBinder> kBinders = {
      {"age", bind_age},
      {"isfinite", bind_isfinite},
      {"now", bind_now},
      {"transaction_timestamp", bind_now},
      {"statement_timestamp", bind_now},
      {"extract", bind_extract},
      {"date_part", bind_date_part},
      {"overlaps", bind_overlaps},
      {"date_trunc", bind_date_trunc},
      {"to_timestamp", bind_to_timestamp},
      {"to_date", bind_to_date},
      {"to_char", bind_to_char},
      {"make_timestamp", bind_make_timestamp},
  };
  return kBinders;
}

}  // namespace

FunctionBinder find_date_function_binder(std::string_view name) {
  const auto found = binders_of_dates().find(name);
  return found == binders_of_dates().end() ? nullptr : found->second;
}

std::vector<std::string> date_function_names() {
  std::vector<std::string> names;
  for (const auto& [name, binder] : binders_of_dates()) names.emplace_back(name);
  return names;
}

ExpressionPtr current_timestamp(const SourceText& source) {
  return make_literal(kTimestampType, base::Value(source.moment()));
}

}  // namespace diptych::olap
