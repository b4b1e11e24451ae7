// BasicCivilDay: a day in the proleptic Gregorian calendar and its fields, by arithmetic of
// unsigned words without branches, which loops over days are compiled to SIMD with (C. Neri and L.
// Schneider, "Euclidean affine functions and their application to calendar algorithms", 2022).
//
// Threads    values; any thread.

#pragma once

#include <cstdint>
#include <type_traits>

namespace diptych::base {

// Any number of days may be given; the fields are right for [-kDaysMax, kDaysMax] of CivilDay, and
// for all of WideCivilDay.
template <class Word>
struct BasicCivilDay {
  static constexpr bool kWide = sizeof(Word) == sizeof(uint64_t);
  static constexpr int32_t kDaysMax = kWide ? INT32_MAX : 1 << 28;  // 734 thousand years

  // Benchmark: BM_CivilDay.
  explicit BasicCivilDay(int32_t days_since_1970) : days(days_since_1970) {
    // Years begin in March here, so that the day that some lack is their last.
    const Word quarters = 4 * (word(days) + kFirst) + 3;
    const Word century = quarters / kEraDays;
    const auto in_century = static_cast<uint32_t>(quarters % kEraDays) | 3;
    const uint32_t day_of_year = in_century % kQuadDays / 4;
    const uint32_t months = 2141 * day_of_year + 197'913;  // from bit 16 on
    const uint32_t next_year = day_of_year >= 306 ? 1 : 0;
    year = static_cast<int32_t>(static_cast<uint32_t>(100 * century) + in_century / kQuadDays +
                                next_year - kYearsBefore);
    month = static_cast<int32_t>((months >> 16) - 12 * next_year);
    day = static_cast<int32_t>((months & 0xffff) / 2141 + 1);
  }

  // Days from 1970-01-01 to the first of the month. Years as far off as kDaysMax, months from 1 to
  // 12; what others give is not specified, but no fault.
  static int32_t first_of(int32_t year, int32_t month) {
    const uint32_t before = month <= 2 ? 1 : 0;
    const uint32_t years = static_cast<uint32_t>(year) + kYearsBefore - before;
    const uint32_t centuries = years / 100;
    const uint32_t months = static_cast<uint32_t>(month) + 12 * before;
    const Word in_years = kQuadDays * Word{years} / 4 - centuries + centuries / 4;
    const uint32_t in_months = (979 * months - 2919) / 32;
    return static_cast<int32_t>(static_cast<uint32_t>(in_years - kFirst) + in_months);
  }

  static int32_t days_in_month(int32_t year, int32_t month) {
    const int32_t odd = (month + (month >> 3)) & 1;
    const bool leaps = (year & (year % 25 == 0 ? 15 : 3)) == 0;
    return month == 2 ? 28 + (leaps ? 1 : 0) : 30 + odd;
  }

  // The days, so many later.
  int32_t moved(int32_t by) const {
    return static_cast<int32_t>(static_cast<uint32_t>(days) + static_cast<uint32_t>(by));
  }
  // From 0, which is Monday.
  int32_t weekday() const {
    constexpr Word kThursdays = kFirst / 7 * 7 + 3;  // 1970-01-01 was one
    return static_cast<int32_t>((word(days) + kThursdays) % 7);
  }
  int32_t day_of_year() const { return moved(1 - first_of(year, 1)); }
  int32_t quarter() const { return (month + 2) / 3; }
  // Decades begin with the year 0 of each, centuries and millennia with the year 1.
  int32_t decade() const { return year / 10; }
  int32_t period(int32_t years) const { return (year + years - 1) / years; }
  int32_t first_of_period(int32_t years) const {
    return first_of((period(years) - 1) * years + 1, 1);
  }
  // Of ISO 8601: a week belongs to the year of its Thursday.
  int32_t iso_year() const { return thursday().year; }
  int32_t iso_week() const { return (thursday().day_of_year() - 1) / 7 + 1; }

  int32_t days;
  int32_t year;
  int32_t month;
  int32_t day;

 private:
  static constexpr uint32_t kQuadDays = 1461;
  static constexpr uint32_t kEraDays = 146'097;
  static constexpr uint32_t kErasBefore = kWide ? 15'000 : 2'000;  // so that all is above zero
  static constexpr uint32_t kYearsBefore = 400 * kErasBefore;
  static constexpr Word kFirst = Word{kErasBefore} * kEraDays + 719'468;  // of 0000-03-01
  static_assert(kFirst > kDaysMax && kFirst + kDaysMax <= (Word(-1) - 3) / 4);

  // Modulo the word's size.
  static Word word(int32_t value) {
    return static_cast<Word>(static_cast<std::make_signed_t<Word>>(value));
  }
  BasicCivilDay thursday() const { return BasicCivilDay(moved(3 - weekday())); }
};

using CivilDay = BasicCivilDay<uint32_t>;
using WideCivilDay = BasicCivilDay<uint64_t>;

}  // namespace diptych::base
