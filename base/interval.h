// Interval: a span of time as PostgreSQL has it, months, days and microseconds beside each other,
// since neither all months nor, where clocks are changed, all days are of one length.
//
// Two intervals compare by normalized(), a month as 30 days and a day as 24 hours: '1 mon' equals
// '30 days' in SQL. Having the same parts is stricter, and is what == says.
//
// What an interval cannot hold is nullopt here, and the error 22008 in SQL.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/int128.h"
#include "base/result.h"
#include "base/types.h"

namespace diptych::base {

struct Interval {
  int32_t months = 0;  // a year is twelve
  int32_t days = 0;
  int64_t micros = 0;  // hours, minutes and seconds; may be days and more

  bool operator==(const Interval&) const = default;

  // In microseconds.
  constexpr int128_t normalized() const {
    return (int128_t{months} * 30 + days) * kMicrosPerDay + micros;
  }
};
static_assert(sizeof(Interval) == 16);

// Sums of intervals, part by part, without an end to their parts.
struct IntervalSum {
  int128_t months = 0;
  int128_t days = 0;
  int128_t micros = 0;

  void add(const Interval& one, int64_t times = 1) {
    months += int128_t{one.months} * times;
    days += int128_t{one.days} * times;
    micros += int128_t{one.micros} * times;
  }
  void add(const IntervalSum& other) {
    months += other.months;
    days += other.days;
    micros += other.micros;
  }
  std::optional<Interval> interval() const;
};

std::optional<Interval> sum(const Interval& a, const Interval& b);
std::optional<Interval> difference(const Interval& a, const Interval& b);
std::optional<Interval> negated(const Interval& interval);
// What is no whole month becomes days, what is no whole day a time, to the microsecond.
std::optional<Interval> product(const Interval& interval, double factor);
std::optional<Interval> quotient(const Interval& interval, double divisor);  // not 0

// With days in place of 24 hours, with months in place of 30 days, and both; parts of one sign.
std::optional<Interval> justify_hours(const Interval& interval);
std::optional<Interval> justify_days(const Interval& interval);
std::optional<Interval> justify_interval(const Interval& interval);

// As PostgreSQL writes it: "1 year 2 mons -3 days +04:05:06.789".
std::string to_string(const Interval& interval);

// What the numbers of a text are of, where it does not say so.
struct IntervalUnits {
  std::string_view last = "second";
  bool minutes_to_seconds = false;  // "2:03" is of minutes and seconds, not of hours and minutes
};

// "3 months", "1 year 2 mons -3 days +04:05:06.789", "2 hours ago", "1-2" (years and months),
// "P1Y2M3DT4H5M6S". A number alone is of the last unit; one before a number of hours, or before a
// time, is of days. 22007 where it is none of these, 22015 where a part is beyond an interval.
Result<Interval> parse_interval(std::string_view text, const IntervalUnits& units = {});

}  // namespace diptych::base
