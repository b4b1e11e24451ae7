// Dictionary of symbol texts: the texts that differ in their order, as symbol text, and a row's
// place among them. Smaller than a dictionary where texts are long and share parts, and than symbol
// text where they come several times.
//
//   table_offset: | a chunk of symbol text, whole: the texts, ascending; entries rows |
//   codes_offset: | codes: rows * code_bits bits |
//
// The codes have the order of the texts (texts_by_code.h). Takes a patch with a text that it has. A
// run is StringRefs into the buffer. From the second run of a dictionary on, the buffer has all of
// its texts, unless they are large.

#include <algorithm>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "storage/encoding/chunk.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/distinct_texts.h"
#include "storage/encoding/encode.h"
#include "storage/encoding/symbol_texts.h"
#include "storage/encoding/texts_by_code.h"

namespace diptych::storage::encoding {
namespace {

const ChunkHeader& symbol_texts_of(const ChunkHeader& chunk) {
  return *chunk.array<ChunkHeader>(chunk.table_offset);
}

struct SymbolEntry {
  std::string operator()(const ChunkHeader& chunk, uint64_t code) const {
    std::string text;
    symbol_texts().text_at(symbol_texts_of(chunk), static_cast<uint32_t>(code), &text);
    return text;
  }
};

class SymbolDictionary final : public AskedByCode<SymbolEntry> {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    const double entries = column.distinct_estimate();
    if (column.text_bytes() == 0 || column.length_max() > kTextBytesMax) return std::nullopt;
    if (entries > kDictionaryEntriesMax) return std::nullopt;
    const auto last = static_cast<uint64_t>(entries) - (entries >= 1 ? 1 : 0);
    const double texts = entries * column.distinct_text_bytes() * column.symbol_ratio();
    const auto length_max = static_cast<uint32_t>(column.length_max() * column.symbol_ratio()) + 1;
    return sizeof(ChunkHeader) + sizeof(SymbolBytes) + kChunkTailBytes +
           static_cast<uint64_t>(texts) +
           TextPositions::part_bytes(last + 1, TextPositions::width(0, length_max)) +
           code_array_bytes(column.rows(), code_bits(last, Lanes::k4));
  }

  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    if (column.length_max() > kTextBytesMax) return false;
    const std::optional<DistinctTexts> distinct = distinct_texts(column);
    if (!distinct) return false;
    const std::vector<base::StringRef> refs(distinct->texts.begin(), distinct->texts.end());
    const auto entries = static_cast<uint32_t>(refs.size());
    const auto texts = encoding::encode(ColumnRun{ValueKind::kText, entries, refs.data(), nullptr},
                                        Encoding::kSymbolText);
    if (!texts) return false;
    const uint32_t bits = code_bits(entries - 1, Lanes::k4);
    const uint32_t table = writer->add_copy(*texts);
    const uint32_t codes = writer->add_part(code_array_bytes(column.rows(), bits));
    ChunkHeader& header = writer->header();
    header.table_offset = table;
    header.entries = entries;
    header.codes_offset = codes;
    header.code_bits = static_cast<uint8_t>(bits);
    CodeWriter out(writer->at(codes), bits);
    for (const uint32_t code : distinct->codes) out.add(code);
    out.finish();
    return true;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (const char* const what = dictionary_codes_problem(chunk)) return what;
    if (const char* const what = texts_problem(chunk)) return what;
    RunBuffer buffer;
    symbol_texts().decode(symbol_texts_of(chunk), 0, chunk.entries, &buffer);
    const auto* const texts = reinterpret_cast<const base::StringRef*>(buffer.values.data());
    for (uint32_t code = 1; code < chunk.entries; ++code) {
      if (texts[code - 1].view() >= texts[code].view()) return "its dictionary is not in order";
    }
    if (!bounds_cover_entries(chunk)) return "its bounds are not its dictionary's";
    return codes_within(codes_of(chunk), chunk.rows, chunk.entries)
               ? nullptr
               : "a code is not in its dictionary";
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* scratch) const override {
    const auto code = static_cast<uint32_t>(codes_of(chunk)[row]);
    return symbol_texts().text_at(symbol_texts_of(chunk), code, scratch);
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    buffer->numbers.resize(count);
    decode_codes(codes_of(chunk), first, count, uint32_t{0}, buffer->numbers.data());
    buffer->entry_count = chunk.entries;
    auto* const out = buffer->room<base::StringRef>(count);
    const base::StringRef* const entries = known_entries(chunk, buffer);
    if (entries == nullptr) {
      const auto code_of = [&](uint32_t i) { return buffer->numbers[i]; };
      return expand(chunk, std::views::iota(0U, count), code_of, out, &buffer->text);
    }
    for (uint32_t i = 0; i < count; ++i) out[i] = entries[buffer->numbers[i]];
    if (chunk.entries <= std::min(kSharedEntriesMax, count / 4)) {
      buffer->entries.assign(entries, entries + chunk.entries);
    }
  }
  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                   std::span<const uint16_t> slots, RunBuffer* buffer) const override {
    const Codes codes = codes_of(chunk);
    const auto code_of = [&](uint32_t slot) { return static_cast<uint32_t>(codes[first + slot]); };
    expand(chunk, slots, code_of, buffer->room<base::StringRef>(count), &buffer->text);
  }
  uint32_t rows_a_slot() const override { return symbol_texts().rows_a_slot(); }

  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    const uint64_t code = lower_entry(*chunk, text);
    if (code == chunk->entries || SymbolEntry()(*chunk, code) != text) return false;
    set_code(chunk->at(chunk->codes_offset), chunk->code_bits, row, code);
    return true;
  }

 private:
  // Patches may put one text into all rows, and each is expanded.
  static constexpr uint32_t kTextBytesMax = 1024;
  // Of a larger dictionary, the texts are not kept for later runs.
  static constexpr uint32_t kKnownBytesMax = 1U << 20;  // as symbols

  static const char* texts_problem(const ChunkHeader& chunk) {
    if (!chunk.holds_before(chunk.codes_offset, chunk.table_offset, sizeof(ChunkHeader))) {
      return "it lacks its dictionary";
    }
    const ChunkHeader& texts = symbol_texts_of(chunk);
    if (!chunk.holds_before(chunk.codes_offset, chunk.table_offset, texts.bytes)) {
      return "its dictionary ends behind its codes' start";
    }
    if (texts.encoding != Encoding::kSymbolText || texts.kind != ValueKind::kText ||
        texts.rows != chunk.entries || texts.null_rows != 0) {
      return "its dictionary has another form";
    }
    const auto opened = Chunk::open({chunk.at(chunk.table_offset), texts.bytes});
    return opened ? nullptr : "its dictionary is damaged";
  }

  // Sets out[slot] to the text of code_of(slot), in *memory.
  template <class Slots, class CodeOf>
  static void expand(const ChunkHeader& chunk, const Slots& slots, const CodeOf& code_of,
                     base::StringRef* out, std::vector<char>* memory) {
    const SymbolReader texts(symbol_texts_of(chunk));
    size_t bytes = 0;
    for (const uint32_t slot : slots) bytes += texts.room(code_of(slot));
    if (memory->size() < bytes) memory->resize(bytes);
    char* to = memory->data();
    for (const uint32_t slot : slots) {
      const uint32_t code = code_of(slot);
      const char* const end = texts.expand(code, to);
      out[slot] = base::StringRef(std::string_view(to, static_cast<size_t>(end - to)));
      to += texts.room(code);
    }
  }

  // The texts by code, as the buffer has them; nullptr: it has none. They are not worth their
  // expansion for one run alone.
  static const base::StringRef* known_entries(const ChunkHeader& chunk, RunBuffer* buffer) {
    const uint64_t dictionary = buffer->dictionary;
    if (dictionary == 0 || symbol_texts_of(chunk).bytes > kKnownBytesMax) return nullptr;
    const bool is_met = buffer->met_dictionary == dictionary;
    buffer->met_dictionary = dictionary;
    if (!is_met) {
      buffer->known_entries.reset();
      return nullptr;
    }
    if (buffer->known_entries == nullptr) {
      buffer->known_entries = std::make_unique<RunBuffer>();
      symbol_texts().decode(symbol_texts_of(chunk), 0, chunk.entries, buffer->known_entries.get());
    }
    return reinterpret_cast<const base::StringRef*>(buffer->known_entries->values.data());
  }
};

constexpr SymbolDictionary kSymbolDictionaryCodec;

}  // namespace

const TextCodec& symbol_dictionary() {
  return kSymbolDictionaryCodec;
}

}  // namespace diptych::storage::encoding
