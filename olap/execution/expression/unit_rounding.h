// UnitRounding: divides units of a decimal by a power of ten that is known when a query is
// compiled, and rounds as an SQL function requires. Values of up to 63 bits are divided by a
// multiplication (T. Granlund and P. L. Montgomery, "Division by Invariant Integers using
// Multiplication", 1994).
//
// Threads    any; these are values.

#pragma once

#include <bit>
#include <cstdint>

#include "base/int128.h"
#include "olap/function.h"

namespace diptych::olap {

class UnitRounding {
 public:
  // Divides by 10^digits, with 1 to 38 digits. The function is kRound (half away from zero),
  // kFloor, kCeil or kTruncate.
  UnitRounding(uint32_t digits, Function function) : unit_(base::power_of_ten(digits)) {
    const base::int128_t half = unit_ - unit_ / 2;
    const bool rounds = function == Function::kRound;
    // The least rest with which the quotient's size grows.
    from_above_ = rounds ? half : function == Function::kCeil ? base::int128_t{1} : unit_;
    from_below_ = rounds ? half : function == Function::kFloor ? base::int128_t{1} : unit_;
    near_from_[0] = clamped(from_above_);
    near_from_[1] = clamped(from_below_);
    if (digits > kNarrowDigitsMax) return;
    const auto unit = static_cast<uint64_t>(unit_);
    shift_ = static_cast<uint32_t>(std::bit_width(unit - 1)) - 1;
    multiplier_ = static_cast<uint64_t>((base::uint128_t{1} << (64 + shift_)) / unit + 1);
  }

  // Does not trap for any value, and is correct for all but the type's least value. Without
  // branches, because signs are often as good as random.
  int64_t apply(int64_t value) const {
    const auto sign = static_cast<uint64_t>(value >> 63);
    const uint64_t size = (static_cast<uint64_t>(value) ^ sign) - sign;
    const auto product = static_cast<base::uint128_t>(size) * multiplier_;
    uint64_t quotient = static_cast<uint64_t>(product >> 64) >> shift_;
    const uint64_t rest = size - quotient * static_cast<uint64_t>(unit_);
    quotient += static_cast<uint64_t>(rest >= near_from_[sign & 1]);
    return static_cast<int64_t>((quotient ^ sign) - sign);
  }
  base::int128_t apply(base::int128_t value) const {
    const auto near = static_cast<int64_t>(value);
    if (near == value && near != INT64_MIN) [[likely]]
      return apply(near);
    const base::int128_t rest = value % unit_;
    const base::int128_t quotient = value / unit_;
    if (value < 0) return quotient - (-rest >= from_below_ ? 1 : 0);
    return quotient + (rest >= from_above_ ? 1 : 0);
  }

 private:
  static constexpr uint32_t kNarrowDigitsMax = 18;

  static uint64_t clamped(base::int128_t size) {
    return size > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(size);
  }

  base::int128_t unit_;
  base::int128_t from_above_;
  base::int128_t from_below_;
  uint64_t near_from_[2];    // from above, from below
  uint64_t multiplier_ = 0;  // so that a quotient by more than 64 bits is 0
  uint32_t shift_ = 0;
};

}  // namespace diptych::olap
