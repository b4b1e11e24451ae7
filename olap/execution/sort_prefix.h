// The first key of a sort, normalised to eight bytes that compare as unsigned numbers.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "olap/execution/vector.h"

namespace diptych::olap {

// Order-preserving: prefix(a) < prefix(b) only if a < b.
inline uint64_t prefix_of(int64_t value) {
  return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
}
inline uint64_t prefix_of(int32_t value) {
  return prefix_of(int64_t{value});
}
inline uint64_t prefix_of(uint8_t value) {
  return value;
}
inline uint64_t prefix_of(int128_t value) {
  return prefix_of(static_cast<int64_t>(std::clamp<int128_t>(value, INT64_MIN, INT64_MAX)));
}
inline uint64_t prefix_of(const base::Interval& value) {
  return prefix_of(value.normalized());
}
inline uint64_t prefix_of(double value) {
  if (std::isnan(value)) return UINT64_MAX;
  if (value == 0) value = 0;  // -0
  const auto bits = std::bit_cast<uint64_t>(value);
  return (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
}
// Of a text what is left without so many of its bytes: seven bytes, and how many are left, eight
// standing for more than seven.
inline constexpr uint32_t kPrefixTextBytes = 7;
inline uint64_t prefix_of(const base::StringRef& text, uint32_t skipped = 0) {
  const uint32_t left = text.size() - skipped;
  uint64_t bytes = 0;
  if (skipped == 0 || left >= sizeof bytes) {
    std::memcpy(&bytes, text.data() + skipped, sizeof bytes);  // a short text is followed by zeros
  } else {
    std::memcpy(&bytes, text.data() + skipped, left);
  }
  return (__builtin_bswap64(bytes) & ~uint64_t{0xff}) | std::min(left, kPrefixTextBytes + 1);
}

// Whether all values of the prefix are equal to this one.
template <class T>
bool prefix_decides(const T&) {
  return true;
}
inline bool prefix_decides(int128_t value) {
  return value == static_cast<int64_t>(value);
}
inline bool prefix_decides(const base::Interval& value) {
  return prefix_decides(value.normalized());
}
inline bool prefix_decides(const base::StringRef& text, uint32_t skipped = 0) {
  return text.size() - skipped <= kPrefixTextBytes;
}

}  // namespace diptych::olap
