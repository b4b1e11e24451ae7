// TextPositions: where each text of a chunk starts, and how long it is, in a few bits a row.
//
//   | starts: u32 for each 32nd row | lengths: rows * length_bits bits, less the least length |
//
// Lengths and starts count units of the encoding: bytes, or letters of a few bits. A start is the
// one before in the array plus at most 31 lengths. Where all texts have one length (length_bits is
// 0) there is no part, and a start is a product.

#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "storage/encoding/chunk_header.h"
#include "storage/encoding/chunk_writer.h"
#include "storage/encoding/codes.h"

namespace diptych::storage::encoding {

class TextPositions {
 public:
  // Of a chunk that keeps them at codes_offset, with length_bits and the least length in base.
  explicit TextPositions(const ChunkHeader& chunk);

  // The bytes of the part.
  static uint64_t part_bytes(uint64_t rows, uint32_t length_bits);
  static uint32_t width(uint32_t length_min, uint32_t length_max);
  // Adds the part, sets the fields.
  static void write(std::span<const uint32_t> lengths, ChunkWriter* writer);
  // The sum of all lengths; nothing where the part is not one, or its starts are not the sums of
  // its lengths.
  static std::optional<uint64_t> check(const ChunkHeader& chunk);

  uint32_t length(uint32_t row) const { return least_ + static_cast<uint32_t>(lengths_[row]); }
  uint64_t start(uint32_t row) const;
  // The lengths of a run; `first` is a multiple of 64. Returns their sum.
  uint64_t lengths(uint32_t first, uint32_t count, uint32_t* out) const;

 private:
  static constexpr uint32_t kGroupRows = 32;

  const uint32_t* starts_;
  Codes lengths_;
  uint32_t least_;
};

// Makes StringRefs of `count` texts that lie one behind the other, readable for 12 bytes more.
void refer_to_texts(const char* text, std::span<const uint32_t> lengths, base::StringRef* out);

}  // namespace diptych::storage::encoding
