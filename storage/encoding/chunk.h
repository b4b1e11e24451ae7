// Chunk: reads and patches of one encoded column where its bytes lie; the layout: chunk_header.h.
//
// A Chunk is a pointer. Chunks from a file come through open(), which looks at every size and
// offset and at every value that points at others, so that no later read leaves the bytes: damage
// is kCorrupt here and a crash never. What the bytes mean, their checksum vouches for.
//
// Costs     decode: a run of some thousand rows is best; plain numbers are a view at no cost.
//           filter: nothing a row where the SMA or the dictionary tells that all pass, or none.
//
// Threads   any number of readers; patch() and patch_numbers() with no reader of the same bytes.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/result.h"
#include "storage/encoding/chunk_filter.h"
#include "storage/encoding/chunk_header.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/number_patch.h"
#include "storage/encoding/predicate.h"

namespace diptych::storage::encoding {

// As in `diptych inspect`: "packed frame".
std::string_view encoding_name(Encoding encoding);

enum class Patch : uint8_t {
  kDone,
  kNeedsThaw,  // nothing was changed: this form cannot take the value; thaw() makes one that can
};

class Chunk {
 public:
  // kCorrupt: what is wrong, without a place, which the caller adds. The bytes start at a multiple
  // of 8 and stay while the Chunk is used.
  static base::Result<Chunk> open(std::span<const std::byte> bytes);
  // Of bytes that encode() or thaw() made, or that were opened before.
  static Chunk trusted(std::span<const std::byte> bytes);

  Encoding encoding() const { return header_->encoding; }
  ValueKind kind() const { return header_->kind; }
  uint32_t rows() const { return header_->rows; }
  uint32_t null_rows() const { return header_->null_rows; }
  uint32_t bytes() const { return header_->bytes; }
  std::span<const std::byte> span() const { return {header_->at(0), header_->bytes}; }
  // The bounds of its values, as keys (C3).
  int64_t min() const { return header_->min; }
  int64_t max() const { return header_->max; }

  bool is_null(uint32_t row) const {
    if (header_->nulls_offset != 0) {
      return bit_is_set(header_->array<uint64_t>(header_->nulls_offset), row);
    }
    return header_->null_rows != 0;
  }
  // Of a chunk of texts: all of them together, those of null rows included.
  uint64_t text_bytes() const;

  // Rows [first, first + count); `first` is a multiple of 64. In the chunk or in the buffer.
  ColumnRun decode(uint32_t first, uint32_t count, RunBuffer* buffer) const;
  // The same, in which only values [slot] of the slots, which ascend, need be there: the others
  // are anything, of texts not even texts. Takes less time than decode() if decodes_some().
  ColumnRun decode_some(uint32_t first, uint32_t count, std::span<const uint16_t> slots,
                        RunBuffer* buffer) const;
  bool decodes_some(uint32_t slots, uint32_t count) const;

  // Which rows pass, without decoding any. Nothing: this form has to be decoded for that.
  std::optional<ChunkFilter> filter(const Predicate& predicate) const;

  // A hint that patches of rows row_at(i), i < count, come.
  template <class RowAt>
  void prefetch(size_t count, const RowAt& row_at) const {
    if (!has_frame(*header_)) {
      for (size_t i = 0; i < count; ++i) prefetch_other(row_at(i));
      return;
    }
    const std::byte* const codes = header_->at(header_->codes_offset);
    const uint64_t bits = header_->code_bits;
    for (size_t i = 0; i < count; ++i) __builtin_prefetch(codes + row_at(i) * bits / 8, 1);
    if (header_->null_rows == 0) return;
    for (size_t i = 0; i < count; ++i) prefetch_null(row_at(i));
  }
  // Writes one value into the chunk at `bytes` and widens its SMA. The text of the cell may be a
  // view of this chunk.
  [[nodiscard]] static Patch patch(std::span<std::byte> bytes, uint32_t row, const Cell& cell);
  // Writes numbers that are not null, row after row, as long as this form takes them by a store:
  // how many. The rest, if there is one, begins with a row for patch(). key_at(i, &key): false, if
  // value i is null.
  template <class RowAt, class KeyAt>
  static size_t patch_numbers(std::span<std::byte> bytes, size_t count, const RowAt& row_at,
                              const KeyAt& key_at) {
    auto* const header = reinterpret_cast<ChunkHeader*>(bytes.data());
    if (header->null_rows != 0 && header->nulls_offset == 0) return 0;
    const auto patch_with = [&](const auto& write) {
      return patch_each(header, count, row_at, key_at, write);
    };
    if (has_frame(*header)) return with_frame(header, patch_with);
    const bool is_plain = header->encoding == Encoding::kPlain && header->kind != ValueKind::kText;
    return is_plain ? with_plain(header, patch_with) : 0;
  }

 private:
  explicit Chunk(const ChunkHeader* header) : header_(header) {}
  static bool has_frame(const ChunkHeader& chunk) {
    return chunk.encoding == Encoding::kFrame || chunk.encoding == Encoding::kPackedFrame;
  }
  template <class RowAt, class KeyAt, class Write>
  static size_t patch_each(ChunkHeader* chunk, size_t count, const RowAt& row_at,
                           const KeyAt& key_at, const Write& write) {
    const bool has_null = chunk->null_rows != 0;
    int64_t min = chunk->min;
    int64_t max = chunk->max;
    size_t i = 0;
    for (; i < count; ++i) {
      const uint32_t row = row_at(i);
      DIPTYCH_DCHECK(row < chunk->rows, "a patch stays within its chunk");
      int64_t key;
      if (!key_at(i, &key) || !write(row, key)) break;
      min = std::min(min, key);
      max = std::max(max, key);
      if (has_null) set_not_null(chunk, row);
    }
    chunk->min = min;
    chunk->max = max;
    return i;
  }
  static void set_not_null(ChunkHeader* chunk, uint32_t row) {
    uint64_t& word = chunk->array<uint64_t>(chunk->nulls_offset)[row / 64];
    chunk->null_rows -= static_cast<uint32_t>(word >> (row % 64) & 1);
    word &= ~(uint64_t{1} << (row % 64));
  }
  void prefetch_null(uint32_t row) const {
    if (header_->nulls_offset == 0) return;
    __builtin_prefetch(header_->array<uint64_t>(header_->nulls_offset) + row / 64, 1);
  }
  void prefetch_other(uint32_t row) const;
  template <class Decode>
  ColumnRun decode_run(uint32_t first, uint32_t count, RunBuffer* buffer,
                       const Decode& decode) const;
  template <class Decode>
  void decode_numbers(uint32_t count, RunBuffer* buffer, const Decode& decode) const;
  const uint64_t* run_nulls(uint32_t first, uint32_t count, RunBuffer* buffer) const;
  RowAnswer filter_numbers(const Predicate& predicate) const;
  RowAnswer filter_texts(const Predicate& predicate) const;

  const ChunkHeader* header_;
};

}  // namespace diptych::storage::encoding
