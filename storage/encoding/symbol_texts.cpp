// Symbol texts: each text as codes for symbols of up to 8 bytes (storage/encoding/symbol_table.h).
//
//   table_offset: | SymbolBytes |
//   codes_offset: | TextPositions, in codes |
//   text_offset:  | codes, one byte each |
//
// A text is decoded alone, from its first code to its last. Equality and IN compress the constants
// and compare codes. Of other comparisons a text's first code decides for most texts; of the rest
// no more is expanded than the constants are long. LIKE '%x' decodes.

#include "storage/encoding/symbol_texts.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/encoding/codec.h"
#include "storage/encoding/text_positions.h"
#include "storage/encoding/text_set.h"

namespace diptych::storage::encoding {
namespace {

const SymbolBytes& symbols_of(const ChunkHeader& chunk) {
  return *chunk.array<SymbolBytes>(chunk.table_offset);
}

// The codes of the texts of some ranges of one text each.
std::vector<std::string> codes_of_points(const ChunkHeader& chunk,
                                         std::span<const TextRange> ranges) {
  const SymbolTable table = SymbolTable::of(symbols_of(chunk));
  std::vector<std::string> wanted;
  wanted.reserve(ranges.size());
  for (const TextRange& range : ranges) {
    std::string codes(SymbolTable::compressed_max(range.first.size()), '\0');
    codes.resize(table.compress(range.first, reinterpret_cast<uint8_t*>(codes.data())));
    wanted.push_back(std::move(codes));
  }
  return wanted;
}

// Equal texts have equal codes.
class SymbolFilter final : public RowFilter {
 public:
  // Ranges of one text each.
  SymbolFilter(const ChunkHeader& chunk, std::span<const TextRange> ranges)
      : positions_(chunk),
        codes_(chunk.array<char>(chunk.text_offset)),
        wanted_(codes_of_points(chunk, ranges)) {}

 private:
  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    positions_.select(first, count, wanted, passing, [&](uint64_t start, uint32_t length) {
      return wanted_.holds(std::string_view(codes_ + start, length));
    });
  }

  TextPositions positions_;
  const char* codes_;
  TextSet wanted_;
};

size_t room_for(uint32_t codes) {
  return size_t{codes} * 8 + 8;
}

// Other ranges. Of all texts that begin with a symbol, all may lie in the ranges, or none; then
// the first code answers for them. Of others the codes are expanded.
class SymbolRangesFilter final : public RowFilter {
 public:
  SymbolRangesFilter(const ChunkHeader& chunk, std::span<const TextRange> ranges)
      : positions_(chunk),
        symbols_(symbols_of(chunk)),
        codes_(chunk.array<uint8_t>(chunk.text_offset)),
        ranges_(ranges.begin(), ranges.end()),
        empty_passes_(in_ranges(ranges_, {})) {
    size_t bound_max = 0;
    for (const TextRange& range : ranges_) {
      bound_max = std::max({bound_max, range.first.size(), range.end ? range.end->size() : 0});
    }
    // Two codes are a byte of text at least. So what is expanded is a whole text, or as long as any
    // bound, and compares with it as the whole does.
    codes_max_ = static_cast<uint32_t>(std::min<size_t>(2 * bound_max, UINT32_MAX));
    for (uint32_t code = 0; code < kEscape; ++code) {
      by_first_code_[code] = answer_for_prefix(
          {reinterpret_cast<const char*>(&symbols_.bytes[code]), symbols_.lengths[code]});
    }
    by_first_code_[kEscape] = Answer::kOpen;
  }

 private:
  enum class Answer : uint8_t { kFails, kPasses, kOpen };

  // For all texts that begin with the prefix.
  Answer answer_for_prefix(std::string_view prefix) const {
    const Predicate begins = Predicate::prefix(prefix);
    const TextRange& texts = begins.texts()[0];
    const auto ends_behind = [](const TextRange& range, const std::string& text) {
      return !range.end || *range.end > text;
    };
    for (const TextRange& range : ranges_) {
      if (!ends_behind(range, texts.first) || !ends_behind(texts, range.first)) continue;
      const bool covers =
          range.first <= texts.first && (!range.end || (texts.end && *texts.end <= *range.end));
      return covers ? Answer::kPasses : Answer::kOpen;
    }
    return Answer::kFails;
  }

  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    std::string scratch;
    positions_.select(first, count, wanted, passing, [&](uint64_t start, uint32_t length) {
      if (length == 0) return empty_passes_;
      const uint8_t* const codes = codes_ + start;
      switch (by_first_code_[*codes]) {
        case Answer::kFails: return false;
        case Answer::kPasses: return true;
        default: return expanded_passes(codes, length, &scratch);
      }
    });
  }

  // An escaped byte behind the last code is there to be read.
  bool expanded_passes(const uint8_t* codes, uint32_t length, std::string* scratch) const {
    const uint32_t count = std::min(length, codes_max_);
    if (scratch->size() < room_for(count)) scratch->resize(room_for(count));
    const char* const end = expand_symbols(symbols_, codes, count, scratch->data());
    return in_ranges(ranges_, {scratch->data(), static_cast<size_t>(end - scratch->data())});
  }

  TextPositions positions_;
  const SymbolBytes& symbols_;
  const uint8_t* codes_;
  std::vector<TextRange> ranges_;  // sorted and disjoint
  uint32_t codes_max_;             // that are expanded of a text
  bool empty_passes_;
  Answer by_first_code_[256];
};

class SymbolTexts final : public TextCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    if (column.text_bytes() == 0) return std::nullopt;
    const double ratio = column.symbol_ratio();
    const auto codes = static_cast<double>(column.text_bytes()) * ratio;
    const auto length_max = static_cast<uint32_t>(column.length_max() * ratio) + 1;
    return sizeof(SymbolBytes) + static_cast<uint64_t>(codes) +
           TextPositions::part_bytes(column.rows(), TextPositions::width(0, length_max));
  }

  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    const SymbolTable& table = column.symbols();
    // All texts in one run, so that words are loaded at the end of each; a byte behind an escape.
    std::vector<char> stream(column.text_bytes() + 8);
    char* to = stream.data();
    for (const std::string_view text : column.texts()) {
      to = std::copy(text.begin(), text.end(), to);
    }
    std::vector<uint8_t> codes(SymbolTable::compressed_max(column.text_bytes()) + 8);
    std::vector<uint32_t> lengths;
    lengths.reserve(column.rows());
    size_t size = 0;
    const char* from = stream.data();
    for (const std::string_view text : column.texts()) {
      const size_t length = table.compress_padded(from, text.size(), codes.data() + size);
      lengths.push_back(static_cast<uint32_t>(length));
      size += length;
      from += text.size();
    }
    TextPositions::write(lengths, writer);
    const uint32_t table_part = writer->add_part(sizeof(SymbolBytes));
    const uint32_t codes_part = writer->add_part(size);
    std::memcpy(writer->at(table_part), &table.symbols(), sizeof(SymbolBytes));
    std::memcpy(writer->at(codes_part), codes.data(), size);
    writer->header().table_offset = table_part;
    writer->header().text_offset = codes_part;
    return true;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (!chunk.holds(chunk.table_offset, sizeof(SymbolBytes))) return "its symbols end outside it";
    const uint8_t* const lengths = symbols_of(chunk).lengths;
    if (*std::max_element(lengths, lengths + 256) > 8) return "a symbol has more than 8 bytes";
    const auto codes = TextPositions::check(chunk);
    if (!codes) return "its lengths are no lengths";
    return chunk.holds(chunk.text_offset, *codes) ? nullptr : "its texts end outside it";
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* scratch) const override {
    const SymbolReader texts(chunk);
    scratch->resize(texts.room(row));
    const char* const end = texts.expand(row, scratch->data());
    scratch->resize(static_cast<size_t>(end - scratch->data()));
    return *scratch;
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    const TextPositions positions(chunk);
    buffer->numbers.resize(count);
    positions.lengths(first, count, buffer->numbers.data());
    const auto* codes = chunk.array<uint8_t>(chunk.text_offset) + positions.start(first);
    size_t used = 0;
    for (uint32_t& length : buffer->numbers) {
      const size_t needed = used + size_t{length} * 8 + 16;
      if (buffer->text.size() < needed) buffer->text.resize(2 * needed);
      char* const to = buffer->text.data() + used;
      const char* const end = expand_symbols(symbols_of(chunk), codes, length, to);
      codes += length;
      length = static_cast<uint32_t>(end - to);  // from here on, of the text
      used += length;
    }
    if (buffer->text.size() < 16) buffer->text.resize(16);
    refer_to_texts(buffer->text.data(), buffer->numbers, buffer->room<base::StringRef>(count));
  }

  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                   std::span<const uint16_t> slots, RunBuffer* buffer) const override {
    const SymbolReader texts(chunk);
    size_t bytes = 0;
    for (const uint16_t slot : slots) bytes += texts.room(first + slot);
    if (buffer->text.size() < bytes) buffer->text.resize(bytes);
    auto* const out = buffer->room<base::StringRef>(count);
    char* to = buffer->text.data();
    for (const uint16_t slot : slots) {
      const char* const end = texts.expand(first + slot, to);
      out[slot] = base::StringRef(std::string_view(to, static_cast<size_t>(end - to)));
      to += texts.room(first + slot);
    }
  }
  uint32_t rows_a_slot() const override { return 6; }

  RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    const bool points = std::all_of(ranges.begin(), ranges.end(),
                                    [](const TextRange& range) { return range.is_point(); });
    if (points) return {Passes::kSome, std::make_unique<SymbolFilter>(chunk, ranges)};
    return {Passes::kSome, std::make_unique<SymbolRangesFilter>(chunk, ranges)};
  }
  RowAnswer filter(const ChunkHeader& /*chunk*/, const Suffix& /*suffix*/) const override {
    return RowAnswer::only_decoded();
  }
};

constexpr SymbolTexts kSymbolTextsCodec;

}  // namespace

SymbolReader::SymbolReader(const ChunkHeader& chunk)
    : symbols_(symbols_of(chunk)),
      codes_(chunk.array<uint8_t>(chunk.text_offset)),
      positions_(chunk) {}

const TextCodec& symbol_texts() {
  return kSymbolTextsCodec;
}

}  // namespace diptych::storage::encoding
