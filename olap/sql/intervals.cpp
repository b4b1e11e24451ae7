// Intervals: parse_interval, micros_of, add_intervals and scale_interval of operators.h.

#include <algorithm>
#include <charconv>
#include <cmath>
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
    {"microsecond", {0, 0, 1}},
    {"us", {0, 0, 1}},
    {"millisecond", {0, 0, 1000}},
    {"ms", {0, 0, 1000}},
    {"second", {0, 0, 1'000'000}},
    {"sec", {0, 0, 1'000'000}},
    {"s", {0, 0, 1'000'000}},
    {"minute", {0, 0, 60'000'000}},
    {"min", {0, 0, 60'000'000}},
    {"m", {0, 0, 60'000'000}},
    {"hour", {0, 0, 3'600'000'000}},
    {"hr", {0, 0, 3'600'000'000}},
    {"h", {0, 0, 3'600'000'000}},
    {"day", {0, 1, 0}},
    {"d", {0, 1, 0}},
    {"week", {0, 7, 0}},
    {"w", {0, 7, 0}},
    {"month", {1, 0, 0}},
    {"mon", {1, 0, 0}},
    {"quarter", {3, 0, 0}},
    {"year", {12, 0, 0}},
    {"yr", {12, 0, 0}},
    {"y", {12, 0, 0}},
    {"decade", {120, 0, 0}},
    {"century", {1200, 0, 0}},
    {"centurie", {1200, 0, 0}},
};

const Interval* find_unit(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const IntervalUnit& unit : kIntervalUnits) {
    const bool plural = lower.size() == unit.name.size() + 1 && lower.back() == 's';
    if (lower == unit.name || (plural && lower.starts_with(unit.name))) return &unit.one;
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

constexpr int64_t kDaysOfMonth = 30;  // as PostgreSQL compares intervals, and divides them
constexpr int64_t kBillion = 1'000'000'000;

// "1.5" in billionths.
std::optional<int128_t> number_of(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const size_t point = std::min(digits.find('.'), digits.size());
  int64_t whole = 0;
  int64_t fraction = 0;
  const auto read = [](std::string_view part, int64_t* number) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *number);
    return error == std::errc() && end == part.data() + part.size() && *number >= 0;
  };
  std::string decimals(digits.substr(std::min(point + 1, digits.size())));
  if (point == 0 ? decimals.empty() : !read(digits.substr(0, point), &whole)) return std::nullopt;
  decimals.resize(9, '0');
  if (!read(decimals, &fraction)) return std::nullopt;
  const int128_t number = int128_t{whole} * kBillion + fraction;
  return negative ? -number : number;
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
  // Of a unit so many billionths. What is no whole month is days, except of years, and what is no
  // whole day is a time.
  void add_unit(const Interval& one, int128_t billionths) {
    const auto rounded = [](int128_t value) {
      return (value + (value < 0 ? -kBillion / 2 : kBillion / 2)) / kBillion;
    };
    int128_t of_months = one.months * billionths;
    if (one.months >= 12) of_months = rounded(of_months) * kBillion;
    months += of_months / kBillion;
    const int128_t of_days = one.days * billionths + of_months % kBillion * kDaysOfMonth;
    days += of_days / kBillion;
    micros += rounded(one.micros * billionths + of_days % kBillion * base::kMicrosPerDay);
  }
  void negate() {
    months = -months;
    days = -days;
    micros = -micros;
  }

  // As PostgreSQL keeps it, months and days in 32 bits; nullopt where it is beyond.
  std::optional<Interval> interval() const {
    const auto is_int = [](int128_t part) { return part == static_cast<int32_t>(part); };
    if (!is_int(months) || !is_int(days) || !fits_micros(micros)) return std::nullopt;
    return Interval{static_cast<int64_t>(months), static_cast<int64_t>(days),
                    static_cast<int64_t>(micros)};
  }
};

// What is no whole month becomes days, what is no whole day a time, to the microsecond.
std::optional<Interval> scaled(const Interval& interval, double factor) {
  const auto to_micros = [](double x) { return std::rint(x * 1e6) / 1e6; };
  const double months = static_cast<double>(interval.months) * factor;
  const double days = static_cast<double>(interval.days) * factor;
  const double days_of_months = to_micros((months - std::trunc(months)) * kDaysOfMonth);
  const double seconds =
      to_micros((days - std::trunc(days) + days_of_months - std::trunc(days_of_months)) * 86400);
  const double more_days = std::trunc(seconds / 86400);
  const double micros = std::rint(static_cast<double>(interval.micros) * factor +
                                  (seconds - more_days * 86400) * 1e6);
  constexpr double kMax = 1e18;  // what is beyond an interval is yet within 128 bits
  const double whole_days = std::trunc(days) + std::trunc(days_of_months) + more_days;
  if (!(std::abs(months) < kMax && std::abs(whole_days) < kMax && std::abs(micros) < kMax)) {
    return std::nullopt;
  }
  return Amounts{static_cast<int64_t>(months), static_cast<int64_t>(whole_days),
                 static_cast<int64_t>(micros)}
      .interval();
}

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
  const Interval& i = *interval.interval;
  const int128_t days = int128_t{i.months} * kDaysOfMonth + i.days;
  const int128_t micros = days * base::kMicrosPerDay + i.micros;
  if (!fits_micros(micros)) return out_of_range(source, interval.offset);
  ExpressionPtr constant = make_literal(kBigIntType, base::Value(static_cast<int64_t>(micros)));
  if (interval.times != nullptr) {
    constant = times_of(std::move(interval.times), static_cast<int64_t>(micros));
  }
  constexpr int64_t kMicrosOfMonth = kDaysOfMonth * base::kMicrosPerDay;
  return sum_of(sum_of(std::move(constant), times_of(std::move(interval.months), kMicrosOfMonth)),
                std::move(interval.expression));
}

base::Result<Interval> parse_interval(const SourceText& source, int64_t offset,
                                      std::string_view text, std::string_view default_unit) {
  const auto wrong = [&] {
    return source.wrong(offset,
                        fmt::format("\"{}\" is no INTERVAL: numbers with units are, as "
                                    "in '3 months' or '1 year 10 days'",
                                    text),
                        "22007");
  };
  Amounts amounts;
  std::string_view rest = text;
  if (next_word(&rest).empty()) return wrong();
  rest = text;
  for (std::string_view word = next_word(&rest); !word.empty(); word = next_word(&rest)) {
    std::string with_sign;
    if (word == "-" || word == "+") {
      with_sign = fmt::format("{}{}", word, next_word(&rest));
      word = with_sign;
    }
    if (const auto time = time_of_day(word)) {
      amounts.add({0, 0, *time}, 1);
      continue;
    }
    if (word == "ago" && word.data() != text.data() && next_word(&rest).empty()) {
      amounts.negate();
      break;
    }
    // "1 day", "1day", or a number alone: days before a time, else of the unit at the end.
    const size_t digits = std::min(word.find_first_not_of("+-.0123456789"), word.size());
    std::string_view unit_name = word.substr(digits);
    std::string_view next = rest;
    if (unit_name.empty() && time_of_day(next_word(&next))) {
      unit_name = "day";
    } else if (unit_name.empty()) {
      unit_name = next_word(&rest);
      if (unit_name.empty()) unit_name = default_unit;
    }
    const auto number = number_of(word.substr(0, digits));
    const Interval* unit = find_unit(unit_name);
    if (!number || unit == nullptr) return wrong();
    amounts.add_unit(*unit, *number);
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

BoundResult scale_interval(const SourceText& source, std::string_view name, int64_t offset,
                           Bound left, Bound right) {
  if (right.interval) std::swap(left, right);
  if (!is_constant_interval(left) || right.interval) {
    return source.unsupported(offset, "an INTERVAL that is no constant, times or by anything");
  }
  if (auto adopted = adopt_type(source, kDoubleType, &right); !adopted) return adopted.error();
  const base::Value& number = right.expression->literal;
  const auto* whole = std::get_if<int64_t>(&number);
  if (name == "*" && !is_literal(*right.expression) && is_integer(right.expression->type)) {
    left.times = cast_to(std::move(right.expression), kBigIntType);
    return left;
  }
  if (name == "*" && whole != nullptr) {
    Amounts amounts;
    amounts.add(*left.interval, *whole);
    left.interval = amounts.interval();
  } else {
    const auto value = base::convert_value(kDoubleType, number);
    if (!is_literal(*right.expression) || base::is_null(number) || !value) {
      return source.unsupported(offset, "an INTERVAL times or by anything but a constant number");
    }
    const double factor = std::get<double>(*value);
    if (name == "/" && factor == 0) return source.wrong(offset, "division by zero", "22012");
    left.interval = scaled(*left.interval, name == "/" ? 1 / factor : factor);
  }
  if (!left.interval) return out_of_range(source, offset);
  return left;
}

}  // namespace diptych::olap
