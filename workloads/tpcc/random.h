// Random: the random numbers and strings of TPC-C (clauses 2.1.5, 2.1.6 and 4.3.2), from a seed.
//
// A stream is a value of 8 bytes (SplitMix64); making one costs nothing, so the population gives
// every row a stream of its own, and rows can be made in any order.
//
// NURand's constants C are fixed: C_LOAD 123 and C_RUN 223 for last names (their difference must
// lie in 65..119 and be neither 96 nor 112), 259 for customers, 7911 for items.

#pragma once

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/split_mix.h"
#include "base/types.h"

namespace diptych::workloads::tpcc {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // The stream of one row of one table: the same for the same seed, table and key.
  Random(uint64_t seed, uint32_t table, uint64_t key)
      : state_(base::split_mix(base::split_mix(seed + base::kSplitMixStep * (table + 1)) + key)) {}

  uint64_t next() { return base::split_mix(state_ += base::kSplitMixStep); }
  // Uniform in [low, high].
  int32_t between(int32_t low, int32_t high) {
    const auto span = static_cast<uint64_t>(static_cast<int64_t>(high) - low + 1);
    return static_cast<int32_t>(low + static_cast<int64_t>(((next() >> 32) * span) >> 32));
  }
  bool percent(int32_t chance) { return between(1, 100) <= chance; }

  // NURand(a, x, y) of clause 2.1.6.
  int32_t non_uniform(int32_t a, int32_t c, int32_t low, int32_t high) {
    return (((between(0, a) | between(low, high)) + c) % (high - low + 1)) + low;
  }

  void alphanumeric(char* out, int32_t size);  // a-string
  void numeric(char* out, int32_t size);       // n-string

 private:
  uint64_t state_;
};

inline constexpr int32_t kLastNames = 1000;
inline constexpr int32_t kLastNameConstantLoad = 123;
inline constexpr int32_t kLastNameConstantRun = 223;
inline constexpr int32_t kCustomerConstant = 259;
inline constexpr int32_t kItemConstant = 7911;
static_assert(kLastNameConstantRun - kLastNameConstantLoad >= 65 &&
                  kLastNameConstantRun - kLastNameConstantLoad <= 119 &&
                  kLastNameConstantRun - kLastNameConstantLoad != 96 &&
                  kLastNameConstantRun - kLastNameConstantLoad != 112,
              "clause 2.1.6.1 restricts the two constants");

// A random string of low to high characters.
template <uint32_t N>
void alphanumeric(Random* random, int32_t low, int32_t high, base::InlineString<N>* out) {
  DIPTYCH_DCHECK(high <= static_cast<int32_t>(N), "a random string must fit its column");
  out->size = static_cast<uint8_t>(low == high ? low : random->between(low, high));
  random->alphanumeric(out->bytes, out->size);
}
template <uint32_t N>
void numeric(Random* random, int32_t size, base::InlineString<N>* out) {
  out->size = static_cast<uint8_t>(size);
  random->numeric(out->bytes, size);
}

// Clause 4.3.2.3: three syllables, by the digits of number (0 to 999).
base::Varchar<16> last_name(int32_t number);

// The 62 characters of a-strings, digits first, in the order of their codes.
std::string_view alphanumerics();

}  // namespace diptych::workloads::tpcc
