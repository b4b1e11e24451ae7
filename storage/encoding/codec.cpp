#include "storage/encoding/codec.h"

#include <algorithm>

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

}  // namespace diptych::storage::encoding
