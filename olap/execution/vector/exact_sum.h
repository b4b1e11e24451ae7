// ExactSum: the exact sum of 128-bit integers, in any order. It counts overflows of 128 bits, so
// that a sum or average is out of range only if the final value does not fit its type.

#pragma once

#include <cmath>
#include <cstdint>

#include "base/int128.h"

namespace diptych::olap {

class ExactSum {
 public:
  ExactSum() = default;
  ExactSum(base::int128_t sum) : low_(sum) {}
  // sum + high * 2^128
  ExactSum(base::int128_t sum, int64_t high) : low_(sum), high_(high) {}

  void operator+=(base::int128_t value) { high_ += add(value, &low_); }
  void operator+=(const ExactSum& other) {
    *this += other.low_;
    high_ += other.high_;
  }

  // Adds `value` to *sum, modulo 2^128, and returns the carry, in units of 2^128.
  static int64_t add(base::int128_t value, base::int128_t* sum) {
    if (!__builtin_add_overflow(*sum, value, sum)) return 0;
    return value < 0 ? -1 : 1;
  }

  bool fits() const { return high_ == 0; }  // whether 128 bits hold the sum
  base::int128_t low() const { return low_; }
  int64_t high() const { return high_; }
  explicit operator double() const {
    return std::ldexp(static_cast<double>(high_), 128) + static_cast<double>(low_);
  }

  // Divides by count > 0; the quotient is truncated and the rest has the sum's sign. Returns false
  // if the quotient has more than 128 bits.
  bool divide(int64_t count, base::int128_t* quotient, base::int128_t* rest) const {
    *quotient = low_ / count;
    *rest = low_ % count;
    if (fits()) return true;
    // Its size, in limbs of 64 bits; where low_ is negative, the high one is one less.
    const bool negative = high_ < 0;
    auto low = static_cast<base::uint128_t>(low_);
    int64_t high = high_ - (low_ < 0 ? 1 : 0);
    if (negative) {
      low = ~low + 1;
      high = -high - (low == 0 ? 0 : 1);
    }
    const auto divisor = static_cast<base::uint128_t>(count);
    const auto top = static_cast<base::uint128_t>(high);
    const base::uint128_t upper = ((top % divisor) << 64) | (low >> 64);
    const base::uint128_t lower = ((upper % divisor) << 64) | (low & UINT64_MAX);
    if (top / divisor != 0 || (upper / divisor) >> 63 != 0) return false;
    const auto size = static_cast<base::int128_t>(((upper / divisor) << 64) + lower / divisor);
    const auto left = static_cast<base::int128_t>(lower % divisor);
    *quotient = negative ? -size : size;
    *rest = negative ? -left : left;
    return true;
  }

 private:
  base::int128_t low_ = 0;
  int64_t high_ = 0;  // times 2^128
};

}  // namespace diptych::olap
