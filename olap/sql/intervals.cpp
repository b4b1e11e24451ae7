// Intervals: parse_interval, micros_of, add_intervals and multiply_interval of operators.h.

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/operators.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::int128_t;

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

base::Error out_of_range(const SourceText& source, int64_t offset) {
  return source.wrong(offset, "interval out of range", "22008");
}

// Also what can be negated.
bool fits_micros(int128_t micros) {
  constexpr int128_t kMicrosMax = std::numeric_limits<int64_t>::max();
  return micros <= kMicrosMax && micros >= -kMicrosMax;
}

// The parts of an interval while they are summed up.
struct Amounts {
  int128_t months = 0;
  int128_t days = 0;
  int128_t micros = 0;

  void add(const Interval& one, int64_t times) {
    months += int128_t{one.months} * times;
    days += int128_t{one.days} * times;
    micros += int128_t{one.micros} * times;
  }

  // As PostgreSQL keeps it, months and days in 32 bits; nullopt where it is beyond.
  std::optional<Interval> interval() const {
    const auto is_int = [](int128_t part) { return part == static_cast<int32_t>(part); };
    if (!is_int(months) || !is_int(days) || !fits_micros(micros)) return std::nullopt;
    return Interval{static_cast<int64_t>(months), static_cast<int64_t>(days),
                    static_cast<int64_t>(micros)};
  }
};

// Of BIGINTs, of which any is nullptr where there is none of it.
ExpressionPtr sum_of(ExpressionPtr a, ExpressionPtr b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  return fold(make_expression(ExpressionKind::kAdd, kBigIntType, std::move(a), std::move(b)));
}

ExpressionPtr times_of(ExpressionPtr amount, int64_t factor) {
  if (amount == nullptr || factor == 1) return amount;
  return fold(make_expression(ExpressionKind::kMultiply, kBigIntType, std::move(amount),
                              make_literal(kBigIntType, base::Value(factor))));
}

}  // namespace

base::Result<ExpressionPtr> micros_of(const SourceText& source, Bound interval) {
  constexpr int128_t kDaysOfMonth = 30;  // as PostgreSQL compares intervals
  const Interval& i = *interval.interval;
  const int128_t micros = (i.months * kDaysOfMonth + i.days) * base::kMicrosPerDay + i.micros;
  if (!fits_micros(micros)) return out_of_range(source, interval.offset);
  ExpressionPtr constant = make_literal(kBigIntType, base::Value(static_cast<int64_t>(micros)));
  if (interval.times != nullptr) {
    constant = times_of(std::move(interval.times), static_cast<int64_t>(micros));
  }
  constexpr int64_t kMicrosOfMonth = int64_t{kDaysOfMonth} * base::kMicrosPerDay;
  return sum_of(sum_of(std::move(constant), times_of(std::move(interval.months), kMicrosOfMonth)),
                std::move(interval.expression));
}

base::Result<Interval> parse_interval(const SourceText& source, int64_t offset,
                                      std::string_view text, std::string_view default_unit) {
  Amounts amounts;
  std::string_view rest = text;
  for (std::string_view word = next_word(&rest); !word.empty(); word = next_word(&rest)) {
    int64_t amount = 0;
    std::string with_sign;
    if (word == "-" || word == "+") {
      with_sign = fmt::format("{}{}", word, next_word(&rest));
      word = with_sign;
    }
    if (const auto time = time_of_day(word)) {
      amounts.add({0, 0, *time}, 1);
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
    if (!number || unit == nullptr) {
      return source.wrong(offset,
                          fmt::format("\"{}\" is no INTERVAL: numbers with units are, as "
                                      "in '3 months' or '1 year 10 days'",
                                      text),
                          "22007");
    }
    amounts.add(*unit, amount);
  }
  const auto interval = amounts.interval();
  if (!interval) {
    return source.wrong(offset, fmt::format("interval field value out of range: \"{}\"", text),
                        "22015");
  }
  return *interval;
}

BoundResult add_intervals(const SourceText& source, int64_t sign, Bound left, Bound right) {
  if (left.times != nullptr || right.times != nullptr) {
    return source.unsupported(left.offset, "a sum of an INTERVAL times a value");
  }
  Amounts amounts;
  amounts.add(*left.interval, 1);
  amounts.add(*right.interval, sign);
  left.interval = amounts.interval();
  if (!left.interval) return out_of_range(source, left.offset);
  left.expression = sum_of(std::move(left.expression), times_of(std::move(right.expression), sign));
  left.months = sum_of(std::move(left.months), times_of(std::move(right.months), sign));
  return left;
}

BoundResult multiply_interval(const SourceText& source, int64_t offset, Bound left, Bound right) {
  if (right.interval) std::swap(left, right);
  const auto* number = !right.interval && is_literal(*right.expression)
                           ? std::get_if<int64_t>(&right.expression->literal)
                           : nullptr;
  const bool constant = is_constant_interval(left);
  if (constant && !right.interval && number == nullptr && is_integer(right.expression->type)) {
    left.times = cast_to(std::move(right.expression), kBigIntType);
    return left;
  }
  if (!constant || number == nullptr) {
    return source.unsupported(offset, "an INTERVAL times anything but a whole number");
  }
  Amounts amounts;
  amounts.add(*left.interval, *number);
  left.interval = amounts.interval();
  if (!left.interval) return out_of_range(source, offset);
  return left;
}

}  // namespace diptych::olap
