// Chunks' bytes that nothing else has: of a seed, and recognised again.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/split_mix.h"

namespace diptych::storage::test {

inline std::vector<std::byte> random_chunk(uint64_t seed, size_t bytes) {
  std::vector<std::byte> chunk(bytes);
  uint64_t state = base::split_mix(seed);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = base::split_mix(state += base::kSplitMixStep);
    std::memcpy(chunk.data() + at, &word, std::min(sizeof(word), bytes - at));
  }
  return chunk;
}

inline bool same_bytes(std::span<const std::byte> left, std::span<const std::byte> right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

}  // namespace diptych::storage::test
