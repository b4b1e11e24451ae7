// Patched texts: a frozen chunk of texts, and beside it those that changed since: what packed text,
// symbol text and dictionaries of it are thawed to while few of their rows change, so that a thaw
// copies the chunk and decodes nothing of it.
//
//   table_offset: | places: u32 a row: of its slot in the heap; 0: it has its frozen text |
//   text_offset:  | heap: 8 bytes of nothing, then slots { u32 size, u32 room, room bytes } |
//                   entries bytes, of which base are in use
//   codes_offset: | the frozen chunk, whole; its null map and bounds are of before |
//
// A text that fits its row's slot overwrites it; else it takes a new slot, with a quarter more room
// than it needs, as texts that grew once grow again. What a slot leaves is lost until the chunk is
// thawed anew: then the heap has twice what is in it, and where more than an eighth of the rows
// have changed, all become plain texts.

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/alignment.h"
#include "storage/encoding/chunk.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/encode.h"

namespace diptych::storage::encoding {
namespace {

struct PatchedSlot {
  uint32_t size;
  uint32_t room;
};
constexpr uint64_t kHeapBegin = 8;  // place 0 is none
constexpr uint64_t kPatchedHeapMin = 4096;
constexpr uint32_t kPatchedShareMax = 8;  // one row of so many, when it is thawed anew

const uint32_t* places_of(const ChunkHeader& chunk) {
  return chunk.array<uint32_t>(chunk.table_offset);
}
const ChunkHeader& frozen_of(const ChunkHeader& chunk) {
  return *chunk.array<ChunkHeader>(chunk.codes_offset);
}
const TextCodec& codec_of_frozen(const ChunkHeader& frozen) {
  return *text_codec(frozen.encoding);
}
bool can_be_frozen_part(Encoding encoding) {
  return encoding == Encoding::kPackedText || encoding == Encoding::kSymbolText ||
         encoding == Encoding::kSymbolDictionary;
}
std::string_view slot_text(const ChunkHeader& chunk, uint32_t place) {
  const auto* const slot = chunk.array<PatchedSlot>(chunk.text_offset + place);
  return {reinterpret_cast<const char*>(slot + 1), slot->size};
}
// Of a text of so many bytes; more than a heap has where that is no slot.
uint64_t slot_bytes(uint64_t size) {
  return sizeof(PatchedSlot) + base::round_up<uint64_t>(size + size / 4, 8);
}

// The answer of the frozen chunk, but for rows with a text of their own, which is asked `holds`.
template <class Holds>
class PatchedFilter final : public RowFilter {
 public:
  PatchedFilter(const ChunkHeader& chunk, RowAnswer frozen, Holds holds)
      : chunk_(chunk), frozen_(std::move(frozen)), holds_(std::move(holds)) {}

 private:
  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    const uint32_t words = bitmap_words(count);
    if (frozen_.passes != Passes::kNone) std::copy_n(wanted, words, passing);
    if (frozen_.passes == Passes::kSome) frozen_.filter->narrow(first, count, passing);
    const uint32_t* const places = places_of(chunk_) + first;
    for (uint32_t w = 0; w < words; ++w) {
      for (uint64_t rest = wanted[w]; rest != 0; rest &= rest - 1) {
        const auto bit = static_cast<uint32_t>(std::countr_zero(rest));
        const uint32_t place = places[w * 64 + bit];
        if (place == 0) continue;
        const uint64_t passes = holds_(slot_text(chunk_, place)) ? 1 : 0;
        passing[w] = (passing[w] & ~(uint64_t{1} << bit)) | passes << bit;
      }
    }
  }

  const ChunkHeader& chunk_;
  RowAnswer frozen_;
  Holds holds_;
};

class PatchedTexts final : public TextCodec {
 public:
  // It comes from thawing alone.
  std::optional<uint64_t> estimate(const ColumnProfile& /*column*/) const override {
    return std::nullopt;
  }
  bool encode(const ColumnProfile& /*column*/, ChunkWriter* /*writer*/) const override {
    return false;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (!chunk.holds_before(chunk.text_offset, chunk.table_offset, chunk.rows * sizeof(uint32_t))) {
      return "its rows' places end behind its heap's start";
    }
    if (!chunk.holds_before(chunk.codes_offset, chunk.text_offset, chunk.entries)) {
      return "its heap ends behind its frozen texts' start";
    }
    if (chunk.base < static_cast<int64_t>(kHeapBegin) || chunk.base > chunk.entries) {
      return "more of its heap is used than is";
    }
    if (chunk.base % 8 != 0) return "its heap's next slot is not aligned";
    if (const char* const what = frozen_problem(chunk)) return what;
    return slots_problem(chunk);
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* scratch) const override {
    if (const uint32_t place = places_of(chunk)[row]; place != 0) return slot_text(chunk, place);
    const ChunkHeader& frozen = frozen_of(chunk);
    return codec_of_frozen(frozen).text_at(frozen, row, scratch);
  }
  uint64_t text_bytes(const ChunkHeader& chunk) const override {
    const ChunkHeader& frozen = frozen_of(chunk);
    uint64_t bytes = codec_of_frozen(frozen).text_bytes(frozen);
    std::string scratch;
    for (uint32_t row = 0; row < chunk.rows; ++row) {
      const uint32_t place = places_of(chunk)[row];
      if (place == 0) continue;
      bytes += slot_text(chunk, place).size();
      bytes -= codec_of_frozen(frozen).text_at(frozen, row, &scratch).size();
    }
    return bytes;
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    const ChunkHeader& frozen = frozen_of(chunk);
    codec_of_frozen(frozen).decode(frozen, first, count, buffer);
    buffer->entry_count = 0;  // codes are not of patched rows
    auto* const texts = reinterpret_cast<base::StringRef*>(buffer->values.data());
    const uint32_t* const places = places_of(chunk) + first;
    for (uint32_t i = 0; i < count; ++i) {
      if (places[i] != 0) texts[i] = base::StringRef(slot_text(chunk, places[i]));
    }
  }
  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                   std::span<const uint16_t> slots, RunBuffer* buffer) const override {
    const ChunkHeader& frozen = frozen_of(chunk);
    codec_of_frozen(frozen).decode_some(frozen, first, count, slots, buffer);
    auto* const texts = reinterpret_cast<base::StringRef*>(buffer->values.data());
    for (const uint16_t slot : slots) {
      const uint32_t place = places_of(chunk)[first + slot];
      if (place != 0) texts[slot] = base::StringRef(slot_text(chunk, place));
    }
  }
  uint32_t rows_a_slot() const override { return packed_texts().rows_a_slot(); }

  RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    const ChunkHeader& frozen = frozen_of(chunk);
    return answer(chunk, codec_of_frozen(frozen).filter(frozen, ranges),
                  [own = std::vector(ranges.begin(), ranges.end())](std::string_view text) {
                    return in_ranges(own, text);
                  });
  }
  RowAnswer filter(const ChunkHeader& chunk, const Suffix& suffix) const override {
    const ChunkHeader& frozen = frozen_of(chunk);
    return answer(chunk, codec_of_frozen(frozen).filter(frozen, suffix),
                  [suffix](std::string_view text) { return suffix.holds(text); });
  }

  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    uint32_t& place = chunk->array<uint32_t>(chunk->table_offset)[row];
    auto* slot = chunk->array<PatchedSlot>(chunk->text_offset + place);
    if (place == 0 || text.size() > slot->room) {
      const auto used = static_cast<uint64_t>(chunk->base);
      const uint64_t bytes = slot_bytes(text.size());
      if (bytes > chunk->entries - used) return false;
      place = static_cast<uint32_t>(used);
      chunk->base += static_cast<int64_t>(bytes);
      slot = chunk->array<PatchedSlot>(chunk->text_offset + place);
      slot->room = static_cast<uint32_t>(bytes - sizeof(PatchedSlot));
    }
    slot->size = static_cast<uint32_t>(text.size());
    // memmove: the new text may be a part of the old one.
    std::memmove(slot + 1, text.data(), text.size());
    return true;
  }

 private:
  static const char* frozen_problem(const ChunkHeader& chunk) {
    if (!chunk.holds(chunk.codes_offset, sizeof(ChunkHeader))) return "it lacks its frozen texts";
    const ChunkHeader& frozen = frozen_of(chunk);
    if (!chunk.holds(chunk.codes_offset, frozen.bytes)) return "its frozen texts end outside it";
    if (!can_be_frozen_part(frozen.encoding)) return "its frozen texts have another form";
    if (frozen.kind != ValueKind::kText || frozen.rows != chunk.rows) {
      return "its frozen texts are of other rows";
    }
    const auto opened = Chunk::open({chunk.at(chunk.codes_offset), frozen.bytes});
    return opened ? nullptr : "its frozen texts are damaged";
  }

  // Each slot has its room for itself: a patch would make another's size anything.
  static const char* slots_problem(const ChunkHeader& chunk) {
    const uint32_t* const rows = places_of(chunk);
    std::vector<uint32_t> places;
    std::copy_if(rows, rows + chunk.rows, std::back_inserter(places),
                 [](uint32_t place) { return place != 0; });
    std::ranges::sort(places);
    const auto used = static_cast<uint64_t>(chunk.base);
    uint64_t end = kHeapBegin;  // of the slot before
    for (const uint32_t place : places) {
      if (place % 8 != 0 || place + sizeof(PatchedSlot) > used) return "a row has no slot";
      if (place < end) return "texts of two rows overlap";
      const auto* const slot = chunk.array<PatchedSlot>(chunk.text_offset + place);
      end = place + sizeof(PatchedSlot) + slot->room;
      if (slot->size > slot->room || end > used) return "a text ends outside its heap";
    }
    return nullptr;
  }

  template <class Holds>
  static RowAnswer answer(const ChunkHeader& chunk, RowAnswer frozen, Holds holds) {
    if (frozen.passes == Passes::kSome && frozen.filter == nullptr) return frozen;
    return {Passes::kSome,
            std::make_unique<PatchedFilter<Holds>>(chunk, std::move(frozen), std::move(holds))};
  }
};

constexpr PatchedTexts kPatchedTextsCodec;

}  // namespace

bool patch_texts(const ChunkHeader& from, uint64_t text_bytes, ChunkWriter* writer) {
  const bool again = from.encoding == Encoding::kPatchedText;
  if (!again && !can_be_frozen_part(from.encoding)) return false;
  const ChunkHeader& frozen = again ? frozen_of(from) : from;
  uint64_t patched_rows = 0;
  uint64_t patched_bytes = 0;
  for (uint32_t row = 0; again && row < from.rows; ++row) {
    const uint32_t place = places_of(from)[row];
    if (place == 0) continue;
    ++patched_rows;
    patched_bytes += slot_bytes(slot_text(from, place).size());
  }
  if (patched_rows > from.rows / kPatchedShareMax) return false;
  const uint64_t free_bytes =
      std::max<uint64_t>({patched_bytes, frozen.bytes / 4, kPatchedHeapMin});
  const uint64_t heap_bytes = kHeapBegin + patched_bytes + free_bytes + slot_bytes(text_bytes);
  // With the frozen texts its places are far below 2^32.
  if (heap_bytes > kChunkTextBytesMax) return false;
  const uint32_t table = writer->add_part(from.rows * sizeof(uint32_t));
  const uint32_t heap = writer->add_part(heap_bytes);
  const uint32_t frozen_part = writer->add_copy({frozen.at(0), frozen.bytes});
  ChunkHeader& header = writer->header();
  header.table_offset = table;
  header.text_offset = heap;
  header.codes_offset = frozen_part;
  header.entries = static_cast<uint32_t>(heap_bytes);
  header.base = kHeapBegin;
  for (uint32_t row = 0; again && row < from.rows; ++row) {
    const uint32_t place = places_of(from)[row];
    if (place == 0) continue;
    DIPTYCH_CHECK(kPatchedTextsCodec.patch(&header, row, slot_text(from, place)),
                  "the heap has room for what it had");
  }
  return true;
}

const TextCodec& patched_texts() {
  return kPatchedTextsCodec;
}

}  // namespace diptych::storage::encoding
