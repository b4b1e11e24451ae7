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
      : letters_(letters) {
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

  // Texts with another word at 0 compare as the words do; but not if it is above all.
  uint64_t first_word() const { return first_word_; }
  bool above_all() const { return above_all_; }
  // True if the row's text is below; first_word is its word at 0.
  bool above(uint64_t first_word, uint64_t start, uint64_t length) const {
    if (above_all_) return true;
    if (first_word != first_word_) return first_word < first_word_;
    for (uint64_t from = 8; from < length && from < numbers_.size(); from += 8) {
      const uint64_t of_text = letters_.word(start, length, from);
      const uint64_t of_bound = letters_.word(numbers_, from);
      if (of_text != of_bound) return of_text < of_bound;
    }
    return length < numbers_.size();
  }

 private:
  Letters letters_;
  std::vector<uint8_t> numbers_;
  bool above_all_ = false;
  uint64_t first_word_ = 0;
};

// The numbers of a text's letters; nothing where one is none of the chunk's.
std::optional<std::vector<uint8_t>> numbers_of(const ChunkHeader& chunk, std::string_view text) {
  const auto* const alphabet = chunk.array<uint8_t>(chunk.table_offset);
  std::vector<uint8_t> numbers;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const auto* const at = std::lower_bound(alphabet, alphabet + chunk.entries, byte);
    if (at == alphabet + chunk.entries || *at != byte) return std::nullopt;
    numbers.push_back(static_cast<uint8_t>(at - alphabet));
  }
  return numbers;
}

// What a text is asked, of the letters from `start` on.

class StartsWith {
 public:
  // 1 to 8 letters.
  StartsWith(const ChunkHeader& chunk, std::span<const uint8_t> numbers)
      : letters_(chunk), length_(numbers.size()), word_(letters_.word(numbers, 0)) {}
  bool operator()(uint64_t start, uint64_t length) const {
    return static_cast<int>(length >= length_) &
           static_cast<int>(letters_.word(start, length_, 0) == word_);
  }

 private:
  Letters letters_;
  uint64_t length_;
  uint64_t word_;
};

class EndsWith {
 public:
  EndsWith(const ChunkHeader& chunk, std::span<const uint8_t> numbers, bool negated)
      : letters_(chunk), length_(numbers.size()), negated_(negated) {
    for (uint64_t from = 0; from < length_; from += 8) {
      words_.push_back(letters_.word(numbers, from));
    }
  }
  bool operator()(uint64_t start, uint64_t length) const {
    if (length < length_) return negated_;
    const uint64_t at = start + length - length_;
    for (size_t i = 0; i < words_.size(); ++i) {
      if (letters_.word(at, length_, 8 * i) != words_[i]) return negated_;
    }
    return !negated_;
  }

 private:
  Letters letters_;
  uint64_t length_;
  bool negated_;
  std::vector<uint64_t> words_;
};

class InRanges {
 public:
  InRanges(const ChunkHeader& chunk, std::span<const TextRange> ranges) : letters_(chunk) {
    for (const TextRange& range : ranges) {
      firsts_.emplace_back(chunk, letters_, range.first);
      if (range.end) ends_.emplace_back(chunk, letters_, *range.end);
    }
  }
  bool operator()(uint64_t start, uint64_t length) const {
    const uint64_t word = letters_.word(start, length, 0);
    // The last range that the text is not below.
    const auto behind = std::partition_point(
        firsts_.begin(), firsts_.end(),
        [&](const LetterBound& bound) { return !bound.above(word, start, length); });
    const auto range = static_cast<size_t>(behind - firsts_.begin());
    return range > 0 && (range > ends_.size() || ends_[range - 1].above(word, start, length));
  }

 private:
  Letters letters_;
  std::vector<LetterBound> firsts_;  // above(): the text is below the range
  std::vector<LetterBound> ends_;    // above(): it is not behind it; one less if the last has none
};

// Of a range whose bounds are no longer than eight letters, nor than the shortest text: words
// decide, in one comparison and without a branch.
class InWordRange {
 public:
  static bool decides(const ChunkHeader& chunk, const TextRange& range) {
    const auto letters = static_cast<size_t>(std::min<int64_t>(chunk.base, 8));
    return range.first.size() <= letters && (!range.end || range.end->size() <= letters);
  }
  InWordRange(const ChunkHeader& chunk, const TextRange& range) : letters_(chunk) {
    const LetterBound first(chunk, letters_, range.first);
    first_ = first.first_word();
    last_ = ~uint64_t{0};
    is_empty_ = first.above_all();
    if (!range.end) return;
    const LetterBound end(chunk, letters_, *range.end);
    if (end.above_all()) return;
    is_empty_ = is_empty_ || end.first_word() <= first_;
    last_ = end.first_word() - 1;
  }
  bool is_empty() const { return is_empty_; }
  bool operator()(uint64_t start, uint64_t length) const {
    return letters_.word(start, length, 0) - first_ <= last_ - first_;
  }

 private:
  Letters letters_;
  uint64_t first_;
  uint64_t last_;
  bool is_empty_;
};

// Without a branch that depends on the text, unless its first letters are those of a bound.
class InOneRange {
 public:
  InOneRange(const ChunkHeader& chunk, const TextRange& range)
      : letters_(chunk), first_(chunk, letters_, range.first), end_(chunk, letters_, *range.end) {}
  bool is_for_words() const { return !first_.above_all() && !end_.above_all(); }
  bool operator()(uint64_t start, uint64_t length) const {
    const uint64_t word = letters_.word(start, length, 0);
    if (word == first_.first_word() || word == end_.first_word()) {
      return !first_.above(word, start, length) && end_.above(word, start, length);
    }
    const bool is_behind_first = word > first_.first_word();
    return word < end_.first_word() ? is_behind_first : false;
  }

 private:
  Letters letters_;
  LetterBound first_;
  LetterBound end_;
};

template <class Passes>
class LettersFilter final : public RowFilter {
 public:
  LettersFilter(const ChunkHeader& chunk, Passes passes)
      : positions_(chunk), passes_(std::move(passes)) {}

 private:
  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    positions_.select(first, count, wanted, passing, passes_);
  }

  TextPositions positions_;
  Passes passes_;
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
    const uint32_t length = positions.length(row);
    scratch->resize(room_for(length));
    unpack_text(chunk, positions.start(row), length, scratch->data());
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
    translate(chunk, text, groups * 8);
    refer_to_texts(buffer->text.data() + skipped, buffer->numbers,
                   buffer->room<base::StringRef>(count));
  }

  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t count,
                   std::span<const uint16_t> slots, RunBuffer* buffer) const override {
    const TextPositions positions(chunk);
    size_t bytes = 0;
    for (const uint16_t slot : slots) bytes += room_for(positions.length(first + slot));
    if (buffer->text.size() < bytes) buffer->text.resize(bytes);
    auto* const out = buffer->room<base::StringRef>(count);
    char* to = buffer->text.data();
    for (const uint16_t slot : slots) {
      const uint32_t length = positions.length(first + slot);
      unpack_text(chunk, positions.start(first + slot), length, to);
      out[slot] = base::StringRef(std::string_view(to, length));
      to += room_for(length);
    }
  }
  uint32_t rows_a_slot() const override { return 8; }

  RowAnswer filter(const ChunkHeader& chunk, std::span<const TextRange> ranges) const override {
    if (ranges.size() == 1 && ranges[0].is_prefix() && ranges[0].first.size() <= 8) {
      const auto numbers = numbers_of(chunk, ranges[0].first);
      if (!numbers) return RowAnswer::all_or_none(false);
      return answer(chunk, StartsWith(chunk, *numbers));
    }
    if (ranges.size() == 1 && InWordRange::decides(chunk, ranges[0])) {
      const InWordRange passes(chunk, ranges[0]);
      return passes.is_empty() ? RowAnswer::all_or_none(false) : answer(chunk, passes);
    }
    if (ranges.size() == 1 && ranges[0].end) {
      InOneRange passes(chunk, ranges[0]);
      if (passes.is_for_words()) return answer(chunk, std::move(passes));
    }
    return answer(chunk, InRanges(chunk, ranges));
  }
  RowAnswer filter(const ChunkHeader& chunk, const Suffix& suffix) const override {
    const auto numbers = numbers_of(chunk, suffix.text);
    if (!numbers) return RowAnswer::all_or_none(suffix.negated);
    return answer(chunk, EndsWith(chunk, *numbers, suffix.negated));
  }

 private:
  template <class Passes>
  static RowAnswer answer(const ChunkHeader& chunk, Passes passes) {
    return {encoding::Passes::kSome,
            std::make_unique<LettersFilter<Passes>>(chunk, std::move(passes))};
  }
  static uint32_t room_for(uint32_t length) { return (length + 7) / 8 * 8; }
  // Writes room_for(length) bytes.
  static void unpack_text(const ChunkHeader& chunk, uint64_t start, uint32_t length, char* out) {
    const uint32_t bits = chunk.code_bits;
    const std::byte* const letters = chunk.at(chunk.text_offset);
    for (uint64_t i = 0; i < length; i += 8) {
      const uint64_t bit = (start + i) * bits;
      const uint64_t word = load_big(letters + bit / 8) << (bit % 8);
      const uint64_t numbers = __builtin_bswap64(spread(word >> (64 - 8 * bits), bits));
      std::memcpy(out + i, &numbers, sizeof numbers);
    }
    translate(chunk, reinterpret_cast<uint8_t*>(out), room_for(length));
  }
  // Numbers to letters.
  static void translate(const ChunkHeader& chunk, uint8_t* bytes, size_t count) {
    const uint32_t bits = chunk.code_bits;
    if (bits == 8) return;
    const auto* const alphabet = chunk.array<uint8_t>(chunk.table_offset);
    translate_bytes(alphabet, bits <= 4 ? 1 : 1U << (bits - 4), bytes, count);
  }

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
