// Spaced dictionary of texts: a dictionary with free codes between its texts, so that one that it
// lacks gets a code at its place in their order: what a dictionary is thawed to.
//
//   table_offset: | slots: entries * { u32 offset, u32 size }, of a code's text in the heap |
//   text_offset:  | heap, up to the codes: base bytes are in use |
//   codes_offset: | codes: rows * 8 or 16 bits |
//
//   code    0  1  2  3  4  5  6  7  8  9 10 11
//   text    -  -  -  a  a  a  c  c  c  d  d  d      a patch with "b":  a  a  b  c  c  c
//
// A text has a run of codes. Rows have its first one; the others are free, and a new text takes
// those in the run before it from the middle on. Every code has a text, so searches know nothing of
// that, and predicates are ranges of codes as in any dictionary (texts_by_code.h). The first run is
// the empty text's, whether a row has it or not: there is always a run in front.
//
// It does not take a text for which no code is free, or no heap; nor one of over 1 KiB, so that
// rows which share it cannot make a column that takes long to freeze (../compressed_block.h: K2).
// Spaced anew it has twice the codes and the heap, without texts that no row has any more; at most
// as many codes as rows, or 256, so that this ends: then the chunk is thawed to plain texts.

#include <algorithm>
#include <bit>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/texts_by_code.h"

namespace diptych::storage::encoding {
namespace {

constexpr uint32_t kSpacedBitsMin = 8;
constexpr uint32_t kSpacedBitsMax = 16;
constexpr uint32_t kCodesATextFirst = 8;  // at least
constexpr uint32_t kCodesATextMin = 4;
constexpr uint64_t kFreeHeapMin = 4096;
constexpr uint64_t kSpacedTextBytesMax = 1024;

struct SpacedSlot {
  uint32_t offset;
  uint32_t size;
  bool operator==(const SpacedSlot&) const = default;
};

const SpacedSlot* spaced_slots(const ChunkHeader& chunk) {
  return chunk.array<SpacedSlot>(chunk.table_offset);
}

struct SpacedEntry {
  std::string_view operator()(const ChunkHeader& chunk, uint64_t code) const {
    const SpacedSlot& slot = spaced_slots(chunk)[code];
    return {chunk.array<char>(chunk.text_offset) + slot.offset, slot.size};
  }
};

class SpacedDictionary final : public TextsByCode<SpacedEntry> {
 public:
  // It comes from thawing alone.
  std::optional<uint64_t> estimate(const ColumnProfile& /*column*/) const override {
    return std::nullopt;
  }
  bool encode(const ColumnProfile& /*column*/, ChunkWriter* /*writer*/) const override {
    return false;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (chunk.entries == 0) return "its dictionary is empty";
    if (chunk.code_bits != 8 && chunk.code_bits != 16) return "its codes have no width";
    if (!chunk.holds(chunk.codes_offset, code_array_bytes(chunk.rows, chunk.code_bits))) {
      return "its codes end outside it";
    }
    if (chunk.base < 0 || chunk.base > chunk.bytes ||
        !chunk.holds_before(chunk.codes_offset, chunk.text_offset,
                            static_cast<uint64_t>(chunk.base))) {
      return "its texts end behind its codes' start";
    }
    const uint64_t table_bytes = uint64_t{chunk.entries} * sizeof(SpacedSlot);
    if (!chunk.holds_before(chunk.text_offset, chunk.table_offset, table_bytes)) {
      return "its dictionary ends behind its texts' start";
    }
    const SpacedSlot* const slots = spaced_slots(chunk);
    std::vector<uint8_t> begins_run(chunk.entries);
    for (uint32_t code = 0; code < chunk.entries; ++code) {
      const SpacedSlot& slot = slots[code];
      if (uint64_t{slot.offset} + slot.size > static_cast<uint64_t>(chunk.base)) {
        return "a text ends outside its heap";
      }
      begins_run[code] = code == 0 || slot != slots[code - 1] ? 1 : 0;
      if (code == 0 || begins_run[code] == 0) continue;
      if (SpacedEntry()(chunk, code - 1) >= SpacedEntry()(chunk, code)) {
        return "its dictionary is not in order";
      }
    }
    if (!bounds_cover_entries(chunk)) return "its bounds are not its dictionary's";
    const Codes codes = codes_of(chunk);
    for (uint32_t row = 0; row < chunk.rows; ++row) {
      const uint64_t code = codes[row];
      if (code >= chunk.entries || begins_run[code] == 0) return "a code is not in its dictionary";
    }
    return nullptr;
  }

  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    uint64_t code = lower_entry(*chunk, text);
    if (code == chunk->entries || SpacedEntry()(*chunk, code) != text) {
      const uint64_t end = code;
      if (end == 0) return false;
      const uint64_t before = lower_entry(*chunk, SpacedEntry()(*chunk, end - 1));
      const auto used = static_cast<uint64_t>(chunk->base);
      const uint64_t heap_bytes = chunk->codes_offset - chunk->text_offset;
      if (before + 1 == end || text.size() > heap_bytes - used) return false;
      if (text.size() > kSpacedTextBytesMax) return false;
      code = before + 1 + (end - before - 1) / 2;
      std::copy(text.begin(), text.end(), chunk->array<char>(chunk->text_offset) + used);
      const SpacedSlot slot{static_cast<uint32_t>(used), static_cast<uint32_t>(text.size())};
      auto* const slots = chunk->array<SpacedSlot>(chunk->table_offset);
      std::fill(slots + code, slots + end, slot);
      chunk->base += slot.size;
    }
    set_code(chunk->at(chunk->codes_offset), chunk->code_bits, row, code);
    return true;
  }
};

constexpr SpacedDictionary kSpacedDictionaryCodec;

// The codes of a chunk that has such, or one for all rows.
Codes codes_of_source(const ChunkHeader& from) {
  return from.encoding == Encoding::kConstant ? Codes{nullptr, 0} : codes_of(from);
}

template <class Visit>  // of (first row, codes)
void for_code_runs(Codes codes, uint32_t rows, const Visit& visit) {
  uint32_t run[kVectorRows];
  for (uint32_t first = 0; first < rows; first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, rows - first);
    decode_codes(codes, first, count, uint32_t{0}, run);
    visit(first, std::span<const uint32_t>(run, count));
  }
}

struct SourceTexts {
  std::vector<std::string_view> texts;  // in order, the empty one in front
  std::vector<uint32_t> of_code;        // which of them; of codes that rows have
  uint64_t bytes = 0;
  uint64_t longest_bytes = 0;
};

SourceTexts texts_of(const ChunkHeader& from) {
  const bool is_spaced = from.encoding == Encoding::kSpacedDictionary;
  const bool is_constant = from.encoding == Encoding::kConstant;
  const uint32_t codes = is_constant ? 1 : from.entries;
  std::vector<uint8_t> used(codes);
  for_code_runs(codes_of_source(from), from.rows, [&](uint32_t, std::span<const uint32_t> run) {
    for (const uint32_t code : run) used[code] = 1;
  });
  SourceTexts found{{std::string_view()}, std::vector<uint32_t>(codes)};
  for (uint32_t code = 0; code < codes; ++code) {
    if (used[code] == 0) continue;
    const std::string_view text = is_constant ? constant_texts().text_at(from, 0, nullptr)
                                  : is_spaced ? SpacedEntry()(from, code)
                                              : DictionaryEntry()(from, code);
    if (!text.empty()) found.texts.push_back(text);
    found.bytes += text.size();
    found.longest_bytes = std::max<uint64_t>(found.longest_bytes, text.size());
    found.of_code[code] = static_cast<uint32_t>(found.texts.size() - 1);
  }
  return found;
}

}  // namespace

bool space_texts(const ChunkHeader& from, uint64_t text_bytes, ChunkWriter* writer) {
  const uint32_t bits_max = std::clamp(static_cast<uint32_t>(std::bit_width(from.rows)) - 1,
                                       kSpacedBitsMin, kSpacedBitsMax);
  const bool again = from.encoding == Encoding::kSpacedDictionary;
  if (again && from.entries >= 1U << bits_max) return false;
  const SourceTexts source = texts_of(from);
  if (std::max(source.longest_bytes, text_bytes) > kSpacedTextBytesMax) return false;
  const uint64_t texts = source.texts.size();
  const auto first_bits = static_cast<uint32_t>(std::bit_width(texts * kCodesATextFirst - 1));
  const uint32_t bits = again ? static_cast<uint32_t>(std::bit_width(from.entries))
                              : std::clamp(first_bits, kSpacedBitsMin, bits_max);
  const uint32_t codes = 1U << bits;
  if (texts * kCodesATextMin > codes) return false;

  const uint32_t code_bits = aligned_code_bits(codes - 1, Lanes::k4);
  const uint64_t heap = source.bytes + std::max(source.bytes, kFreeHeapMin) + text_bytes;
  const uint32_t table = writer->add_part(codes * sizeof(SpacedSlot));
  const uint32_t text_part = writer->add_part(heap);
  const uint32_t code_part = writer->add_part(code_array_bytes(from.rows, code_bits));
  ChunkHeader& header = writer->header();
  header.table_offset = table;
  header.entries = codes;
  header.text_offset = text_part;
  header.codes_offset = code_part;
  header.code_bits = static_cast<uint8_t>(code_bits);
  const auto code_of = [&](uint64_t text) { return text * codes / texts; };
  for (uint64_t i = 0; i < texts; ++i) {
    const std::string_view text = source.texts[i];
    const SpacedSlot slot{static_cast<uint32_t>(header.base), static_cast<uint32_t>(text.size())};
    auto* const slots = header.array<SpacedSlot>(table);
    std::fill(slots + code_of(i), slots + code_of(i + 1), slot);
    std::copy(text.begin(), text.end(), header.array<char>(text_part) + slot.offset);
    header.base += slot.size;
  }
  CodeWriter out(writer->at(code_part), code_bits);
  for_code_runs(codes_of_source(from), from.rows, [&](uint32_t, std::span<const uint32_t> run) {
    for (const uint32_t code : run) out.add(code_of(source.of_code[code]));
  });
  out.finish();
  return true;
}

const TextCodec& spaced_dictionary() {
  return kSpacedDictionaryCodec;
}

}  // namespace diptych::storage::encoding
