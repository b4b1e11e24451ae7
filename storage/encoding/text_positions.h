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
  // Sets bit i of `passing` where passes(start, length) of row first + i, for all wanted rows of a
  // run of at most kVectorRows, and others of their words.
  template <class Passes>
  void select(uint32_t first, uint32_t count, const uint64_t* wanted, uint64_t* passing,
              const Passes& passes) const {
    if (lengths_.bits == 0) {  // so that nothing in the loop depends on a row's length
      const uint32_t length = least_;
      const auto length_of = [length](uint32_t) { return length; };
      return select_each(start(first), count, length_of, wanted, passing, passes);
    }
    uint32_t lengths_of_run[kVectorRows];
    lengths(first, count, lengths_of_run);
    const auto length_of = [&](uint32_t i) { return lengths_of_run[i]; };
    select_each(start(first), count, length_of, wanted, passing, passes);
  }

 private:
  template <class LengthOf, class Passes>
  static void select_each(uint64_t start, uint32_t count, const LengthOf& length_of,
                          const uint64_t* wanted, uint64_t* passing, const Passes& passes) {
    for (uint32_t i = 0; i < count;) {
      const uint32_t end = i + 64 < count ? i + 64 : count;
      if (wanted[i / 64] == 0) {
        for (; i < end; ++i) start += length_of(i);
        continue;
      }
      uint64_t word = 0;
      const uint32_t from = i;
      for (; i < end; ++i) {
        word |= uint64_t{passes(start, length_of(i))} << (i - from);
        start += length_of(i);
      }
      passing[from / 64] = word;
    }
  }

  static constexpr uint32_t kGroupRows = 32;

  const uint32_t* starts_;
  Codes lengths_;
  uint32_t least_;
};

// Makes StringRefs of `count` texts that lie one behind the other, readable for 12 bytes more.
void refer_to_texts(const char* text, std::span<const uint32_t> lengths, base::StringRef* out);

}  // namespace diptych::storage::encoding
