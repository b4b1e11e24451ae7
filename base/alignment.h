// The cache's line, and rounding up to an alignment.

#pragma once

#include <cstddef>

namespace diptych::base {

inline constexpr size_t kLineBytes = 64;  // of the cache

// The least multiple of the alignment, a power of two, that is not less than the number.
template <class Number>
constexpr Number round_up(Number number, Number alignment) {
  return (number + alignment - 1) & ~(alignment - 1);
}

}  // namespace diptych::base
