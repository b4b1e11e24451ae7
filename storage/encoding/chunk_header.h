// ChunkHeader: how a chunk, one column of up to 2^18 rows, lies in one run of bytes.
//
//   0                   64
//   | header            | parts of the encoding, each 8-byte aligned | null map | 32 zero bytes |
//
// All integers are little-endian; every place is an offset from the chunk's start, so the bytes are
// written to a file as they are and used where they are read to. The chunk starts at an address
// that is a multiple of 8 (64 for speed). The last 32 bytes let kernels read behind the last code
// (codes.h).
//
// What the parts are is drawn at the top of each encoding's source; the fields below that say
// "part" mean what that drawing says. The null map, bit i for row i, is there only where it is
// needed; a chunk of nulls alone is kConstant and has none.
//
// Invariants (of a chunk that Chunk::open accepted, and of all that encode and patch made)
//   C1  Every part lies between the header and the tail, and before the null map; what values
//       point at lies in its part. What a patch writes overlaps no other part.
//   C2  Bits of the null map behind the last row are 0; null_rows counts those that are set, or is
//       `rows` in a chunk of nulls alone.
//   C3  [min, max] covers the keys of all values that are not null; of a text, its first 8 bytes
//       (text_key). No value: min > max.

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "storage/encoding/column.h"

namespace diptych::storage::encoding {

enum class Encoding : uint8_t {
  kConstant,
  kFrame,        // 8, 16, 24 or 32 bits a value
  kPackedFrame,  // any other number of bits
  kPlain,
  kDictionary,
  kPackedText,
  kSymbolText,
  kZstd,
  kSpacedDictionary,  // of texts, thawed
  kPatchedText,       // a form of texts that takes no patch, thawed
  kSymbolDictionary,
};
inline constexpr int kEncodings = 11;

inline constexpr uint32_t kChunkRowsMax = 1U << 18;
inline constexpr uint32_t kChunkTailBytes = 32;
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"

struct ChunkHeader {
  uint32_t magic;
  uint32_t bytes;  // of the chunk
  uint32_t rows;
  Encoding encoding;
  ValueKind kind;
  uint8_t code_bits;    // of a code
  uint8_t length_bits;  // of a text's length
  uint32_t null_rows;
  uint32_t nulls_offset;  // 0: no null map
  uint32_t codes_offset;  // part
  uint32_t table_offset;  // part
  uint32_t text_offset;   // part
  uint32_t entries;       // of the part at table_offset
  int64_t base;
  int64_t min;
  int64_t max;

  const std::byte* at(uint32_t offset) const {
    return reinterpret_cast<const std::byte*>(this) + offset;
  }
  std::byte* at(uint32_t offset) { return reinterpret_cast<std::byte*>(this) + offset; }
  template <class Value>
  const Value* array(uint32_t offset) const {
    return reinterpret_cast<const Value*>(at(offset));
  }
  template <class Value>
  Value* array(uint32_t offset) {
    return reinterpret_cast<Value*>(at(offset));
  }
  // True if `size` bytes at `offset` are a part, aligned, and end at `end` or before.
  bool holds_before(uint64_t end, uint32_t offset, uint64_t size) const {
    return offset % 8 == 0 && offset >= sizeof(ChunkHeader) && offset + size <= end;
  }
  // The same of an encoding's part (C1).
  bool holds(uint32_t offset, uint64_t size) const {
    return holds_before(nulls_offset != 0 ? nulls_offset : bytes - kChunkTailBytes, offset, size);
  }
  bool all_null() const { return null_rows == rows; }
};
static_assert(sizeof(ChunkHeader) == 64 && std::is_trivially_copyable_v<ChunkHeader>);

}  // namespace diptych::storage::encoding
