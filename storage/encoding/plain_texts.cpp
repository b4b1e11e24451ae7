// Plain texts: bytes as they are, with room for patches: what a chunk of texts is thawed to.
//
//   table_offset: | slots: rows * { u32 offset in the heap, u32 size } |
//   text_offset:  | heap: entries bytes, of which base are in use |
//
// A patch that is not longer than the text before it overwrites it; a longer one takes new bytes of
// the heap, and what it leaves is lost until the chunk is thawed anew. When the heap is full, the
// chunk does not take the patch. A run is StringRefs into the heap: no text is copied.

#include <algorithm>
#include <cstring>

#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {
namespace {

struct Slot {
  uint32_t offset;
  uint32_t size;
};

const Slot* slots_of(const ChunkHeader& chunk) {
  return chunk.array<Slot>(chunk.table_offset);
}

// An eighth more, and at least a page's worth: some hundred patches.
uint64_t heap_bytes(uint64_t text_bytes) {
  return text_bytes + text_bytes / 8 + 4096;
}

struct PlaceOfText {
  const ChunkHeader* chunk;

  std::string_view operator()(uint32_t row) const {
    const Slot& slot = slots_of(*chunk)[row];
    return {chunk->array<char>(chunk->text_offset) + slot.offset, slot.size};
  }
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
    if (!chunk.holds_before(chunk.text_offset, chunk.table_offset, chunk.rows * sizeof(Slot))) {
      return "its slots end behind its heap's start";
    }
    if (chunk.base < 0 || chunk.base > chunk.entries) return "more of its heap is used than is";
    const Slot* const slots = slots_of(chunk);
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
  RowAnswer test(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    return test_texts(PlaceOfText{&chunk}, ranges);
  }
  RowAnswer test(const ChunkHeader& chunk, const Suffix& suffix) const override {
    return test_texts(PlaceOfText{&chunk}, suffix);
  }

  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    auto* const slots = chunk->array<Slot>(chunk->table_offset);
    const auto used = static_cast<uint32_t>(chunk->base);
    Slot slot{slots[row].offset, static_cast<uint32_t>(text.size())};
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
  return rows * sizeof(Slot) + heap_bytes(text_bytes);
}

PlainTextsWriter::PlainTextsWriter(uint32_t rows, uint64_t text_bytes, ChunkWriter* writer) {
  const uint32_t table = writer->add_part(rows * sizeof(Slot));
  const uint64_t bytes = heap_bytes(text_bytes);
  const uint32_t heap = writer->add_part(bytes);
  header_ = &writer->header();
  header_->table_offset = table;
  header_->text_offset = heap;
  header_->entries = static_cast<uint32_t>(bytes);
}

void PlainTextsWriter::add(std::string_view text) {
  header_->array<Slot>(header_->table_offset)[row_++] = {used_, static_cast<uint32_t>(text.size())};
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
