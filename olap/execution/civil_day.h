// CivilDay: the fields of a day in the Gregorian calendar by 32-bit arithmetic without branches,
// which loops over days are compiled to SIMD with (C. Neri and L. Schneider, "Euclidean affine
// functions and their application to calendar algorithms", 2022).

#pragma once

#include <cstdint>

namespace diptych::olap {

struct CivilDay {
  // Days from 1970-01-01 of which the fields are right: [-kDaysMax, kDaysMax], 734 thousand years.
  static constexpr int32_t kDaysMax = 1 << 28;

  // Any number of days may be given. Benchmark: BM_CivilDay.
  explicit CivilDay(int32_t days) {
    constexpr uint32_t kErasBefore = 2000;  // of 400 years, so that all is above zero
    constexpr uint32_t kEraDays = 146'097;
    constexpr uint32_t kFirst = kErasBefore * kEraDays + 719'468;  // of 0000-03-01
    static_assert(kFirst > kDaysMax && kFirst + kDaysMax <= (UINT32_MAX - 3) / 4);
    // Years begin in March here, so that the day that some lack is their last.
    const uint32_t quarters = 4 * (static_cast<uint32_t>(days) + kFirst) + 3;
    const uint32_t century = quarters / kEraDays;
    const uint32_t in_century = quarters % kEraDays | 3;
    const uint32_t day_of_year = in_century % 1461 / 4;
    const uint32_t months = 2141 * day_of_year + 197'913;  // from bit 16 on
    const uint32_t next_year = day_of_year >= 306 ? 1 : 0;
    year = static_cast<int32_t>(100 * century + in_century / 1461 + next_year - 400 * kErasBefore);
    month = static_cast<int32_t>((months >> 16) - 12 * next_year);
    day = static_cast<int32_t>((months & 0xffff) / 2141 + 1);
  }

  int32_t year;
  int32_t month;
  int32_t day;
};

}  // namespace diptych::olap
