// DateParts: the fields of a timestamp, for functions that name them; the names of months and days.
//
// Threads    any; these are values.

#pragma once

#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/civil_day.h"
#include "base/types.h"

namespace diptych::olap {

inline int64_t divide_down(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

struct DateParts {
  explicit DateParts(int64_t micros)
      : civil(static_cast<int32_t>(divide_down(micros, base::kMicrosPerDay))),
        in_day(micros - civil.days * base::kMicrosPerDay) {}

  base::WideCivilDay civil;
  int64_t in_day;  // microseconds
};

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
    const char c = text[i];
    if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != upper[i]) return false;
  }
  return true;
}

}  // namespace diptych::olap
