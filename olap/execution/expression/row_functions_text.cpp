// Functions of texts, by characters of UTF-8.

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <md5.h>

#include "base/utf8.h"
#include "olap/execution/expression/row_functions.h"
#include "olap/execution/expression/text_template.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/pattern/text_search.h"
#include "olap/execution/vector/letter_case.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

namespace {

// In lower-case hexadecimal digits.
void md5(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  MD5_CTX sum;
  MD5Init(&sum);
  for_text_pieces(text.size(), result->get_allocator().stop(), [&](size_t at, size_t count) {
    MD5Update(&sum, reinterpret_cast<const uint8_t*>(text.data() + at), count);
  });
  char digits[MD5_DIGEST_STRING_LENGTH];
  *result = MD5End(&sum, digits);
}

// From here to append_times(): they look at the stop signal once a MiB.
int64_t characters_of(const RowArguments& a, std::string_view text) {
  return count_characters(text, [&] { a.stop().check(); });
}

size_t offset_of(const RowArguments& a, std::string_view text, int64_t character) {
  return offset_of_character(text, character, [&] { a.stop().check(); });
}

// Bytes of whatever value.
void lengthen(size_t bytes, CountedText* result) {
  result->reserve(result->size() + bytes);
  for_text_pieces(bytes, result->get_allocator().stop(),
                  [&](size_t, size_t count) { result->append(count, '\0'); });
}

void append(std::string_view text, CountedText* result) {
  result->reserve(result->size() + text.size());
  for_text_pieces(text.size(), result->get_allocator().stop(),
                  [&](size_t at, size_t count) { result->append(text, at, count); });
}

void append_times(std::string_view text, int64_t times, CountedText* result) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  if (times <= 0 || text.empty()) return;
  if (static_cast<size_t>(times) > kTextBytesMax / text.size()) require_text_size(SIZE_MAX);
  const size_t begin = result->size();
  const size_t end = begin + static_cast<size_t>(times) * text.size();
  require_text_size(end);
  if (text.size() == 1 && end - begin < kBlockBytes) {
    result->append(end - begin, text[0]);
    return;
  }
  result->reserve(end);
  *result += text;
  const size_t block = std::max(kBlockBytes / text.size(), size_t{1}) * text.size();
  while (result->size() < end) {
    const size_t made = result->size() - begin;
    if (made >= block) result->get_allocator().stop().check();
    result->append(*result, begin, std::min({made, end - result->size(), block}));
  }
}

void replace(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  const std::string_view from = a.text(1);
  size_t at = 0;
  uint64_t found_times = 0;
  while (!from.empty()) {
    const size_t found = find_text(text, from, at);
    if (found == std::string_view::npos) break;
    *result += text.substr(at, found - at);
    *result += a.text(2);
    require_text_size(result->size());
    result->get_allocator().stop().check_at(++found_times);
    at = found + from.size();
  }
  *result += text.substr(at);
}

// Characters that bring the text to the wanted length.
void append_fill(std::string_view fill, int64_t characters, CountedText* result) {
  const int64_t in_fill = count_characters(fill);
  if (in_fill == 0) return;
  append_times(fill, characters / in_fill, result);
  *result += fill.substr(0, offset_of_character(fill, characters % in_fill));
}

template <bool kLeft>
void pad(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  const int64_t length = std::max<int64_t>(a.integer(1), 0);
  const int64_t missing = length - characters_of(a, text);
  if (missing <= 0) {
    append(text.substr(0, offset_of(a, text, length)), result);
    return;
  }
  if (kLeft) append_fill(a.text(2), missing, result);
  append(text, result);
  if (!kLeft) append_fill(a.text(2), missing, result);
}

void left(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  int64_t length = a.integer(1);
  if (length < 0) length = std::max<int64_t>(characters_of(a, text) + length, 0);
  append(text.substr(0, offset_of(a, text, length)), result);
}

void right(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  const int64_t length = a.integer(1);
  const int64_t skipped = length < 0 ? (length == INT64_MIN ? INT64_MAX : -length)
                                     : std::max<int64_t>(characters_of(a, text) - length, 0);
  append(text.substr(offset_of(a, text, skipped)), result);
}

// Turns the bytes of each character round, whose last byte comes first.
void turn_characters(CountedText* text) {
  const StopSignal& stop = text->get_allocator().stop();
  char* const bytes = text->data();
  const size_t size = text->size();
  uint64_t characters = 0;
  for (size_t at = 0; at < size; ++at) {
    stop.check_at(++characters);
    const size_t last = at;
    while (at + 1 < size && base::is_utf8_continuation(bytes[at])) ++at;
    if (at != last) std::reverse(bytes + last, bytes + at + 1);
  }
}

void reverse(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  lengthen(text.size(), result);
  char* const end = result->data() + text.size();
  bool ascii = true;
  for_text_pieces(text.size(), result->get_allocator().stop(), [&](size_t at, size_t count) {
    const std::string_view piece = text.substr(at, count);
    std::reverse_copy(piece.begin(), piece.end(), end - at - count);
    ascii = ascii && is_ascii(piece);
  });
  if (!ascii) turn_characters(result);
}

void repeat(const RowArguments& a, CountedText* result) {
  append_times(a.text(0), a.integer(1), result);
}

// Calls visit(part) for what is between delimiters, until it returns false.
template <class Visit>
void for_parts(std::string_view text, std::string_view delimiter, const StopSignal& stop,
               const Visit& visit) {
  size_t at = 0;
  uint64_t parts = 0;
  while (!delimiter.empty()) {
    const size_t found = find_text(text, delimiter, at);
    if (found == std::string_view::npos) break;
    if (!visit(text.substr(at, found - at))) return;
    stop.check_at(++parts);
    at = found + delimiter.size();
  }
  visit(text.substr(at));
}

void split_part(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  const std::string_view delimiter = a.text(1);
  const StopSignal& stop = result->get_allocator().stop();
  int64_t number = a.integer(2);
  if (number == 0) fail_value("field position must not be zero", "22023");
  if (number < 0) {
    int64_t parts = 0;
    for_parts(text, delimiter, stop, [&](std::string_view) { return ++parts != 0; });
    if (number < -parts) return;
    number += parts + 1;
  }
  for_parts(text, delimiter, stop, [&](std::string_view part) {
    if (--number == 0) append(part, result);
    return number != 0;
  });
}

constexpr size_t kCodePoints = size_t{1} << 21;  // of what four bytes can say

// Whether two texts are so long that to look through all of one for each character of the other
// takes longer than a table of all code points.
bool take_table(std::string_view a, std::string_view b) {
  constexpr size_t kStepsMax = size_t{1} << 20;
  return a.size() > kStepsMax / std::max<size_t>(b.size(), 1);
}

// The characters of a set, as a bit for each code point where that is worth it.
class CharacterSet {
 public:
  CharacterSet(std::string_view set, std::string_view text, const StopSignal& stop) : set_(set) {
    if (!take_table(set, text)) return;
    bits_.resize(kCodePoints);
    for (size_t at = 0; at < set.size(); at += character_bytes(set, at)) {
      stop.check_at(at);
      bits_[first_code_point(set.substr(at))] = true;
    }
  }

  bool has(std::string_view character) const {
    if (!bits_.empty()) return bits_[first_code_point(character)];
    for (size_t at = 0; at < set_.size(); at += character_bytes(set_, at)) {
      if (set_.substr(at, character_bytes(set_, at)) == character) return true;
    }
    return false;
  }

 private:
  std::string_view set_;
  std::vector<bool> bits_;
};

template <bool kLeft, bool kRight>
void trim(const RowArguments& a, CountedText* result) {
  const StopSignal& stop = result->get_allocator().stop();
  std::string_view text = a.text(0);
  const CharacterSet set(a.text(1), text, stop);
  uint64_t characters = 0;
  while (kLeft && !text.empty() && set.has(text.substr(0, character_bytes(text, 0)))) {
    stop.check_at(++characters);
    text.remove_prefix(character_bytes(text, 0));
  }
  while (kRight && !text.empty()) {
    stop.check_at(++characters);
    size_t last = text.size() - 1;
    while (last > 0 && base::is_utf8_continuation(text[last])) --last;
    if (!set.has(text.substr(last))) break;
    text.remove_suffix(text.size() - last);
  }
  *result = text;
}

void chr(const RowArguments& a, CountedText* result) {
  const int64_t code = a.integer(0);
  if (code < 0) fail_value("character number must be positive", "22023");
  if (code == 0) fail_value("null character not permitted", "54000");
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code > 0x10ffff || surrogate) {
    fail_value("requested character not valid for encoding", "54000");
  }
  append_code_point(static_cast<uint32_t>(code), result);
}

// What each character of `from` becomes, as places of `to`.
class Translation {
 public:
  static constexpr size_t kStays = SIZE_MAX;

  Translation(std::string_view from, std::string_view to, std::string_view text,
              const StopSignal& stop)
      : from_(from), to_(to) {
    if (!take_table(from, text)) return;
    places_.resize(kCodePoints, kStaysInTable);
    size_t place = 0;
    for (size_t at = 0; at < from.size(); at += character_bytes(from, at)) {
      stop.check_at(at);
      uint32_t& known = places_[first_code_point(from.substr(at))];
      if (known == kStaysInTable) known = static_cast<uint32_t>(place);
      if (place < to.size()) place += character_bytes(to, place);
    }
  }

  // The size of `to` where it is dropped.
  size_t place_of(std::string_view character) const {
    if (!places_.empty()) {
      const uint32_t place = places_[first_code_point(character)];
      return place == kStaysInTable ? kStays : place;
    }
    int64_t number = 0;
    for (size_t at = 0; at < from_.size(); at += character_bytes(from_, at)) {
      if (from_.substr(at, character_bytes(from_, at)) == character) {
        return offset_of_character(to_, number);
      }
      ++number;
    }
    return kStays;
  }

 private:
  static constexpr uint32_t kStaysInTable = UINT32_MAX;  // texts are shorter

  std::string_view from_;
  std::string_view to_;
  std::vector<uint32_t> places_;
};

void translate(const RowArguments& a, CountedText* result) {
  const StopSignal& stop = result->get_allocator().stop();
  const std::string_view text = a.text(0);
  const std::string_view to = a.text(2);
  const Translation translation(a.text(1), to, text, stop);
  result->reserve(text.size());
  uint64_t characters = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text, at);
    const std::string_view character = text.substr(at, bytes);
    at += bytes;
    stop.check_at(++characters);
    const size_t place = translation.place_of(character);
    if (place == Translation::kStays) {
      *result += character;
    } else if (place < to.size()) {
      *result += to.substr(place, character_bytes(to, place));
    }
  }
}

// Whether the character before belongs to a word decides a letter's case.
class WordCases {
 public:
  char next(char ascii) {
    const bool lower = ascii >= 'a' && ascii <= 'z';
    const bool upper = ascii >= 'A' && ascii <= 'Z';
    const bool changes = in_word_ ? upper : lower;
    in_word_ = lower || upper || (ascii >= '0' && ascii <= '9');
    return changes ? static_cast<char>(ascii ^ ('a' - 'A')) : ascii;
  }
  uint32_t next(uint32_t code) {
    const LetterCase to = in_word_ ? LetterCase::kLower : LetterCase::kUpper;
    in_word_ = is_word_character(code);
    return code_point_with_case(to, code);
  }

 private:
  bool in_word_ = false;
};

void initcap(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  const StopSignal& stop = result->get_allocator().stop();
  WordCases cases;
  lengthen(text.size(), result);
  char* const to = result->data();
  size_t at = 0;
  for (; at < text.size() && static_cast<unsigned char>(text[at]) < 0x80; stop.check_at(++at)) {
    to[at] = cases.next(text[at]);
  }
  result->resize(at);  // from here on a character may change its size
  for (uint64_t characters = 0; at < text.size(); at += character_bytes(text, at)) {
    append_code_point(cases.next(first_code_point(text.substr(at))), result);
    stop.check_at(++characters);
  }
  require_text_size(result->size());
}

// The text with `length` characters from `start` on (from 1) replaced.
void overlay(const RowArguments& a, CountedText* result) {
  const std::string_view text = a.text(0);
  const int64_t start = a.integer(2);
  int64_t end = 0;
  if (start <= 0) fail_value("negative substring length not allowed", "22011");
  if (__builtin_add_overflow(start, a.integer(3), &end))
    fail_value("integer out of range", "22003");
  append(text.substr(0, offset_of(a, text, start - 1)), result);
  *result += a.text(1);
  append(text.substr(offset_of(a, text, std::max<int64_t>(end - 1, 0))), result);
}

void to_hex(const RowArguments& a, CountedText* result) {
  fmt::format_to(std::back_inserter(*result), "{:x}", static_cast<uint64_t>(a.integer(0)));
}

int64_t position(const RowArguments& a) {
  const size_t found = find_text(a.text(0), a.text(1), 0);
  if (found == std::string_view::npos) return 0;
  return characters_of(a, a.text(0).substr(0, found)) + 1;
}

}  // namespace

TextRowFunction find_text_function(Function function) {
  switch (function) {
    case Function::kReplace: return replace;
    case Function::kLeftPad: return pad<true>;
    case Function::kRightPad: return pad<false>;
    case Function::kLeft: return left;
    case Function::kRight: return right;
    case Function::kReverse: return reverse;
    case Function::kRepeat: return repeat;
    case Function::kSplitPart: return split_part;
    case Function::kTrimBoth: return trim<true, true>;
    case Function::kTrimLeft: return trim<true, false>;
    case Function::kTrimRight: return trim<false, true>;
    case Function::kChr: return chr;
    case Function::kTranslate: return translate;
    case Function::kInitcap: return initcap;
    case Function::kOverlay: return overlay;
    case Function::kToHex: return to_hex;
    case Function::kMd5: return md5;
    case Function::kQuoteIdentifier:
      return
          [](const RowArguments& a, CountedText* result) { append_identifier(a.text(0), result); };
    case Function::kQuoteLiteral:
      return [](const RowArguments& a, CountedText* result) { append_literal(a.text(0), result); };
    default: return nullptr;
  }
}

IntegerRowFunction find_integer_function(Function function) {
  switch (function) {
    case Function::kPosition: return position;
    case Function::kStartsWith:
      return [](const RowArguments& a) { return int64_t{a.text(0).starts_with(a.text(1))}; };
    default: return nullptr;
  }
}

}  // namespace diptych::olap
