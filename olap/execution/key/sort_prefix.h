// Sort keys: the first key as a prefix of eight bytes that compares as an unsigned number, and the
// comparison of any key value by value.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

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
// The prefix of a text without its first `skipped` bytes: the next seven bytes, then the number of
// bytes that are left, where 8 means more than seven.
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

// True if all values with this value's prefix are equal to it.
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

// KeyPrefixes: makes the prefixes of rows by one key, in the key's direction, and tracks whether
// equal prefixes mean equal values. NULLs have the least or the greatest prefix.
class KeyPrefixes {
 public:
  // If `may_have_nulls`, now or later, a value with the prefix of NULL makes prefixes ambiguous.
  KeyPrefixes(const SortKey& key, bool may_have_nulls)
      : of_null_(key.nulls_first ? 0 : UINT64_MAX),
        direction_(key.descending ? UINT64_MAX : 0),
        may_have_nulls_(may_have_nulls) {}

  uint64_t of_null() const { return of_null_; }
  template <class T, class... Skipped>
  uint64_t of(const T& value, Skipped... skipped) {
    const uint64_t prefix = prefix_of(value, skipped...) ^ direction_;
    decide_ = decide_ && prefix_decides(value, skipped...);
    decide_ = decide_ && !(may_have_nulls_ && prefix == of_null_);
    return prefix;
  }
  bool decide() const { return decide_; }

 private:
  uint64_t of_null_;
  uint64_t direction_;
  bool may_have_nulls_;
  bool decide_ = true;
};

// The value of one row in a key's column.
struct KeyCell {
  const void* values;
  uint64_t row;
  bool is_null;
};

// Compares two cells by the key: below 0 if a's row comes first, 0 if neither does.
inline int compare_cells(const SortKey& key, PhysicalType type, const KeyCell& a,
                         const KeyCell& b) {
  if (a.is_null || b.is_null) {
    if (a.is_null == b.is_null) return 0;
    return a.is_null == key.nulls_first ? -1 : 1;
  }
  return with_physical_type(type, [&](auto any) {
    using T = decltype(any);
    const T& first = static_cast<const T*>(a.values)[a.row];
    const T& second = static_cast<const T*>(b.values)[b.row];
    const int order = order_of(first, second);
    return key.descending ? -order : order;
  });
}

}  // namespace diptych::olap
