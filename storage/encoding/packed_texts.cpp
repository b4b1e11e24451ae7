// Packed texts: the letters of a column's alphabet in 1 to 8 bits each, all texts one bit string.
//
//   table_offset: | alphabet: entries bytes, ascending; padded with zeros to 256 |
//   codes_offset: | TextPositions, in letters |
//   text_offset:  | letters: their numbers in the alphabet, code_bits each, highest bits first |
//
// TPC-C's random text has 62 letters: 6 bits each, and nothing can be found that is much shorter.
// With 8 bits the alphabet is all bytes: texts without any order, and little room for lengths.
//
// Numbers are given in the order of bytes and stored highest bits first, so texts compare as their
// packed bits do, eight letters in one comparison of words. Eight letters take code_bits bytes:
// decoding spreads these over a word (pdep) and looks the letters up, whatever texts they are of.

#if defined(__BMI2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/text_positions.h"

namespace diptych::storage::encoding {
namespace {

constexpr uint32_t kTableBytes = 256;

uint64_t load_big(const std::byte* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap64(word);
}

// The low `bits` of each byte.
constexpr uint64_t low_bits_of_bytes(uint32_t bits) {
  return 0x0101010101010101 * ((uint64_t{1} << bits) - 1);
}

// Eight letters of `bits`, the first in the highest bits of the low 8 * bits, and as bytes of a
// word, the first in the highest byte.
uint64_t spread(uint64_t letters, uint32_t bits) {
#if defined(__BMI2__)
  return _pdep_u64(letters, low_bits_of_bytes(bits));
#else
  uint64_t word = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    word |= ((letters >> (i * bits)) & ((uint64_t{1} << bits) - 1)) << (8 * i);
  }
  return word;
#endif
}
uint64_t squeeze(uint64_t word, uint32_t bits) {
#if defined(__BMI2__)
  return _pext_u64(word, low_bits_of_bytes(bits));
#else
  uint64_t letters = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    letters |= ((word >> (8 * i)) & ((uint64_t{1} << bits) - 1)) << (i * bits);
  }
  return letters;
#endif
}

// `groups` of eight letters to their numbers.
void unpack(const std::byte* from, uint32_t bits, uint64_t groups, uint8_t* out) {
  for (uint64_t group = 0; group < groups; ++group, from += bits, out += 8) {
    const uint64_t word = __builtin_bswap64(spread(load_big(from) >> (64 - 8 * bits), bits));
    std::memcpy(out, &word, sizeof word);
  }
}
// Writes 8 bytes for each group, of which the next group overwrites 8 - bits.
void pack(const uint8_t* numbers, uint64_t groups, uint32_t bits, std::byte* out) {
  for (uint64_t group = 0; group < groups; ++group, numbers += 8, out += bits) {
    uint64_t word;
    std::memcpy(&word, numbers, sizeof word);
    word = __builtin_bswap64(squeeze(__builtin_bswap64(word), bits) << (64 - 8 * bits));
    std::memcpy(out, &word, sizeof word);
  }
}

// The text of a chunk's row as words of eight letters, first letters highest, zeros behind the end.
class Letters {
 public:
  explicit Letters(const ChunkHeader& chunk)
      : letters_(chunk.at(chunk.text_offset)), bits_(chunk.code_bits) {}
  // The word of letters [from, from + 8) of the text at `start`, which has `length` letters.
  uint64_t word(uint64_t start, uint64_t length, uint64_t from) const {
    const uint64_t bit = (start + from) * bits_;
    const uint64_t word = load_big(letters_ + bit / 8) << (bit % 8);
    return word & mask(length - from);
  }
  // Of the numbers of letters.
  uint64_t word(std::span<const uint8_t> numbers, uint64_t from) const {
    uint64_t word = 0;
    for (uint64_t i = 0; i < 8; ++i) {
      const uint64_t number = from + i < numbers.size() ? numbers[from + i] : 0;
      word = (word << bits_) | number;
    }
    return bits_ == 8 ? word : word << (64 - 8 * bits_);
  }

 private:
  uint64_t mask(uint64_t letters) const {
    return letters == 0 ? 0 : ~uint64_t{0} << (64 - bits_ * std::min<uint64_t>(letters, 8));
  }
  const std::byte* letters_;
  uint32_t bits_;
};

// A text bound as letters of the alphabet: a text of letters is below it exactly if it is below the
// bound. Of a bound with a byte that is no letter, the letters up to there and the next higher one.
class LetterBound {
 public:
  LetterBound(const ChunkHeader& chunk, const Letters& letters, std::string_view bound)
      : letters_(&letters) {
    const auto* const alphabet = chunk.array<uint8_t>(chunk.table_offset);
    for (const char c : bound) {
      const auto byte = static_cast<uint8_t>(c);
      const auto* const at = std::lower_bound(alphabet, alphabet + chunk.entries, byte);
      numbers_.push_back(static_cast<uint8_t>(at - alphabet));
      above_all_ = at == alphabet + chunk.entries;
      if (above_all_ || *at != byte) break;
    }
    // Above all letters: what is below the next higher text is below this one.
    while (above_all_ && numbers_.size() > 1) {
      numbers_.pop_back();
      above_all_ = ++numbers_.back() == chunk.entries;
    }
    first_word_ = letters.word(numbers_, 0);
  }

  // True if the row's text is below; first_word is its word at 0.
  bool above(uint64_t first_word, uint64_t start, uint64_t length) const {
    if (above_all_) return true;
    if (first_word != first_word_) return first_word < first_word_;
    for (uint64_t from = 8; from < length && from < numbers_.size(); from += 8) {
      const uint64_t of_text = letters_->word(start, length, from);
      const uint64_t of_bound = letters_->word(numbers_, from);
      if (of_text != of_bound) return of_text < of_bound;
    }
    return length < numbers_.size();
  }

 private:
  const Letters* letters_;
  std::vector<uint8_t> numbers_;
  bool above_all_ = false;
  uint64_t first_word_ = 0;
};

class PackedTexts final : public TextCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    const uint32_t length_bits = TextPositions::width(column.length_min(), column.length_max());
    return kTableBytes + TextPositions::part_bytes(column.rows(), length_bits) +
           code_array_bytes(column.text_bytes(), width(column));
  }

  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    std::vector<uint32_t> lengths;
    lengths.reserve(column.rows());
    for (const std::string_view text : column.texts()) {
      lengths.push_back(static_cast<uint32_t>(text.size()));
    }
    TextPositions::write(lengths, writer);
    const uint32_t bits = width(column);
    const uint32_t table = writer->add_part(kTableBytes);
    const uint32_t letters = writer->add_part(code_array_bytes(column.text_bytes(), bits));
    ChunkHeader& header = writer->header();
    header.code_bits = static_cast<uint8_t>(bits);
    header.table_offset = table;
    header.text_offset = letters;
    uint8_t numbers[256] = {};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (!column.seen()[byte] && bits != 8) continue;
      numbers[byte] = static_cast<uint8_t>(header.entries);
      header.array<uint8_t>(table)[header.entries++] = static_cast<uint8_t>(byte);
    }
    std::vector<uint8_t> stream(column.text_bytes() + 8);
    uint8_t* to = stream.data();
    for (const std::string_view text : column.texts()) {
      for (const char c : text) *to++ = numbers[static_cast<uint8_t>(c)];
    }
    pack(stream.data(), (column.text_bytes() + 7) / 8, bits, writer->at(letters));
    return true;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (chunk.code_bits == 0 || chunk.code_bits > 8) return "its letters have no width";
    if (chunk.entries > (1U << chunk.code_bits)) return "its alphabet has too many letters";
    if (!chunk.holds(chunk.table_offset, kTableBytes)) return "its alphabet ends outside it";
    const auto letters = TextPositions::check(chunk);
    if (!letters) return "its lengths are no lengths";
    return chunk.holds(chunk.text_offset, code_array_bytes(*letters, chunk.code_bits))
               ? nullptr
               : "its texts end outside it";
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* scratch) const override {
    const TextPositions positions(chunk);
    const uint64_t start = positions.start(row);
    const uint64_t length = positions.length(row);
    const uint64_t bits = chunk.code_bits;
    const auto* const alphabet = chunk.array<uint8_t>(chunk.table_offset);
    const std::byte* const letters = chunk.at(chunk.text_offset);
    scratch->resize(length + 8);
    for (uint64_t i = 0; i < length; i += 8) {
      const uint64_t bit = (start + i) * bits;
      const uint64_t word = load_big(letters + bit / 8) << (bit % 8);
      const uint64_t numbers = spread(word >> (64 - 8 * bits), static_cast<uint32_t>(bits));
      for (uint32_t k = 0; k < 8; ++k) {
        (*scratch)[i + k] = static_cast<char>(alphabet[(numbers >> (56 - 8 * k)) & 0xff]);
      }
    }
    scratch->resize(length);
    return *scratch;
  }

  uint64_t text_bytes(const ChunkHeader& chunk) const override {
    const TextPositions positions(chunk);
    uint64_t bytes = 0;
    uint32_t lengths[kVectorRows];
    for (uint32_t first = 0; first < chunk.rows; first += kVectorRows) {
      bytes += positions.lengths(first, std::min(kVectorRows, chunk.rows - first), lengths);
    }
    return bytes;
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    const TextPositions positions(chunk);
    buffer->numbers.resize(count);
    const uint64_t start = positions.start(first);
    const uint64_t length = positions.lengths(first, count, buffer->numbers.data());
    // From a whole group of eight on, so that it starts at a byte.
    const uint64_t skipped = start % 8;
    const uint64_t groups = (skipped + length + 7) / 8;
    if (buffer->text.size() < groups * 8 + 16) buffer->text.resize(groups * 8 + 16);
    auto* const text = reinterpret_cast<uint8_t*>(buffer->text.data());
    const uint32_t bits = chunk.code_bits;
    unpack(chunk.at(chunk.text_offset) + start / 8 * bits, bits, groups, text);
    if (bits < 8) {
      const auto* const alphabet = chunk.array<uint8_t>(chunk.table_offset);
      translate_bytes(alphabet, bits <= 4 ? 1 : 1U << (bits - 4), text, groups * 8);
    }
    refer_to_texts(buffer->text.data() + skipped, buffer->numbers,
                   buffer->room<base::StringRef>(count));
  }

  void select(const ChunkHeader& chunk, std::span<const TextRange> ranges,
              uint64_t* words) const override {
    std::fill_n(words, bitmap_words(chunk.rows), 0);
    const Letters letters(chunk);
    std::vector<LetterBound> firsts;  // above(): the text is below the range
    std::vector<LetterBound> ends;    // above(): the text is not behind it; one less if it has none
    for (const TextRange& range : ranges) {
      firsts.emplace_back(chunk, letters, range.first);
      if (range.end) ends.emplace_back(chunk, letters, *range.end);
    }
    const TextPositions positions(chunk);
    uint64_t start = 0;
    uint32_t lengths[kVectorRows];
    for (uint32_t row = 0; row < chunk.rows; ++row) {
      if (row % kVectorRows == 0) {
        positions.lengths(row, std::min(kVectorRows, chunk.rows - row), lengths);
      }
      const uint32_t length = lengths[row % kVectorRows];
      const uint64_t word = letters.word(start, length, 0);
      // The last range that the text is not below.
      const auto behind = std::partition_point(
          firsts.begin(), firsts.end(),
          [&](const LetterBound& bound) { return !bound.above(word, start, length); });
      const auto range = static_cast<size_t>(behind - firsts.begin());
      const bool in =
          range > 0 && (range > ends.size() || ends[range - 1].above(word, start, length));
      words[row / 64] |= uint64_t{in} << (row % 64);
      start += length;
    }
  }

 private:
  static uint32_t width(const ColumnProfile& column) {
    const auto letters = std::count(column.seen().begin(), column.seen().end(), true);
    return std::max(1U, static_cast<uint32_t>(
                            std::bit_width(static_cast<uint64_t>(letters == 0 ? 0 : letters - 1))));
  }
};

constexpr PackedTexts kPackedTextsCodec;

}  // namespace

const TextCodec& packed_texts() {
  return kPackedTextsCodec;
}

}  // namespace diptych::storage::encoding
