// Functions of dates and timestamps that are computed row by row.

#include <cmath>

#include <fmt/format.h>

#include "base/types.h"
#include "olap/date_range.h"
#include "olap/execution/expression/date_parts.h"
#include "olap/execution/expression/row_functions.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

// Millionths of the field.
int64_t extract_field(const RowArguments& a) {
  const int64_t micros = a.integer(0);
  const std::string_view field = a.text(1);
  if (field == "epoch") return micros;
  const int64_t minutes = divide_down(micros, base::kMicrosPerMinute);
  const int64_t in_minute = micros - minutes * base::kMicrosPerMinute;
  if (field == "second") return in_minute;
  if (field == "milliseconds") return in_minute * 1000;
  fail_value(fmt::format("unit \"{}\" not recognized", field), "22023");
}

int64_t make_date(const RowArguments& a) {
  const int64_t year = a.integer(0);
  const int64_t month = a.integer(1);
  const int64_t day = a.integer(2);
  if (year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1) {
    const auto in_year = static_cast<int32_t>(year);
    const auto in_month = static_cast<int32_t>(month);
    if (day <= base::CivilDay::days_in_month(in_year, in_month)) {
      return base::CivilDay::first_of(in_year, in_month) + day - 1;
    }
  }
  fail_value(fmt::format("date field value out of range: {}-{:02}-{:02}", year, month, day),
             "22008");
}

// As in PostgreSQL, 24:00 is the next day's midnight, and second 60 the next minute.
int64_t make_timestamp(const RowArguments& a) {
  const int64_t day = make_date(a);
  const int64_t hour = a.integer(3);
  const int64_t minute = a.integer(4);
  const double micros = std::nearbyint(a.number(5) * base::kMicrosPerSecond);  // half to even
  const bool plausible = hour >= 0 && hour <= 24 && minute >= 0 && minute < 60 && micros >= 0 &&
                         micros <= base::kMicrosPerMinute;
  const int64_t time = !plausible ? base::kMicrosPerDay + 1
                                  : hour * base::kMicrosPerHour + minute * base::kMicrosPerMinute +
                                        static_cast<int64_t>(micros);
  if (time > base::kMicrosPerDay) {
    fail_value(
        fmt::format("time field value out of range: {}:{:02}:{:02}", hour, minute, a.number(5)),
        "22008");
  }
  return day * base::kMicrosPerDay + time;
}

// Counted from 2000 on as in PostgreSQL, by which the last digit of a DOUBLE is decided.
int64_t seconds_as_timestamp(const RowArguments& a) {
  constexpr int64_t kSecondsTo2000 = 946'684'800;
  const double seconds = a.number(0);
  if (std::isnan(seconds)) fail_value("timestamp cannot be NaN", "22008");
  const double micros =
      std::nearbyint((seconds - kSecondsTo2000) * static_cast<double>(base::kMicrosPerSecond));
  int64_t at = 0;
  if (!(std::abs(micros) < 0x1p63) ||
      __builtin_add_overflow(static_cast<int64_t>(micros), kSecondsTo2000 * base::kMicrosPerSecond,
                             &at) ||
      at < kMicrosFirst) {
    fail_value(fmt::format("timestamp out of range: \"{:g}\"", seconds), "22008");
  }
  return at;
}

// The years and months, days and time from one moment to another, in the fields of a calendar; what
// is missing in one is borrowed from the month of the earlier moment.
base::Interval age_of(const DateParts& late, const DateParts& early) {
  int64_t months = (late.civil.year - early.civil.year) * int64_t{12} + late.civil.month;
  months -= early.civil.month;
  int64_t days = int64_t{late.civil.day} - early.civil.day;
  int64_t time = late.in_day - early.in_day;
  if (time < 0) {
    time += base::kMicrosPerDay;
    --days;
  }
  if (days < 0) {
    days += base::WideCivilDay::days_in_month(early.civil.year, early.civil.month);
    --months;
  }
  return {static_cast<int32_t>(months), static_cast<int32_t>(days), time};
}

}  // namespace

base::Interval age_between(int64_t to, int64_t from) {
  if (to >= from) return age_of(DateParts(to), DateParts(from));
  const base::Interval age = age_of(DateParts(from), DateParts(to));
  return {-age.months, -age.days, -age.micros};
}

IntegerRowFunction find_date_function(Function function) {
  switch (function) {
    case Function::kDaysBetween:
      return [](const RowArguments& a) { return int64_t{a.date(0)} - a.date(1); };
    case Function::kMicrosBetween:
      return [](const RowArguments& a) {
        int64_t result;
        if (__builtin_sub_overflow(a.integer(0), a.integer(1), &result)) {
          fail_value(kIntervalOutOfRange, "22008");
        }
        return result;
      };
    case Function::kExtractField: return extract_field;
    case Function::kMakeDate: return make_date;
    case Function::kMakeTimestamp: return make_timestamp;
    case Function::kSecondsAsTimestamp: return seconds_as_timestamp;
    default: return nullptr;
  }
}

}  // namespace diptych::olap
