// Numbers written where their codes lie: in frames (frame.cpp) and in plain numbers
// (plain_numbers.cpp). Most of what a replica applies is that, many rows of a chunk at a time: so
// it is compiled into who applies, and what depends on the chunk alone is asked once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "storage/encoding/chunk_header.h"
#include "storage/encoding/codes.h"

namespace diptych::storage::encoding {

static_assert(kReadableBehind <= kChunkTailBytes);

constexpr uint64_t frame_code_max(const ChunkHeader& chunk) {
  return (uint64_t{1} << chunk.code_bits) - 1;
}

inline bool in_frame(int64_t key, int64_t base, uint64_t code_max) {
  return key >= base && static_cast<uint64_t>(key) - static_cast<uint64_t>(base) <= code_max;
}

// use(write): write(row, key) is false, and nothing is changed, where the key lies outside of the
// frame.
template <class Use>
auto with_frame(ChunkHeader* chunk, const Use& use) {
  return with_code_store(chunk->code_bits, [&](const auto& set) {
    return use([&set, codes = chunk->at(chunk->codes_offset), base = chunk->base,
                code_max = frame_code_max(*chunk)](uint32_t row, int64_t key) {
      if (!in_frame(key, base, code_max)) return false;
      set(codes, row, static_cast<uint64_t>(key) - static_cast<uint64_t>(base));
      return true;
    });
  });
}

// use(write), as above: these take every key.
template <class Use>
auto with_plain(ChunkHeader* chunk, const Use& use) {
  const auto with = [&](auto value_of) {
    return use([value_of, values = chunk->at(chunk->codes_offset)](uint32_t row, int64_t key) {
      const auto value = value_of(key);
      std::memcpy(values + row * sizeof value, &value, sizeof value);
      return true;
    });
  };
  switch (chunk->kind) {
    case ValueKind::kInt32: return with([](int64_t key) { return static_cast<int32_t>(key); });
    case ValueKind::kDouble: return with([](int64_t key) { return turn_double_bits(key); });
    default: return with([](int64_t key) { return key; });
  }
}

}  // namespace diptych::storage::encoding
