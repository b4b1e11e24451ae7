// Plain texts: bytes as they are, with room for patches: what a chunk of texts is thawed to.
//
//   table_offset: | slots: rows * { u32 offset in the heap, u32 size } |
//   text_offset:  | heap: entries bytes, of which base are in use |
//
// A patch that is not longer than the text before it overwrites it; a longer one takes new bytes of
// the heap, and what it leaves is lost until the chunk is thawed anew. When the heap is full, the
// chunk does not take the patch. A run is StringRefs into the heap: no text is copied.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {
namespace {

struct PlainSlot {
  uint32_t offset;
  uint32_t size;
};

const PlainSlot* slots_of(const ChunkHeader& chunk) {
  return chunk.array<PlainSlot>(chunk.table_offset);
}

// An eighth more, and at least a page's worth: some hundred patches.
uint64_t heap_bytes(uint64_t text_bytes) {
  return text_bytes + text_bytes / 8 + 4096;
}

struct PlaceOfText {
  const ChunkHeader* chunk;

  std::string_view operator()(uint32_t row) const {
    const PlainSlot& slot = slots_of(*chunk)[row];
    return {chunk->array<char>(chunk->text_offset) + slot.offset, slot.size};
  }
};

// Up to so many ranges, a pass a range over the texts' first bytes; beyond, a search a text.
constexpr size_t kHeadPassesMax = 4;

// The first 8 bytes of a text as a number of the same order; zeros behind its end. Bytes behind it
// are read: at least 8 follow a heap.
uint64_t text_head(const char* text, uint32_t size) {
  static constexpr auto kMasks = [] {
    std::array<uint64_t, 9> masks{};
    for (uint32_t i = 1; i <= 8; ++i) masks[i] = ~uint64_t{0} << (8 * (8 - i));
    return masks;
  }();
  uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return __builtin_bswap64(word) & kMasks[std::min(size, 8U)];
}
uint64_t text_head(std::string_view text) {
  return static_cast<uint64_t>(text_key(text)) ^ (uint64_t{1} << 63);
}

// Ranges of texts, without a branch on the text unless its first bytes are those of a bound.
class HeadFilter final : public RowFilter {
 public:
  HeadFilter(const ChunkHeader& chunk, std::span<const TextRange> ranges)
      : slots_(slots_of(chunk)), heap_(chunk.array<char>(chunk.text_offset)) {
    for (const TextRange& range : ranges) {
      ranges_.push_back({range, text_head(range.first), range.end ? text_head(*range.end) : ~0ULL});
    }
  }

 private:
  struct Bounds {
    TextRange range;
    uint64_t first;
    uint64_t end;
  };

  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    const PlainSlot* const slots = slots_ + first;
    uint64_t heads[kVectorRows];
    for (uint32_t i = 0; i < count; i += 64) {
      const uint32_t end = std::min(count, i + 64);
      if (wanted[i / 64] == 0) {
        std::fill(heads + i, heads + end, 0);
        continue;
      }
      for (uint32_t row = i; row < end; ++row) {
        heads[row] = text_head(heap_ + slots[row].offset, slots[row].size);
      }
    }
    for (const Bounds& bounds : ranges_) {
      uint64_t unclear[kVectorRows / 64] = {};
      select_range(heads, count, bounds.first, bounds.first, unclear);
      if (bounds.end > bounds.first) select_range(heads, count, bounds.end, bounds.end, unclear);
      // By their difference: behind the highest head, counting begins anew.
      if (bounds.end > bounds.first && bounds.end - bounds.first > 1) {
        select_range(heads, count, bounds.first + 1, bounds.end - 1, passing);
      }
      for (uint32_t w = 0; w * 64 < count; ++w) {
        for (uint64_t rest = unclear[w] & wanted[w]; rest != 0; rest &= rest - 1) {
          const auto bit = static_cast<uint32_t>(std::countr_zero(rest));
          const PlainSlot& slot = slots[w * 64 + bit];
          const std::string_view text(heap_ + slot.offset, slot.size);
          passing[w] |= uint64_t{bounds.range.holds(text)} << bit;
        }
      }
    }
  }

  const PlainSlot* slots_;
  const char* heap_;
  std::vector<Bounds> ranges_;
};

class PlainTexts final : public TextCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    return PlainTextsWriter::bytes(column.rows(), column.text_bytes());
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    PlainTextsWriter texts(column.rows(), column.text_bytes(), writer);
    for (const std::string_view text : column.texts()) texts.add(text);
    texts.finish();
    return true;
  }
  const char* problem(const ChunkHeader& chunk) const override {
    if (!chunk.holds(chunk.text_offset, chunk.entries)) return "its texts end outside it";
    if (!chunk.holds_before(chunk.text_offset, chunk.table_offset,
                            chunk.rows * sizeof(PlainSlot))) {
      return "its slots end behind its heap's start";
    }
    if (chunk.base < 0 || chunk.base > chunk.entries) return "more of its heap is used than is";
    const PlainSlot* const slots = slots_of(chunk);
    for (uint32_t row = 0; row < chunk.rows; ++row) {
      if (uint64_t{slots[row].offset} + slots[row].size > static_cast<uint64_t>(chunk.base)) {
        return "a text ends outside its heap";
      }
    }
    return nullptr;
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* /*scratch*/) const override {
    return PlaceOfText{&chunk}(row);
  }
  uint64_t text_bytes(const ChunkHeader& chunk) const override {
    uint64_t bytes = 0;
    for (uint32_t row = 0; row < chunk.rows; ++row) bytes += slots_of(chunk)[row].size;
    return bytes;
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    auto* const out = buffer->room<base::StringRef>(count);
    for (uint32_t i = 0; i < count; ++i) {
      out[i] = base::StringRef(text_at(chunk, first + i, nullptr));
    }
  }
  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                   std::span<const uint16_t> slots, RunBuffer* buffer) const override {
    auto* const out = buffer->room<base::StringRef>(count);
    for (const uint16_t slot : slots) {
      out[slot] = base::StringRef(text_at(chunk, first + slot, nullptr));
    }
  }
  uint32_t rows_a_slot() const override { return 1; }
  RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    if (ranges.size() > kHeadPassesMax) return filter_texts(PlaceOfText{&chunk}, ranges);
    return {Passes::kSome, std::make_unique<HeadFilter>(chunk, ranges)};
  }
  RowAnswer filter(const ChunkHeader& chunk, const Suffix& suffix) const override {
    return filter_texts(PlaceOfText{&chunk}, suffix);
  }

  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    auto* const slots = chunk->array<PlainSlot>(chunk->table_offset);
    const auto used = static_cast<uint32_t>(chunk->base);
    PlainSlot slot{slots[row].offset, static_cast<uint32_t>(text.size())};
    if (text.size() > slots[row].size) {
      if (text.size() > chunk->entries - used) return false;
      slot.offset = used;
      chunk->base = used + slot.size;
    }
    // memmove: the new text may be a part of the old one.
    std::memmove(chunk->array<char>(chunk->text_offset) + slot.offset, text.data(), text.size());
    slots[row] = slot;
    return true;
  }
};

constexpr PlainTexts kPlainTextsCodec;

}  // namespace

uint64_t PlainTextsWriter::bytes(uint64_t rows, uint64_t text_bytes) {
  return rows * sizeof(PlainSlot) + heap_bytes(text_bytes);
}

PlainTextsWriter::PlainTextsWriter(uint32_t rows, uint64_t text_bytes, ChunkWriter* writer) {
  const uint32_t table = writer->add_part(rows * sizeof(PlainSlot));
  const uint64_t bytes = heap_bytes(text_bytes);
  const uint32_t heap = writer->add_part(bytes);
  header_ = &writer->header();
  header_->table_offset = table;
  header_->text_offset = heap;
  header_->entries = static_cast<uint32_t>(bytes);
}

void PlainTextsWriter::add(std::string_view text) {
  header_->array<PlainSlot>(header_->table_offset)[row_++] = {used_,
                                                              static_cast<uint32_t>(text.size())};
  std::copy(text.begin(), text.end(), header_->array<char>(header_->text_offset) + used_);
  used_ += static_cast<uint32_t>(text.size());
}

void PlainTextsWriter::finish() {
  header_->base = used_;
}

const TextCodec& plain_texts() {
  return kPlainTextsCodec;
}

}  // namespace diptych::storage::encoding
