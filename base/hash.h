// Hashes of integers: by multiplication for places in tables, and FNV-1a for what must be the same
// in every build.

#pragma once

#include <cstdint>

namespace diptych::base {

// 2^64 over the golden ratio, odd: products with it differ in their high bits (Knuth, TAOCP, 6.4).
inline constexpr uint64_t kGolden64 = 0x9e3779b97f4a7c15;

// A place among 2^bits, for 1 to 64 bits.
constexpr uint64_t spread(uint64_t word, uint32_t bits) {
  return word * kGolden64 >> (64 - bits);
}

// FNV-1a, over words in place of bytes.
class Fnv1a {
 public:
  constexpr void add(uint64_t word) { hash_ = (hash_ ^ word) * 1099511628211U; }
  constexpr uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 14695981039346656037U;
};

}  // namespace diptych::base
