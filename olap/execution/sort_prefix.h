// The first key of a sort, normalised to eight bytes that compare as unsigned numbers.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

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
inline uint64_t prefix_of(const base::StringRef& text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), std::min<size_t>(text.size(), 8));
  return __builtin_bswap64(bytes);
}

// Whether all values of the prefix are equal to this one.
template <class T>
bool prefix_decides(const T&) {
  return !std::is_same_v<T, base::StringRef>;
}
inline bool prefix_decides(int128_t value) {
  return value == static_cast<int64_t>(value);
}
inline bool prefix_decides(const base::Interval& value) {
  return prefix_decides(value.normalized());
}

}  // namespace diptych::olap
