#include <algorithm>

#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {

uint64_t TextCodec::text_bytes(const ChunkHeader& chunk) const {
  uint64_t bytes = 0;
  RunBuffer buffer;
  for (uint32_t first = 0; first < chunk.rows; first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, chunk.rows - first);
    decode(chunk, first, count, &buffer);
    const auto* const refs = reinterpret_cast<const base::StringRef*>(buffer.values.data());
    for (uint32_t i = 0; i < count; ++i) bytes += refs[i].size();
  }
  return bytes;
}

void TextCodec::select(const ChunkHeader& chunk, std::span<const TextRange> ranges,
                       uint64_t* words) const {
  std::fill_n(words, bitmap_words(chunk.rows), 0);
  RunBuffer buffer;
  for (uint32_t first = 0; first < chunk.rows; first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, chunk.rows - first);
    decode(chunk, first, count, &buffer);
    const auto* const refs = reinterpret_cast<const base::StringRef*>(buffer.values.data());
    for (uint32_t i = 0; i < count; ++i) {
      words[(first + i) / 64] |= uint64_t{in_ranges(ranges, refs[i].view())} << (i % 64);
    }
  }
}

}  // namespace diptych::storage::encoding
