#include "base/interval.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/quoted.h"
#include "base/types.h"

namespace diptych::base {
namespace {

constexpr int32_t kDaysOfMonth = 30;  // as intervals compare, and fractions of months are days
constexpr int64_t kBillion = 1'000'000'000;
constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;

struct Unit {
  std::string_view name;
  Interval one;
};

constexpr Unit kUnits[] = {
    {"microsecond", {0, 0, 1}},
    {"us", {0, 0, 1}},
    {"usec", {0, 0, 1}},
    {"usecond", {0, 0, 1}},
    {"millisecond", {0, 0, 1000}},
    {"ms", {0, 0, 1000}},
    {"msec", {0, 0, 1000}},
    {"msecond", {0, 0, 1000}},
    {"second", {0, 0, kMicrosPerSecond}},
    {"sec", {0, 0, kMicrosPerSecond}},
    {"s", {0, 0, kMicrosPerSecond}},
    {"minute", {0, 0, kMicrosPerMinute}},
    {"min", {0, 0, kMicrosPerMinute}},
    {"m", {0, 0, kMicrosPerMinute}},
    {"hour", {0, 0, kMicrosPerHour}},
    {"hr", {0, 0, kMicrosPerHour}},
    {"h", {0, 0, kMicrosPerHour}},
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
    {"dec", {120, 0, 0}},
    {"century", {1200, 0, 0}},
    {"cent", {1200, 0, 0}},
    {"c", {1200, 0, 0}},
    {"centurie", {1200, 0, 0}},
    {"millennium", {12'000, 0, 0}},
    {"millennia", {12'000, 0, 0}},
    {"mil", {12'000, 0, 0}},
};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

const Interval* find_unit(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const Unit& unit : kUnits) {
    const bool plural = lower.size() == unit.name.size() + 1 && lower.back() == 's';
    if (lower == unit.name || (plural && lower.starts_with(unit.name))) return &unit.one;
  }
  return nullptr;
}

// As in PostgreSQL, a comma or an at sign is as good as a blank: "1 day, 2 hours", "@ 1 day".
std::string_view next_word(std::string_view* text) {
  constexpr std::string_view kBlanks = " \t\r\n,;@";
  text->remove_prefix(std::min(text->find_first_not_of(kBlanks), text->size()));
  const std::string_view word = text->substr(0, text->find_first_of(kBlanks));
  text->remove_prefix(word.size());
  return word;
}

bool read_digits(std::string_view digits, int64_t* number) {
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return error == std::errc() && end == digits.data() + digits.size();
}

// Takes a sign off the text.
bool take_minus(std::string_view* text) {
  const bool minus = text->starts_with('-');
  if (minus || text->starts_with('+')) text->remove_prefix(1);
  return minus;
}

// "1.5" in billionths; what is finer is left out.
std::optional<int128_t> number_of(std::string_view digits) {
  const bool negative = take_minus(&digits);
  const size_t point = std::min(digits.find('.'), digits.size());
  int64_t whole = 0;
  int64_t fraction = 0;
  std::string decimals(digits.substr(std::min(point + 1, digits.size())));
  if (point == 0 ? decimals.empty() : !read_digits(digits.substr(0, point), &whole)) {
    return std::nullopt;
  }
  decimals.resize(9, '0');
  if (!read_digits(decimals, &fraction)) return std::nullopt;
  const int128_t number = int128_t{whole} * kBillion + fraction;
  return negative ? -number : number;
}

// value / 10^9, half to even.
int128_t of_billionths(int128_t value) {
  const int128_t whole = value / kBillion;
  const auto rest = static_cast<int64_t>(value < 0 ? -(value % kBillion) : value % kBillion);
  const bool up = rest > kBillion / 2 || (rest == kBillion / 2 && whole % 2 != 0);
  return whole + (!up ? 0 : value < 0 ? -1 : 1);
}

// "03:00", "-1:02:03.5" or, of minutes, "02:03.5", in microseconds.
std::optional<int128_t> time_of(std::string_view word, bool minutes_to_seconds) {
  const bool negative = take_minus(&word);
  const size_t colon = word.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  int64_t hours = 0;
  int64_t minutes = 0;
  if (!read_digits(word.substr(0, colon), &hours)) return std::nullopt;
  word.remove_prefix(colon + 1);
  const size_t second_colon = word.find(':');
  std::string_view seconds = word.substr(std::min(second_colon, word.size() - 1) + 1);
  const bool of_minutes = minutes_to_seconds || word.find('.') != std::string_view::npos;
  if (second_colon == std::string_view::npos && of_minutes) {
    minutes = std::exchange(hours, 0);
    seconds = word;
  } else if (!read_digits(word.substr(0, second_colon), &minutes)) {
    return std::nullopt;
  } else if (second_colon == std::string_view::npos) {
    seconds = "0";
  }
  const auto billionths = number_of(seconds);
  const bool is_time = billionths && seconds[0] >= '0' && seconds[0] <= '9' && minutes < 60 &&
                       *billionths <= 60 * int128_t{kBillion};
  if (!is_time) return std::nullopt;
  const int128_t micros = int128_t{hours} * kMicrosPerHour + minutes * kMicrosPerMinute +
                          of_billionths(*billionths * kMicrosPerSecond);
  return negative ? -micros : micros;
}

// Whether the word has the form of a time, even if its minutes or seconds are over 60.
bool has_time_form(std::string_view word) {
  take_minus(&word);
  const auto colons = std::count(word.begin(), word.end(), ':');
  return word.find_first_not_of("0123456789:.") == std::string_view::npos && !word.empty() &&
         word.front() != ':' && word.back() != ':' && (colons == 1 || colons == 2) &&
         word.find("::") == std::string_view::npos;
}

// "1-2": years and months.
std::optional<int128_t> months_of(std::string_view word) {
  const bool negative = take_minus(&word);
  const size_t dash = word.find('-');
  int64_t years = 0;
  int64_t months = 0;
  const bool both = dash != std::string_view::npos && read_digits(word.substr(0, dash), &years) &&
                    read_digits(word.substr(dash + 1), &months) && months < 12;
  if (!both) return std::nullopt;
  const int128_t total = int128_t{years} * 12 + months;
  return negative ? -total : total;
}

// Of a unit so many billionths. What is no whole month is days, except of years, and what is no
// whole day is a time.
void add_unit(const Interval& one, int128_t billionths, IntervalSum* sum) {
  int128_t of_months = one.months * billionths;
  if (one.months >= 12) of_months = of_billionths(of_months) * kBillion;
  sum->months += of_months / kBillion;
  const int128_t of_days = one.days * billionths + of_months % kBillion * kDaysOfMonth;
  sum->days += of_days / kBillion;
  sum->micros += of_billionths(one.micros * billionths + of_days % kBillion * kMicrosPerDay);
}

// Reads "1 day", "1day", times and "1-2" one by one.
class Reader {
 public:
  Reader(std::string_view text, const IntervalUnits& units) : rest_(text), units_(units) {}

  // Nothing where the text is no interval.
  std::optional<IntervalSum> read() {
    bool any = false;
    bool ago = false;
    for (std::string_view word = next_word(&rest_); !word.empty(); word = next_word(&rest_)) {
      if (any && !ago && lower_case(word) == "ago") {
        ago = true;  // of what follows, too
        continue;
      }
      std::string with_sign;
      if (word == "-" || word == "+") {
        with_sign = fmt::format("{}{}", word, next_word(&rest_));
        word = with_sign;
      }
      if (!read_one(word)) return std::nullopt;
      any = true;
    }
    if (!any) return std::nullopt;
    if (ago) return IntervalSum{-sum_.months, -sum_.days, -sum_.micros};
    return sum_;
  }

 private:
  bool read_one(std::string_view word) {
    if (const auto time = time_of(word, units_.minutes_to_seconds)) {
      sum_.micros += *time;
      return !std::exchange(has_time_, true) && !has_time_unit_;
    }
    if (const auto months = months_of(word)) {
      sum_.months += *months;
      return true;
    }
    // A number alone is of days before a time or a number of hours, else of the unit at the end.
    const size_t digits = std::min(word.find_first_not_of("+-.0123456789"), word.size());
    std::string_view unit_name = word.substr(digits);
    std::string_view next = rest_;
    if (unit_name.empty() && is_of_hours(next_word(&next), next)) {
      unit_name = "day";
    } else if (unit_name.empty()) {
      unit_name = next_word(&rest_);
      if (unit_name.empty()) unit_name = units_.last;
    }
    const auto number = number_of(word.substr(0, digits));
    const Interval* const unit = find_unit(unit_name);
    if (!number || unit == nullptr) return false;
    const auto bit = uint64_t{1} << first_of(*unit);
    if ((seen_ & bit) != 0) return false;
    seen_ |= bit;
    has_time_unit_ |= unit->micros != 0;
    if (has_time_ && has_time_unit_) return false;
    add_unit(*unit, *number, &sum_);
    return true;
  }

  bool is_of_hours(std::string_view word, std::string_view rest) const {
    if (time_of(word, units_.minutes_to_seconds)) return true;
    return units_.last == "hour" && number_of(word) && next_word(&rest).empty();
  }

  // The place of the unit among all, by whatever name.
  static uint32_t first_of(const Interval& one) {
    const auto* const found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                           [&](const Unit& unit) { return unit.one == one; });
    return static_cast<uint32_t>(found - kUnits);
  }
  static_assert(std::size(kUnits) <= 64, "seen_ has a bit for each");

  std::string_view rest_;
  IntervalUnits units_;
  IntervalSum sum_;
  uint64_t seen_ = 0;  // units
  bool has_time_ = false;
  bool has_time_unit_ = false;  // then a time would say it twice
};

// "1-13", or a number of more digits than any unit has.
bool has_form_but_no_value(std::string_view word) {
  if (has_time_form(word)) return !time_of(word, false);
  take_minus(&word);
  int64_t number = 0;
  const size_t end = std::min(word.find_first_not_of("0123456789"), word.size());
  if (end == 0) return false;
  if (!read_digits(word.substr(0, end), &number)) return true;
  return end < word.size() && word[end] == '-' && read_digits(word.substr(end + 1), &number) &&
         number >= 12;
}

bool has_wrong_number(std::string_view text) {
  for (std::string_view word = next_word(&text); !word.empty(); word = next_word(&text)) {
    if (has_form_but_no_value(word)) return true;
  }
  return false;
}

Error out_of_range(std::string_view text) {
  return {ErrorCode::kInvalidArgument, "22015",
          fmt::format("interval field value out of range: {}", quoted(text))};
}

// "P1Y2M3DT4H5M6S" without its P.
std::optional<IntervalSum> read_designators(std::string_view text) {
  IntervalSum sum;
  bool in_time = false;
  bool any = false;
  while (!text.empty()) {
    if (text[0] == 'T' && !in_time) {
      in_time = true;
      text.remove_prefix(1);
      continue;
    }
    const size_t digits = std::min(text.find_first_not_of("+-.0123456789"), text.size());
    const auto number = number_of(text.substr(0, digits));
    if (!number || digits == text.size()) return std::nullopt;
    const char letter = text[digits];
    const std::string_view name = letter == 'Y' && !in_time   ? "year"
                                  : letter == 'M' && !in_time ? "month"
                                  : letter == 'W' && !in_time ? "week"
                                  : letter == 'D' && !in_time ? "day"
                                  : letter == 'H' && in_time  ? "hour"
                                  : letter == 'M' && in_time  ? "minute"
                                  : letter == 'S' && in_time  ? "second"
                                                              : "";
    if (name.empty()) return std::nullopt;
    add_unit(*find_unit(name), *number, &sum);
    text.remove_prefix(digits + 1);
    any = true;
  }
  if (!any) return std::nullopt;
  return sum;
}

// "0001-02-03T04:05:06", the other form of ISO 8601, as "0001Y02M03DT04H05M06S"; any other text as
// it is.
std::string with_designators(std::string_view text) {
  const size_t time = std::min(text.find('T'), text.size());
  const std::string_view date = text.substr(0, time);
  const bool alternative = date.empty() ? text.find(':') != std::string_view::npos
                                        : date.find('-', 1) != std::string_view::npos;
  if (!alternative || text.find_first_not_of("-.:0123456789T") != std::string_view::npos) {
    return std::string(text);
  }
  std::string result;
  const auto append = [&](std::string_view numbers, char separator, std::string_view letters) {
    for (const char letter : letters) {
      if (numbers.empty()) return;
      const size_t end = std::min(numbers.find(separator, 1), numbers.size());
      result += numbers.substr(0, end);
      result += letter;
      numbers.remove_prefix(std::min(end + 1, numbers.size()));
    }
    result += numbers;  // which is no interval
  };
  append(date, '-', "YMD");
  if (time < text.size()) {
    result += 'T';
    append(text.substr(time + 1), ':', "HMS");
  }
  return result;
}

// Each part by `scale`, what is no whole of one going on to the next.
template <class Scale>
std::optional<Interval> scaled(const Interval& interval, Scale scale) {
  const auto to_micros = [](double x) { return std::rint(x * 1e6) / 1e6; };
  const double months = scale(static_cast<double>(interval.months));
  const double days = scale(static_cast<double>(interval.days));
  const double days_of_months = to_micros((months - std::trunc(months)) * kDaysOfMonth);
  double seconds =
      to_micros((days - std::trunc(days) + days_of_months - std::trunc(days_of_months)) * 86'400);
  double more_days = 0;
  if (std::abs(seconds) >= 86'400) {
    more_days = std::trunc(seconds / 86'400);
    seconds -= more_days * 86'400;
  }
  const double micros =
      std::rint(scale(static_cast<double>(interval.micros)) + seconds * kMicrosPerSecond);
  const double whole_days = std::trunc(days) + more_days + std::trunc(days_of_months);
  constexpr double kMax = 1e25;  // what is beyond an interval is yet within 128 bits
  if (!(std::abs(months) < kMax && std::abs(whole_days) < kMax && std::abs(micros) < kMax)) {
    return std::nullopt;
  }
  return IntervalSum{static_cast<int128_t>(months), static_cast<int128_t>(whole_days),
                     static_cast<int128_t>(micros)}
      .interval();
}

// Moves a unit from one part to the smaller one where their signs differ.
template <class Large, class Small>
void agree(int64_t unit, Large* large, Small* small) {
  if (*large > 0 && *small < 0) {
    *small = static_cast<Small>(*small + unit);
    --*large;
  } else if (*large < 0 && *small > 0) {
    *small = static_cast<Small>(*small - unit);
    ++*large;
  }
}

}  // namespace

std::optional<Interval> IntervalSum::interval() const {
  const Interval narrow{static_cast<int32_t>(months), static_cast<int32_t>(days),
                        static_cast<int64_t>(micros)};
  if (months != narrow.months || days != narrow.days || micros != narrow.micros) {
    return std::nullopt;
  }
  return narrow;
}

std::optional<Interval> sum(const Interval& a, const Interval& b) {
  IntervalSum total;
  total.add(a);
  total.add(b);
  return total.interval();
}

std::optional<Interval> difference(const Interval& a, const Interval& b) {
  IntervalSum total;
  total.add(a);
  total.add(b, -1);
  return total.interval();
}

std::optional<Interval> negated(const Interval& interval) {
  return difference({}, interval);
}

std::optional<Interval> product(const Interval& interval, double factor) {
  return scaled(interval, [factor](double part) { return part * factor; });
}

std::optional<Interval> quotient(const Interval& interval, double divisor) {
  return scaled(interval, [divisor](double part) { return part / divisor; });
}

std::optional<Interval> justify_hours(const Interval& interval) {
  const int64_t days = interval.days + interval.micros / kMicrosPerDay;
  Interval result{interval.months, static_cast<int32_t>(days), interval.micros % kMicrosPerDay};
  if (result.days != days) return std::nullopt;
  agree(kMicrosPerDay, &result.days, &result.micros);
  return result;
}

std::optional<Interval> justify_days(const Interval& interval) {
  const int64_t months = int64_t{interval.months} + interval.days / kDaysOfMonth;
  Interval result{static_cast<int32_t>(months), interval.days % kDaysOfMonth, interval.micros};
  if (result.months != months) return std::nullopt;
  agree(kDaysOfMonth, &result.months, &result.days);
  return result;
}

std::optional<Interval> justify_interval(const Interval& interval) {
  int64_t days = interval.days + interval.micros / kMicrosPerDay;
  int64_t micros = interval.micros % kMicrosPerDay;
  int64_t months = interval.months + days / kDaysOfMonth;
  days %= kDaysOfMonth;
  if (months > 0 && (days < 0 || (days == 0 && micros < 0))) {
    days += kDaysOfMonth;
    --months;
  } else if (months < 0 && (days > 0 || (days == 0 && micros > 0))) {
    days -= kDaysOfMonth;
    ++months;
  }
  agree(kMicrosPerDay, &days, &micros);
  return IntervalSum{months, days, micros}.interval();
}

std::string to_string(const Interval& interval) {
  std::string text;
  bool before_negative = false;  // then a positive part says so
  const auto part = [&](int64_t value, std::string_view unit) {
    if (value == 0) return;
    fmt::format_to(std::back_inserter(text), "{}{}{} {}{}", text.empty() ? "" : " ",
                   before_negative && value > 0 ? "+" : "", value, unit, value == 1 ? "" : "s");
    before_negative = value < 0;
  };
  part(interval.months / 12, "year");
  part(interval.months % 12, "mon");
  part(interval.days, "day");
  if (interval.micros == 0 && !text.empty()) return text;
  const auto size = [](int64_t value) { return value < 0 ? -value : value; };
  const int64_t seconds = size(interval.micros / kMicrosPerSecond);
  fmt::format_to(std::back_inserter(text), "{}{}{:02}:{:02}:{:02}", text.empty() ? "" : " ",
                 interval.micros < 0 ? "-"
                 : before_negative   ? "+"
                                     : "",
                 seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (const int64_t fraction = size(interval.micros % kMicrosPerSecond); fraction != 0) {
    fmt::format_to(std::back_inserter(text), ".{:06}", fraction);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

Result<Interval> parse_interval(std::string_view text, const IntervalUnits& units) {
  std::string_view word = text;
  const std::string_view first = next_word(&word);
  const auto parts = first.starts_with('P') && next_word(&word).empty()
                         ? read_designators(with_designators(first.substr(1)))
                         : Reader(text, units).read();
  if (!parts && has_wrong_number(text)) return out_of_range(text);
  if (!parts) {
    return Error(ErrorCode::kInvalidArgument, "22007",
                 fmt::format("{} is no INTERVAL: numbers with units are, as in '3 months' or "
                             "'1 year 10 days'",
                             quoted(text)));
  }
  const auto interval = parts->interval();
  if (!interval) return out_of_range(text);
  return *interval;
}

}  // namespace diptych::base
