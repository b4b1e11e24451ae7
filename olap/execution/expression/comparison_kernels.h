// Comparison kernels: the order of SQL values, and loops that compare a batch into bits.
//
// Order      integers and decimals by value; BOOLEAN false < true; strings by bytes; doubles as in
//            PostgreSQL: NaN equals NaN and is greater than everything else, -0 equals 0; intervals
//            with months of 30 days and days of 24 hours.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "olap/execution/vector/vector.h"

namespace diptych::olap {

template <class T>
inline bool value_equal(const T& a, const T& b) {
  return a == b;
}
inline bool value_equal(const double& a, const double& b) {
  return (a == b) | ((a != a) & (b != b));
}
inline bool value_equal(const base::Interval& a, const base::Interval& b) {
  return a.normalized() == b.normalized();
}

template <class T>
inline bool value_less(const T& a, const T& b) {
  return a < b;
}
inline bool value_less(const double& a, const double& b) {
  return (a < b) | ((b != b) & (a == a));
}
inline bool value_less(const base::Interval& a, const base::Interval& b) {
  return a.normalized() < b.normalized();
}
inline bool value_less(const base::StringRef& a, const base::StringRef& b) {
  const uint32_t common = std::min(a.size(), b.size());
  const int order = std::memcmp(a.data(), b.data(), common);
  return order != 0 ? order < 0 : a.size() < b.size();
}

// Negative if a is less, 0 if neither is less.
template <class T>
inline int order_of(const T& a, const T& b) {
  return value_less(a, b) ? -1 : value_less(b, a) ? 1 : 0;
}
inline int order_of(const base::StringRef& a, const base::StringRef& b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order < 0 ? -1 : 1;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

struct EqualComparison {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return value_equal(a, b);
  }
};
struct NotEqualComparison {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return !value_equal(a, b);
  }
};
struct LessComparison {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return value_less(a, b);
  }
};
struct LessEqualComparison {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return !value_less(b, a);
  }
};

// Packs 64 bytes of 0 or 1 into bits: bit i is bytes[i].
inline uint64_t pack_bytes(const uint8_t* bytes) {
#if defined(__AVX2__)
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32));
  const auto low_bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(low, 7)));
  const auto high_bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(high, 7)));
  return low_bits | (static_cast<uint64_t>(high_bits) << 32);
#else
  uint64_t word = 0;
  for (uint32_t i = 0; i < 64; ++i) word |= static_cast<uint64_t>(bytes[i]) << i;
  return word;
#endif
}

// Sets bit i of `bits` to a[i] op b[i], for at least the selected slots; other bits are arbitrary.
// With kConstant, b[0] is used for every b[i]. The value of a null slot may be anything, so slots
// in `nulls` (may be nullptr) are left out if reading them could trap. Benchmark: BM_CompareInt32,
// BM_CompareInt64.
template <class Comparison, bool kConstant, class T>
void compare_values(const T* __restrict a, const T* __restrict b, const Selection& selection,
                    const uint64_t* nulls, uint64_t* __restrict bits) {
  if (sizeof(T) > 8 || !is_dense(selection)) {
    std::fill_n(bits, words_of(selection.slots), 0);
    for_selected(selection, [&](uint32_t i) {
      if (nulls != nullptr && bit_at(nulls, i)) return;
      bits[i / 64] |= static_cast<uint64_t>(Comparison::apply(a[i], b[kConstant ? 0 : i]))
                      << (i % 64);
    });
    return;
  }
  alignas(64) uint8_t bytes[64];
  const uint32_t whole = selection.slots / 64;
  const T constant = b[0];
  for (uint32_t w = 0; w < whole; ++w) {
    for (uint32_t i = 0; i < 64; ++i) {
      const T right = kConstant ? constant : b[w * 64 + i];
      bytes[i] = static_cast<uint8_t>(Comparison::apply(a[w * 64 + i], right));
    }
    bits[w] = pack_bytes(bytes);
  }
  if (selection.slots % 64 == 0) return;
  uint64_t word = 0;
  for (uint32_t i = whole * 64; i < selection.slots; ++i) {
    const T right = kConstant ? constant : b[i];
    word |= static_cast<uint64_t>(Comparison::apply(a[i], right)) << (i % 64);
  }
  bits[whole] = word;
}

}  // namespace diptych::olap
