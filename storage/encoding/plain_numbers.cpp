// Plain numbers: values as they are in memory, INT, BIGINT and DOUBLE. Takes every patch.
//
//   codes_offset: | values: rows * value_bytes(kind) |
//
// This is the byte-aligned frame of the type's own width, with base 0: a run of it is a view.

#include <algorithm>
#include <cstring>
#include <limits>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {
namespace {

int64_t load_key(ValueKind kind, const std::byte* from) {
  if (kind == ValueKind::kInt32) {
    int32_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  int64_t value;
  std::memcpy(&value, from, sizeof value);
  return kind == ValueKind::kDouble ? turn_double_bits(value) : value;
}

void store_key(ValueKind kind, int64_t key, std::byte* to) {
  if (kind == ValueKind::kInt32) {
    const auto value = static_cast<int32_t>(key);
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const int64_t value = kind == ValueKind::kDouble ? turn_double_bits(key) : key;
  std::memcpy(to, &value, sizeof value);
}

bool in_ranges(std::span<const KeyRange> ranges, int64_t key) {
  const auto above =
      std::upper_bound(ranges.begin(), ranges.end(), key,
                       [](int64_t value, const KeyRange& range) { return value < range.first; });
  return above != ranges.begin() && key <= std::prev(above)->last;
}

// Signed or unsigned: select_range() compares differences.
template <class Lane, class Signed>
void select_in(const Lane* values, uint32_t count, std::span<const KeyRange> ranges,
               uint64_t* words) {
  using Limits = std::numeric_limits<Signed>;
  for (const KeyRange& range : ranges) {
    if (range.first > Limits::max() || range.last < Limits::min()) continue;
    const auto first = static_cast<Signed>(std::max<int64_t>(range.first, Limits::min()));
    const auto last = static_cast<Signed>(std::min<int64_t>(range.last, Limits::max()));
    select_range(values, count, static_cast<Lane>(first), static_cast<Lane>(last), words);
  }
}

class PlainNumbers final : public NumberCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    if (column.kind() == ValueKind::kBoolean) return std::nullopt;
    return uint64_t{column.rows()} * value_bytes(column.kind());
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    if (column.kind() == ValueKind::kBoolean) return false;
    const size_t size = value_bytes(column.kind());
    const uint32_t offset = writer->add_part(column.rows() * size);
    writer->header().codes_offset = offset;
    std::byte* to = writer->at(offset);
    for (const int64_t key : column.keys()) {
      store_key(column.kind(), key, to);
      to += size;
    }
    return true;
  }
  const char* problem(const ChunkHeader& chunk) const override {
    if (chunk.kind == ValueKind::kBoolean) return "booleans are not plain";
    const uint64_t bytes = uint64_t{chunk.rows} * value_bytes(chunk.kind);
    return chunk.holds(chunk.codes_offset, bytes) ? nullptr : "its values end outside it";
  }

  int64_t key_at(const ChunkHeader& chunk, uint32_t row) const override {
    return load_key(chunk.kind, place(chunk, row));
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint32_t* out) const override {
    std::memcpy(out, place(chunk, first), count * sizeof *out);
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint64_t* out) const override {
    for (uint32_t i = 0; i < count; ++i) {
      out[i] = static_cast<uint64_t>(load_key(chunk.kind, place(chunk, first + i)));
    }
  }
  const void* view(const ChunkHeader& chunk, uint32_t first) const override {
    return place(chunk, first);
  }

  void select(const ChunkHeader& chunk, std::span<const KeyRange> ranges,
              uint64_t* words) const override {
    std::fill_n(words, bitmap_words(chunk.rows), 0);
    if (ranges.size() > kPassesMax) {
      for (uint32_t i = 0; i < chunk.rows; ++i) {
        words[i / 64] |= uint64_t{in_ranges(ranges, key_at(chunk, i))} << (i % 64);
      }
      return;
    }
    if (chunk.kind == ValueKind::kInt32) {
      const auto* const values = chunk.array<uint32_t>(chunk.codes_offset);
      return select_in<uint32_t, int32_t>(values, chunk.rows, ranges, words);
    }
    if (chunk.kind == ValueKind::kInt64) {
      const auto* const values = chunk.array<uint64_t>(chunk.codes_offset);
      return select_in<uint64_t, int64_t>(values, chunk.rows, ranges, words);
    }
    uint64_t keys[kVectorRows];
    for (uint32_t first = 0; first < chunk.rows; first += kVectorRows) {
      const uint32_t count = std::min(kVectorRows, chunk.rows - first);
      decode(chunk, first, count, keys);
      select_in<uint64_t, int64_t>(keys, count, ranges, words + first / 64);
    }
  }

  bool patch(ChunkHeader* chunk, uint32_t row, int64_t key) const override {
    store_key(chunk->kind, key, const_cast<std::byte*>(place(*chunk, row)));
    return true;
  }

 private:
  static const std::byte* place(const ChunkHeader& chunk, uint32_t row) {
    return chunk.at(chunk.codes_offset) + row * value_bytes(chunk.kind);
  }
};

constexpr PlainNumbers kPlainNumbersCodec;

}  // namespace

const NumberCodec& plain_numbers() {
  return kPlainNumbersCodec;
}

}  // namespace diptych::storage::encoding
