// bind_cast, parse_interval and micros_of of operators.h.

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/operators.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

// True for the casts that plan.h lists, of anything but literals.
bool castable(const DataType& from, const DataType& to) {
  if (to.is_string() || from.is_string()) return true;
  const auto is_moment = [](const DataType& type) {
    return type.kind == TypeKind::kDate || type.kind == TypeKind::kTimestamp;
  };
  if (is_moment(from) || is_moment(to)) return is_moment(from) && is_moment(to);
  const bool from_truth = from.kind == TypeKind::kBoolean;
  const bool to_truth = to.kind == TypeKind::kBoolean;
  if (from_truth || to_truth) {
    return (from_truth && to.kind == TypeKind::kInt) || (to_truth && from.kind == TypeKind::kInt);
  }
  return true;
}

// The digits of NUMERIC without any: as many as the operand has.
DataType any_numeric(const Expression& operand) {
  if (is_integer(operand.type) || operand.type.kind == TypeKind::kDecimal) {
    return as_decimal(operand);
  }
  return decimal_type(kWideDecimalDigitsMax, kQuotientScale);
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

// "03:00" or "-1:02:03.5" in microseconds.
std::optional<int64_t> time_of_day(std::string_view word) {
  if (word.find(':') == std::string_view::npos) return std::nullopt;
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  const std::string padded =
      word.size() > 1 && word[1] == ':' ? "0" + std::string(word) : std::string(word);
  const auto moment = base::parse_timestamp("1970-01-01 " + padded);
  if (!moment) return std::nullopt;
  return negative ? -moment->micros : moment->micros;
}

}  // namespace

ExpressionPtr micros_of(Bound interval) {
  constexpr int64_t kDaysOfMonth = 30;  // as PostgreSQL compares intervals
  const Interval& i = *interval.interval;
  ExpressionPtr constant = make_literal(
      kBigIntType,
      base::Value((i.months * kDaysOfMonth + i.days) * base::kMicrosPerDay + i.micros));
  if (interval.times != nullptr) {
    constant = fold(make_expression(ExpressionKind::kMultiply, kBigIntType,
                                    std::move(interval.times), std::move(constant)));
  }
  if (interval.expression == nullptr) return constant;
  return fold(make_expression(ExpressionKind::kAdd, kBigIntType, std::move(interval.expression),
                              std::move(constant)));
}

BoundResult bind_cast(const SourceText& source, const DataType& written, int64_t offset,
                      Bound operand) {
  if (operand.interval) return source.unsupported(offset, "a cast of an INTERVAL");
  ExpressionPtr& e = operand.expression;
  const bool open = written.kind == TypeKind::kDecimal && written.precision == 0;
  if (open && e->type.kind == TypeKind::kDecimal) return operand;
  const DataType type = open ? any_numeric(*e) : written;
  if (is_null_literal(*e)) return Bound{make_null(type), std::nullopt, false, operand.offset};
  if (e->type == type) return Bound{std::move(e), std::nullopt, false, operand.offset};
  if (is_literal(*e)) {
    if (auto moment = named_moment(source, type, e->literal); moment && operand.untyped) {
      return Bound{make_literal(type, *std::move(moment)), std::nullopt, false, operand.offset};
    }
    if (auto value = base::convert_value(type, e->literal); value && !type.is_string()) {
      return Bound{make_literal(type, *std::move(value)), std::nullopt, false, operand.offset};
    } else if (!value && operand.untyped && !type.is_string()) {
      return source.wrong(operand.offset, value.error().message, "22P02");
    }
    if (e->type.is_string() && type.is_string()) {
      DataType whole = type;
      whole.length = 0;  // cut when it runs
      auto text = base::convert_value(type.length == 0 ? type : whole, e->literal);
      if (text && type.length != 0) {
        return Bound{
            make_expression(ExpressionKind::kCast, type, make_literal(whole, *std::move(text))),
            std::nullopt, false, operand.offset};
      }
      if (!text) return source.wrong(operand.offset, text.error().message, "22001");
      return Bound{make_literal(type, *std::move(text)), std::nullopt, false, operand.offset};
    }
  }
  if (!castable(e->type, type)) {
    return source.wrong(offset,
                        fmt::format("no cast from {} to {}", e->type.to_string(), type.to_string()),
                        "42846");
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
    std::string with_sign;
    if (word == "-" || word == "+") {
      with_sign = fmt::format("{}{}", word, next_word(&rest));
      word = with_sign;
    }
    if (const auto time = time_of_day(word)) {
      interval.micros += *time;
      continue;
    }
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
