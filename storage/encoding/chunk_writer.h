// ChunkWriter: the bytes of a chunk that is being made: a header, then parts, then the tail.
//
// Memory    one growing run of bytes; pointers into it are valid until the next part is added.

#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "base/alignment.h"
#include "base/check.h"
#include "storage/encoding/chunk_bytes.h"
#include "storage/encoding/chunk_header.h"

namespace diptych::storage::encoding {

class ChunkWriter {
 public:
  explicit ChunkWriter(uint64_t bytes_estimate) {
    bytes_.reserve(bytes_estimate + 1024);
    bytes_.resize(sizeof(ChunkHeader));
  }

  ChunkHeader& header() { return *reinterpret_cast<ChunkHeader*>(bytes_.data()); }
  // The offset of a new part of zeros, which may be written for 8 bytes behind its end, too.
  uint32_t add_part(uint64_t size) {
    const size_t offset = end_;
    end_ = base::round_up<uint64_t>(end_ + size, 8);
    DIPTYCH_CHECK(end_ + kChunkTailBytes <= std::numeric_limits<uint32_t>::max(),
                  "encode() takes no column that is too large for offsets of 32 bits");
    bytes_.resize(end_ + kChunkTailBytes);
    return static_cast<uint32_t>(offset);
  }
  // A part with these bytes, which are no part of this chunk.
  uint32_t add_copy(std::span<const std::byte> part) {
    const uint32_t offset = add_part(0);
    bytes_.resize(end_);
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    add_part(part.size());
    return offset;
  }
  std::byte* at(uint32_t offset) { return bytes_.data() + offset; }

  ChunkBytes finish() {
    bytes_.resize(end_);
    bytes_.resize(end_ + kChunkTailBytes);
    header().bytes = static_cast<uint32_t>(bytes_.size());
    return std::move(bytes_);
  }

 private:
  ChunkBytes bytes_;
  uint64_t end_ = sizeof(ChunkHeader);
};

}  // namespace diptych::storage::encoding
