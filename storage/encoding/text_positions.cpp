#include "storage/encoding/text_positions.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/alignment.h"
#include "storage/encoding/code_kernels.h"

namespace diptych::storage::encoding {
namespace {

uint64_t starts_bytes(uint64_t rows, uint64_t group_rows) {
  return base::round_up<uint64_t>((rows + group_rows - 1) / group_rows * sizeof(uint32_t), 8);
}

}  // namespace

TextPositions::TextPositions(const ChunkHeader& chunk)
    : starts_(chunk.array<uint32_t>(chunk.codes_offset)),
      lengths_{chunk.at(chunk.codes_offset) + starts_bytes(chunk.rows, kGroupRows),
               chunk.length_bits},
      least_(static_cast<uint32_t>(chunk.base)) {}

uint64_t TextPositions::part_bytes(uint64_t rows, uint32_t length_bits) {
  if (length_bits == 0) return 0;
  return starts_bytes(rows, kGroupRows) + code_array_bytes(rows, length_bits);
}

uint32_t TextPositions::width(uint32_t length_min, uint32_t length_max) {
  return std::min(code_bits(length_max - length_min, Lanes::k4), 32U);
}

void TextPositions::write(std::span<const uint32_t> lengths, ChunkWriter* writer) {
  uint32_t least = lengths.empty() ? 0 : UINT32_MAX;
  uint32_t most = 0;
  for (const uint32_t length : lengths) {
    least = std::min(least, length);
    most = std::max(most, length);
  }
  const uint32_t bits = width(least, most);
  const uint32_t part = writer->add_part(part_bytes(lengths.size(), bits));
  writer->header().codes_offset = part;
  writer->header().length_bits = static_cast<uint8_t>(bits);
  writer->header().base = least;
  if (bits == 0) return;
  const uint64_t starts = starts_bytes(lengths.size(), kGroupRows);
  CodeWriter codes(writer->at(part + static_cast<uint32_t>(starts)), bits);
  uint32_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (i % kGroupRows == 0) {
      std::memcpy(writer->at(part) + i / kGroupRows * sizeof start, &start, sizeof start);
    }
    codes.add(lengths[i] - least);
    start += lengths[i];
  }
  codes.finish();
}

std::optional<uint64_t> TextPositions::check(const ChunkHeader& chunk) {
  if (chunk.base < 0 || chunk.base > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  if (!is_code_width(chunk.length_bits, Lanes::k4)) return std::nullopt;
  if (chunk.length_bits == 0) return chunk.rows * static_cast<uint64_t>(chunk.base);
  if (!chunk.holds(chunk.codes_offset, part_bytes(chunk.rows, chunk.length_bits))) {
    return std::nullopt;
  }
  const TextPositions positions(chunk);
  uint64_t start = 0;
  uint32_t lengths[kVectorRows];
  for (uint32_t row = 0; row < chunk.rows; ++row) {
    if (row % kVectorRows == 0) {
      positions.lengths(row, std::min(kVectorRows, chunk.rows - row), lengths);
    }
    if (row % kGroupRows == 0 && positions.starts_[row / kGroupRows] != start) return std::nullopt;
    // Not base + code: that could pass 2^32 and begin anew.
    start += uint64_t{positions.least_} + positions.lengths_[row];
    if (lengths[row % kVectorRows] < positions.least_) return std::nullopt;
  }
  return start;
}

uint64_t TextPositions::start(uint32_t row) const {
  if (lengths_.bits == 0) return uint64_t{row} * least_;
  const uint32_t group = row / kGroupRows;
  uint64_t start = starts_[group] + uint64_t{row % kGroupRows} * least_;
  for (uint32_t i = group * kGroupRows; i < row; ++i) start += lengths_[i];
  return start;
}

uint64_t TextPositions::lengths(uint32_t first, uint32_t count, uint32_t* out) const {
  decode_codes(lengths_, first, count, least_, out);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += out[i];
  return sum;
}

void refer_to_texts(const char* text, std::span<const uint32_t> lengths, base::StringRef* out) {
  // StringRef's own layout (base/string_ref.h), without a call for each short text.
  static_assert(std::is_trivially_copyable_v<base::StringRef>);
  for (const uint32_t length : lengths) {
    uint32_t head;
    uint64_t tail;
    std::memcpy(&head, text, sizeof head);
    std::memcpy(&tail, text + sizeof head, sizeof tail);
    if (length <= base::StringRef::kInlineBytes) {
      if (length < 4) {
        head = static_cast<uint32_t>(head & ((uint64_t{1} << (8 * length)) - 1));
        tail = 0;
      } else if (length < 12) {
        tail &= (uint64_t{1} << (8 * (length - 4))) - 1;
      }
    } else {
      tail = reinterpret_cast<uintptr_t>(text);
    }
    struct {
      uint32_t size;
      uint32_t head;
      uint64_t tail;
    } const ref{length, head, tail};
    std::memcpy(static_cast<void*>(out++), &ref, sizeof ref);
    text += length;
  }
}

}  // namespace diptych::storage::encoding
