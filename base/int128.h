// 128-bit integers: the width in which decimals are summed, so that no sum of a column overflows.

#pragma once

namespace diptych::base {

__extension__ typedef __int128 int128_t;

// 10^exponent, for an exponent of at most 38.
constexpr int128_t power_of_ten(unsigned exponent) {
  int128_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace diptych::base
