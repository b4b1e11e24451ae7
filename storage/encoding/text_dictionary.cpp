// Dictionary of texts: the texts that differ in their order, and a row's place among them.
//
//   table_offset: | ends: u32 * entries, of the texts in the text part, ascending |
//   text_offset:  | the texts one behind the other |
//   codes_offset: | codes: rows * code_bits bits |
//
// The codes have the order of the texts (texts_by_code.h). Takes a patch with a text that it has. A
// run is StringRefs into the chunk.

#include <algorithm>

#include "storage/encoding/codec.h"
#include "storage/encoding/distinct_texts.h"
#include "storage/encoding/texts_by_code.h"

namespace diptych::storage::encoding {
namespace {

class TextDictionary final : public TextsByCode<DictionaryEntry> {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    const double entries = column.distinct_estimate();
    if (column.rows() == 0 || entries > kDictionaryEntriesMax) return std::nullopt;
    const auto last = static_cast<uint64_t>(entries) - (entries >= 1 ? 1 : 0);
    const double table = entries * (sizeof(uint32_t) + column.distinct_text_bytes());
    return static_cast<uint64_t>(table) +
           code_array_bytes(column.rows(), code_bits(last, Lanes::k4));
  }

  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    const std::optional<DistinctTexts> distinct = distinct_texts(column);
    if (!distinct) return false;
    write(*distinct, writer);
    return true;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (const char* const what = dictionary_codes_problem(chunk)) return what;
    const uint64_t table_bytes = uint64_t{chunk.entries} * sizeof(uint32_t);
    if (!chunk.holds_before(chunk.codes_offset, chunk.table_offset, table_bytes)) {
      return "its dictionary ends behind its codes' start";
    }
    const auto* const ends = chunk.array<uint32_t>(chunk.table_offset);
    for (uint32_t i = 1; i < chunk.entries; ++i) {
      if (ends[i - 1] > ends[i]) return "a text of its dictionary ends before it starts";
    }
    if (!chunk.holds_before(chunk.codes_offset, chunk.text_offset, ends[chunk.entries - 1])) {
      return "its texts end behind its codes' start";
    }
    for (uint32_t i = 1; i < chunk.entries; ++i) {
      if (entry(chunk, i - 1) >= entry(chunk, i)) return "its dictionary is not in order";
    }
    if (!bounds_cover_entries(chunk)) return "its bounds are not its dictionary's";
    return codes_within(codes_of(chunk), chunk.rows, chunk.entries)
               ? nullptr
               : "a code is not in its dictionary";
  }

  bool patch(ChunkHeader* chunk, uint32_t row, std::string_view text) const override {
    const uint64_t code = lower_entry(*chunk, text);
    if (code == chunk->entries || entry(*chunk, code) != text) return false;
    set_code(chunk->at(chunk->codes_offset), chunk->code_bits, row, code);
    return true;
  }

 private:
  static std::string_view entry(const ChunkHeader& chunk, uint64_t code) {
    return DictionaryEntry()(chunk, code);
  }

  static void write(const DistinctTexts& distinct, ChunkWriter* writer) {
    const auto entries = static_cast<uint32_t>(distinct.texts.size());
    uint64_t bytes = 0;
    for (const std::string_view text : distinct.texts) bytes += text.size();
    const uint32_t bits = code_bits(entries - 1, Lanes::k4);
    const uint32_t table = writer->add_part(entries * sizeof(uint32_t));
    const uint32_t text_part = writer->add_part(bytes);
    const uint32_t code_part = writer->add_part(code_array_bytes(distinct.codes.size(), bits));
    ChunkHeader& header = writer->header();
    header.table_offset = table;
    header.entries = entries;
    header.text_offset = text_part;
    header.codes_offset = code_part;
    header.code_bits = static_cast<uint8_t>(bits);
    auto* const ends = header.array<uint32_t>(table);
    auto* const to = header.array<char>(text_part);
    uint32_t end = 0;
    for (uint32_t i = 0; i < entries; ++i) {
      const std::string_view text = distinct.texts[i];
      std::copy(text.begin(), text.end(), to + end);
      end += static_cast<uint32_t>(text.size());
      ends[i] = end;
    }
    CodeWriter out(writer->at(code_part), bits);
    for (const uint32_t code : distinct.codes) out.add(code);
    out.finish();
  }
};

constexpr TextDictionary kTextDictionaryCodec;

}  // namespace

const TextCodec& text_dictionary() {
  return kTextDictionaryCodec;
}

}  // namespace diptych::storage::encoding
