// The hash of keys that are words, for KeyTable and WordSet. Each process has its own seed, so that
// nobody can prepare colliding keys; a GROUP BY over 80,000 of them would take seconds.

#pragma once

#include <cstdint>

namespace diptych::olap {

// Multiplies and folds: wyhash's mixing step. Every input bit reaches every output bit.
inline uint64_t mix_words(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 uint128_t;
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

struct HashSeed {
  uint64_t start;
  uint64_t step;  // about half of its bits are set
};
extern const HashSeed kHashSeed;

inline uint64_t hash_words(const uint64_t* words, uint32_t count) {
  uint64_t hash = kHashSeed.start;
  for (uint32_t w = 0; w < count; ++w) hash = mix_words(hash ^ words[w], kHashSeed.step);
  return hash;
}

}  // namespace diptych::olap
