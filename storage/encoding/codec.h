// NumberCodec, TextCodec: what an encoding does, for numbers and for texts.
//
// An encoding is one file with an object for each of the two that it can hold, stateless and known
// to codecs.cpp alone. Nulls, SMAs and the header are the same for all, and Chunk's matter:
// a codec sees a value in every row, decodes something for null ones, and is asked for ranges that
// already overlap the chunk's SMA.
//
// Contract of the reads: the chunk passed problem() (or was made by encode), rows are in range, and
// `first` is a multiple of 64.
//
// Threads    reads: any number. patch: one, and no reader meanwhile.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/encoding/chunk_header.h"
#include "storage/encoding/chunk_writer.h"
#include "storage/encoding/column_profile.h"
#include "storage/encoding/predicate.h"
#include "storage/encoding/row_filter.h"

namespace diptych::storage::encoding {

inline constexpr uint32_t kDictionaryEntriesMax = 1U << 16;

// Of an encoding that has codes at codes_offset.
inline Codes codes_of(const ChunkHeader& chunk) {
  return {chunk.at(chunk.codes_offset), chunk.code_bits};
}

// What is wrong with the codes of a dictionary, but for their values; nullptr: nothing. A patch may
// write the code of any entry.
inline const char* dictionary_codes_problem(const ChunkHeader& chunk) {
  if (chunk.entries == 0) return "its dictionary is empty";
  if (!is_code_width(chunk.code_bits, Lanes::k4)) return "its codes have no width";
  if (chunk.code_bits < code_bits(chunk.entries - 1, Lanes::k4)) {
    return "its codes are too narrow for its dictionary";
  }
  const bool holds = chunk.holds(chunk.codes_offset, code_array_bytes(chunk.rows, chunk.code_bits));
  return holds ? nullptr : "its codes end outside it";
}

class Codec {
 public:
  // The bytes of its parts, exact or from the sample; nothing where it cannot hold the column.
  virtual std::optional<uint64_t> estimate(const ColumnProfile& column) const = 0;
  // Writes the parts, and the header's fields about them. False where it turns out that it cannot.
  virtual bool encode(const ColumnProfile& column, ChunkWriter* writer) const = 0;
  // What is wrong with the parts of a chunk from elsewhere; nullptr: nothing (C1).
  virtual const char* problem(const ChunkHeader& chunk) const = 0;

 protected:
  ~Codec() = default;
};

class NumberCodec : public Codec {
 public:
  // Keys, modulo 2^32 for the kinds of 4-byte lanes (lanes_of).
  virtual void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                      uint32_t* out) const = 0;
  virtual void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                      uint64_t* out) const = 0;
  // At least rows first + slot, to out[slot]; slots ascend and are below `count`.
  virtual void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                           std::span<const uint16_t> /*slots*/, uint32_t* out) const {
    decode(chunk, first, count, out);
  }
  virtual void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                           std::span<const uint16_t> /*slots*/, uint64_t* out) const {
    decode(chunk, first, count, out);
  }
  // One slot in so many, or fewer: then decode_some() takes less time than decode(). 0: never.
  virtual uint32_t rows_a_slot() const { return 0; }
  // Where values lie as they are decoded to, so that a run of them is a view; else nullptr.
  virtual const void* view(const ChunkHeader& /*chunk*/, uint32_t /*first*/) const {
    return nullptr;
  }
  virtual RowAnswer filter(const ChunkHeader& chunk, std::span<const KeyRange> ranges) const = 0;
  // False, and nothing is changed, where this form cannot take the value.
  virtual bool patch(ChunkHeader* chunk, uint32_t row, int64_t key) const = 0;

 protected:
  ~NumberCodec() = default;
};

class TextCodec : public Codec {
 public:
  // In the chunk, or in `scratch`.
  virtual std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                                   std::string* scratch) const = 0;
  // Of all texts together, those of null rows included.
  virtual uint64_t text_bytes(const ChunkHeader& chunk) const;  // by decoding
  // StringRefs at the start of buffer->values, into the chunk or buffer->text; of a dictionary of
  // texts with codes also these and their number, and the entries if they are few.
  virtual void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                      RunBuffer* buffer) const = 0;
  // As NumberCodec's.
  virtual void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                           std::span<const uint16_t> /*slots*/, RunBuffer* buffer) const {
    decode(chunk, first, count, buffer);
  }
  virtual uint32_t rows_a_slot() const { return 0; }
  virtual RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const = 0;
  virtual RowAnswer filter(const ChunkHeader& chunk, const Suffix& suffix) const = 0;
  virtual bool patch(ChunkHeader* /*chunk*/, uint32_t /*row*/, std::string_view /*text*/) const {
    return false;
  }

 protected:
  ~TextCodec() = default;
};

// nullptr where the encoding is not for such values.
const NumberCodec* number_codec(Encoding encoding);
const TextCodec* text_codec(Encoding encoding);
const Codec* codec_of(Encoding encoding, ValueKind kind);

// A kFrame of which numbers in [min, max] use at most half the codes, with room on both sides;
// none where that is no narrower than plain. min > max: there is no number.
struct RoomyFrame {
  int64_t base;
  uint32_t bits;
};
std::optional<RoomyFrame> roomy_frame(ValueKind kind, int64_t min, int64_t max);

// The parts of a spaced dictionary with the rows of a constant or a dictionary, which may be spaced
// itself: wider than that one, with room for a text of so many bytes more. False, and nothing is
// added, where there are too many texts.
bool space_texts(const ChunkHeader& from, uint64_t text_bytes, ChunkWriter* writer);

// The parts of patched texts with the rows of packed, symbol or patched texts, and room for a text
// of so many bytes more. False, and nothing is added, for other forms, and where many rows are
// patched or the patches are too large.
bool patch_texts(const ChunkHeader& from, uint64_t text_bytes, ChunkWriter* writer);

// The parts of plain texts that come one by one, with room for patches.
class PlainTextsWriter {
 public:
  // What the parts take.
  static uint64_t bytes(uint64_t rows, uint64_t text_bytes);

  // Adds the parts. Until finish() no other is added to the writer's.
  PlainTextsWriter(uint32_t rows, uint64_t text_bytes, ChunkWriter* writer);
  void add(std::string_view text);
  void finish();

 private:
  ChunkHeader* header_;
  uint32_t row_ = 0;
  uint32_t used_ = 0;  // bytes of the heap
};

const NumberCodec& constant_numbers();
const TextCodec& constant_texts();
const NumberCodec& frames();
const NumberCodec& packed_frames();
const NumberCodec& plain_numbers();
const TextCodec& plain_texts();
const NumberCodec& number_dictionary();
const TextCodec& text_dictionary();
const TextCodec& spaced_dictionary();
const TextCodec& packed_texts();
const TextCodec& patched_texts();
const TextCodec& symbol_texts();
const TextCodec& symbol_dictionary();
const NumberCodec& zstd_numbers();
const TextCodec& zstd_texts();

}  // namespace diptych::storage::encoding
