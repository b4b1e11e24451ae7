// Constant: one value for all rows that are not null.
//
//   numbers    no parts: the key is header.base
//   texts      text_offset: | the text: entries bytes |

#include <algorithm>

#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {
namespace {

class ConstantNumbers final : public NumberCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    if (!column.all_equal()) return std::nullopt;
    return 0;
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    if (!column.all_equal()) return false;
    writer->header().base = column.min() <= column.max() ? column.min() : 0;
    return true;
  }
  const char* problem(const ChunkHeader& /*chunk*/) const override { return nullptr; }

  void decode(const ChunkHeader& chunk, uint32_t /*first*/, uint32_t count,
              uint32_t* out) const override {
    std::fill_n(out, count, static_cast<uint32_t>(chunk.base));
  }
  void decode(const ChunkHeader& chunk, uint32_t /*first*/, uint32_t count,
              uint64_t* out) const override {
    std::fill_n(out, count, static_cast<uint64_t>(chunk.base));
  }
  RowAnswer filter(const ChunkHeader& chunk, std::span<const KeyRange> ranges) const override {
    return RowAnswer::all_or_none(in_ranges(ranges, chunk.base));
  }
  bool patch(ChunkHeader* chunk, uint32_t /*row*/, int64_t key) const override {
    return key == chunk->base;
  }
};

class ConstantTexts final : public TextCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    if (!column.all_equal()) return std::nullopt;
    return column.length_max();
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    if (!column.all_equal()) return false;
    std::string_view text;  // the one that is not of a null row, which may be empty, too
    for (const std::string_view each : column.texts()) {
      if (each.size() > text.size()) text = each;
    }
    const uint32_t offset = writer->add_part(text.size());
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), writer->at(offset));
    writer->header().text_offset = offset;
    writer->header().entries = static_cast<uint32_t>(text.size());
    return true;
  }
  const char* problem(const ChunkHeader& chunk) const override {
    if (!chunk.holds(chunk.text_offset, chunk.entries)) return "its text ends outside it";
    const int64_t key = text_key(text_at(chunk, 0, nullptr));
    const bool is_bound = chunk.min > chunk.max || (chunk.min == key && chunk.max == key);
    return is_bound ? nullptr : "its bounds are not its text's";
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t /*row*/,
                           std::string* /*scratch*/) const override {
    return {chunk.array<char>(chunk.text_offset), chunk.entries};
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    buffer->numbers.assign(count, 0);
    buffer->entry_count = 1;
    buffer->entries.assign(1, base::StringRef(text_at(chunk, first, nullptr)));
    std::fill_n(buffer->room<base::StringRef>(count), count, buffer->entries[0]);
  }
  RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    return RowAnswer::all_or_none(in_ranges(ranges, text_at(chunk, 0, nullptr)));
  }
  RowAnswer filter(const ChunkHeader& chunk, const Suffix& suffix) const override {
    return RowAnswer::all_or_none(suffix.holds(text_at(chunk, 0, nullptr)));
  }
  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    return text == text_at(*chunk, row, nullptr);
  }
};

constexpr ConstantNumbers kConstantNumberCodec;
constexpr ConstantTexts kConstantTextCodec;

}  // namespace

const NumberCodec& constant_numbers() {
  return kConstantNumberCodec;
}
const TextCodec& constant_texts() {
  return kConstantTextCodec;
}

}  // namespace diptych::storage::encoding
