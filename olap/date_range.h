// The ranges of DATE and TIMESTAMP. Both begin at 0001-01-01, because years BC are neither read nor
// printed. DATE ends where PostgreSQL's does, and TIMESTAMP where its microseconds fill 64 bits.

#pragma once

#include <cstdint>

#include "base/types.h"

namespace diptych::olap {

inline constexpr int64_t kDayFirst = -719'162;      // 0001-01-01
inline constexpr int64_t kDayLast = 2'145'042'905;  // 5874897-12-31
inline constexpr int64_t kMicrosFirst = kDayFirst * base::kMicrosPerDay;

inline bool is_day(int64_t days) {
  return days >= kDayFirst && days <= kDayLast;
}

}  // namespace diptych::olap
