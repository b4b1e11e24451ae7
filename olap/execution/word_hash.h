// The hash of keys that are words: of KeyTable's keys and WordSet's.

#pragma once

#include <cstdint>

namespace diptych::olap {

// Multiplies and folds: wyhash's mixing step. Every input bit reaches every output bit.
inline uint64_t mix_words(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 uint128_t;
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_words(const uint64_t* words, uint32_t count) {
  constexpr uint64_t kSeed = 0xa0761d6478bd642f;
  constexpr uint64_t kStep = 0xe7037ed1a0b428db;
  uint64_t hash = kSeed;
  for (uint32_t w = 0; w < count; ++w) hash = mix_words(hash ^ words[w], kStep);
  return hash;
}

}  // namespace diptych::olap
