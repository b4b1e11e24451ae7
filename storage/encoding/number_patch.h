// A number written where its code lies: in frames (frame.cpp) and in plain numbers
// (plain_numbers.cpp). Most of what a replica applies is that, so it is compiled into who applies.

#pragma once

#include <cstdint>
#include <cstring>

#include "storage/encoding/chunk_header.h"
#include "storage/encoding/codes.h"

namespace diptych::storage::encoding {

constexpr uint64_t frame_code_max(const ChunkHeader& chunk) {
  return (uint64_t{1} << chunk.code_bits) - 1;
}

// False, and nothing is changed, where the value lies outside of the frame.
inline bool patch_frame(ChunkHeader* chunk, uint32_t row, int64_t key) {
  const uint64_t code = static_cast<uint64_t>(key) - static_cast<uint64_t>(chunk->base);
  if (key < chunk->base || code > frame_code_max(*chunk)) return false;
  set_code(chunk->at(chunk->codes_offset), chunk->code_bits, row, code);
  return true;
}

inline void store_key(ValueKind kind, int64_t key, std::byte* to) {
  if (kind == ValueKind::kInt32) {
    const auto value = static_cast<int32_t>(key);
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const int64_t value = kind == ValueKind::kDouble ? turn_double_bits(key) : key;
  std::memcpy(to, &value, sizeof value);
}

inline void patch_plain(ChunkHeader* chunk, uint32_t row, int64_t key) {
  store_key(chunk->kind, key, chunk->at(chunk->codes_offset) + row * value_bytes(chunk->kind));
}

}  // namespace diptych::storage::encoding
