// 128-bit integers: the width in which decimals are summed, so that no sum of a column overflows;
// unsigned, two words that compare as one.

#pragma once

namespace diptych::base {

__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;

// 10^exponent, for an exponent of at most 38.
constexpr int128_t power_of_ten(unsigned exponent) {
  int128_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace diptych::base
