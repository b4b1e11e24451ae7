// DateParts: a timestamp taken apart, for functions that name its fields; the names of months and
// days.
//
// Threads    values; any thread.

#pragma once

#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/value.h"

namespace diptych::olap {

inline int64_t divide_down(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

struct DateParts {
  static constexpr int64_t kSecond = base::kMicrosPerSecond;
  static constexpr int64_t kMinute = 60 * kSecond;
  static constexpr int64_t kHour = 60 * kMinute;

  explicit DateParts(int64_t micros)
      : days(divide_down(micros, base::kMicrosPerDay)),
        in_day(micros - days * base::kMicrosPerDay),
        civil(base::civil_from_date(base::Date{static_cast<int32_t>(days)})) {}

  int64_t weekday() const { return ((days + 3) % 7 + 7) % 7; }  // Monday is 0
  int64_t day_of_year() const { return days - first_day(civil.year) + 1; }
  int64_t days_of_month() const {
    const base::CivilDate next = civil.month == 12
                                     ? base::CivilDate{civil.year + 1, 1, 1}
                                     : base::CivilDate{civil.year, civil.month + 1, 1};
    return base::date_from_civil(next).days - (days - civil.day + 1);
  }
  static int64_t first_day(int32_t year) { return base::date_from_civil({year, 1, 1}).days; }

  // Of ISO 8601: the week with the year's first Thursday is its first.
  int64_t iso_year() const {
    return base::civil_from_date(base::Date{static_cast<int32_t>(days - weekday() + 3)}).year;
  }
  int64_t iso_week() const {
    const int64_t thursday = days - weekday() + 3;
    return (thursday - first_day(static_cast<int32_t>(iso_year()))) / 7 + 1;
  }

  int64_t days;
  int64_t in_day;  // microseconds
  base::CivilDate civil;
};

inline int64_t century_of(int64_t year) {
  return year > 0 ? (year + 99) / 100 : -((99 - (year - 1)) / 100);
}

inline constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
inline constexpr std::array<std::string_view, 7> kDays = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

inline constexpr std::array<std::string_view, 12> kRomanMonths = {
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

inline bool starts_with_any_case(std::string_view text, std::string_view upper) {
  if (text.size() < upper.size()) return false;
  for (size_t i = 0; i < upper.size(); ++i) {
    if (std::toupper(static_cast<unsigned char>(text[i])) != upper[i]) return false;
  }
  return true;
}

}  // namespace diptych::olap
