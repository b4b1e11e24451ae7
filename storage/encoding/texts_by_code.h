// What dictionaries of texts share: a row's code is the place of its text in a table whose texts do
// not descend, so that comparisons and prefix LIKE are ranges of codes.
//
// AskedByCode   predicates; the texts of the table may have to be made
// TextsByCode   reads, too, of a table whose texts lie in the chunk

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {

// Entry: called with (chunk, code), the text in the table, as a view or a string; stateless.
template <class Entry>
class AskedByCode : public TextCodec {
 public:
  RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    std::vector<CodeRange> code_ranges;
    uint64_t end = 0;
    for (const TextRange& range : ranges) {
      const uint64_t first = lower_entry_from(end, chunk, range.first);
      end = range.end ? lower_entry_from(first, chunk, *range.end) : chunk.entries;
      if (first < end) code_ranges.push_back({first, end - 1});
      if (end == chunk.entries) break;
    }
    return filter_codes(codes_of(chunk), chunk.entries - 1, std::move(code_ranges));
  }
  // Each entry is looked at, and no row.
  RowAnswer filter(const ChunkHeader& chunk, const Suffix& suffix) const override {
    std::vector<CodeRange> code_ranges;
    for (uint64_t code = 0; code < chunk.entries; ++code) {
      if (!suffix.holds(Entry()(chunk, code))) continue;
      if (!code_ranges.empty() && code_ranges.back().last + 1 == code) {
        code_ranges.back().last = code;
      } else {
        code_ranges.push_back({code, code});
      }
    }
    return filter_codes(codes_of(chunk), chunk.entries - 1, std::move(code_ranges));
  }

 protected:
  ~AskedByCode() = default;

  static constexpr uint32_t kSharedEntriesMax = 256;

  // Of a table in order. But the empty text, which null rows have, too; and the bounds may be wider
  // than what is left of the texts.
  static bool bounds_cover_entries(const ChunkHeader& chunk) {
    const uint64_t first = lower_entry(chunk, std::string_view("\0", 1));
    if (chunk.min > chunk.max || first == chunk.entries) return true;
    return chunk.min <= text_key(Entry()(chunk, first)) &&
           text_key(Entry()(chunk, chunk.entries - 1)) <= chunk.max;
  }

  // The first code whose text is not below this one.
  static uint64_t lower_entry(const ChunkHeader& chunk, std::string_view text) {
    return first_code(chunk.entries, [&](uint64_t code) { return Entry()(chunk, code) < text; });
  }
  // The same, and not below `from`; the constants of a long IN are near each other in the table.
  static uint64_t lower_entry_from(uint64_t from, const ChunkHeader& chunk, std::string_view text) {
    if (from == 0) return lower_entry(chunk, text);
    uint64_t count = 1;  // of entries among which it is
    while (from + count <= chunk.entries && Entry()(chunk, from + count - 1) < text) {
      from += count;
      count *= 2;
    }
    count = std::min(count, chunk.entries - from);
    return from +
           first_code(count, [&](uint64_t code) { return Entry()(chunk, from + code) < text; });
  }
};

// Entry: as above; views into the chunk.
template <class Entry>
class TextsByCode : public AskedByCode<Entry> {
 public:
  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* /*scratch*/) const override {
    return Entry()(chunk, codes_of(chunk)[row]);
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    buffer->numbers.resize(count);
    decode_codes(codes_of(chunk), first, count, uint32_t{0}, buffer->numbers.data());
    auto* const out = buffer->room<base::StringRef>(count);
    const uint32_t* const codes = buffer->numbers.data();
    buffer->entry_count = chunk.entries;
    if (chunk.entries > AskedByCode<Entry>::kSharedEntriesMax || chunk.entries > count / 4) {
      for (uint32_t i = 0; i < count; ++i) out[i] = base::StringRef(Entry()(chunk, codes[i]));
      return;
    }
    // To make a reference takes longer than to copy one.
    buffer->entries.resize(chunk.entries);
    base::StringRef* const entries = buffer->entries.data();
    for (uint32_t code = 0; code < chunk.entries; ++code) {
      entries[code] = base::StringRef(Entry()(chunk, code));
    }
    for (uint32_t i = 0; i < count; ++i) out[i] = entries[codes[i]];
  }
  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                   std::span<const uint16_t> slots, RunBuffer* buffer) const override {
    auto* const out = buffer->room<base::StringRef>(count);
    const Codes codes = codes_of(chunk);
    for (const uint16_t slot : slots) {
      out[slot] = base::StringRef(Entry()(chunk, codes[first + slot]));
    }
  }
  uint32_t rows_a_slot() const override { return 1; }

 protected:
  ~TextsByCode() = default;
};

// The table of kDictionary.
struct DictionaryEntry {
  std::string_view operator()(const ChunkHeader& chunk, uint64_t code) const {
    const auto* const ends = chunk.array<uint32_t>(chunk.table_offset);
    const uint32_t start = code == 0 ? 0 : ends[code - 1];
    return {chunk.array<char>(chunk.text_offset) + start, ends[code] - start};
  }
};

}  // namespace diptych::storage::encoding
