// Characters of UTF-8 texts. Texts are validated when they enter the database (base/utf8.h): what
// the functions say of other bytes has no meaning, but they read within the text in any case.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/utf8.h"

namespace diptych::olap {

inline bool is_ascii(std::string_view text) {
  constexpr uint64_t kTops = 0x8080'8080'8080'8080;
  uint64_t all = 0;
  if (text.size() < sizeof all) {
    for (const char c : text) all |= static_cast<unsigned char>(c);
    return (all & kTops) == 0;
  }
  const auto take = [&](size_t at) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    all |= word;
  };
  const size_t last = text.size() - sizeof all;
  for (size_t at = 0; at < last; at += sizeof all) take(at);
  take(last);
  return (all & kTops) == 0;
}

// The number of bytes, within the text, of the character that begins at `at`.
inline size_t character_bytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t bytes = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(bytes, text.size() - at);
}

// A bit for each of the eight bytes that is a character's first: the top one of that byte.
inline uint64_t first_bytes_of(uint64_t bytes) {
  return (~bytes | (bytes << 1)) & 0x8080'8080'8080'8080;
}

// Most texts are of ASCII, which is found out faster than their first bytes are counted.
inline int64_t count_first_bytes(std::string_view text) {
  if (is_ascii(text)) return static_cast<int64_t>(text.size());
  int64_t count = 0;
  uint64_t word = 0;
  size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    count += std::popcount(first_bytes_of(word));
  }
  for (; at < text.size(); ++at) count += base::is_utf8_continuation(text[at]) ? 0 : 1;
  return count;
}

inline constexpr size_t kTextPieceBytes = size_t{1} << 20;

// For the next two functions, `check` may throw. It is called after each MiB.
template <class Check>
int64_t count_characters(std::string_view text, const Check& check) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); at += kTextPieceBytes) {
    if (at != 0) check();
    count += count_first_bytes(text.substr(at, kTextPieceBytes));
  }
  return count;
}
// The offset at which character number `n` (from 0) begins; the text's size if n is beyond the end.
template <class Check>
size_t offset_of_character(std::string_view text, int64_t n, const Check& check) {
  n = std::max<int64_t>(n, 0);
  uint64_t word = 0;
  size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    if (at % kTextPieceBytes == 0 && at != 0) check();
    std::memcpy(&word, text.data() + at, sizeof word);
    uint64_t firsts = first_bytes_of(word);
    const int count = std::popcount(firsts);
    if (count > n) {
      for (; n > 0; --n) firsts &= firsts - 1;
      return at + static_cast<size_t>(std::countr_zero(firsts)) / 8;
    }
    n -= count;
  }
  for (; at < text.size(); ++at) {
    if (!base::is_utf8_continuation(text[at]) && n-- == 0) break;
  }
  return at;
}

inline int64_t count_characters(std::string_view text) {
  return count_characters(text, [] {});
}
inline size_t offset_of_character(std::string_view text, int64_t n) {
  return offset_of_character(text, n, [] {});
}

// The characters [start, start + length), numbered from 1.
inline std::string_view substring_characters(std::string_view text, int64_t start, int64_t length) {
  int64_t end;
  if (__builtin_add_overflow(start, length, &end)) end = INT64_MAX;
  start = std::max<int64_t>(start, 1);
  if (end <= start) return {};
  const size_t first = offset_of_character(text, start - 1);
  const std::string_view rest = text.substr(first);
  return rest.substr(0, offset_of_character(rest, end - start));
}

inline uint32_t first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t bytes = character_bytes(text, 0);
  if (bytes == 1) return byte(0);
  uint32_t code = byte(0) & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) code = (code << 6) | (byte(i) & 0x3f);
  return code;
}

constexpr size_t kCharacterBytesMax = 4;

constexpr size_t code_point_bytes(uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

// Writes the bytes of the code point's character and returns where they end.
inline char* write_code_point(uint32_t code, char* to) {
  const size_t bytes = code_point_bytes(code);
  if (bytes == 1) {
    *to = static_cast<char>(code);
    return to + 1;
  }
  for (size_t i = bytes - 1; i > 0; --i, code >>= 6) {
    to[i] = static_cast<char>(0x80 | (code & 0x3f));
  }
  to[0] = static_cast<char>((0xf00 >> bytes) | code);
  return to + bytes;
}

template <class Text>
void append_code_point(uint32_t code, Text* text) {
  char bytes[kCharacterBytesMax];
  text->append(bytes, write_code_point(code, bytes));
}

}  // namespace diptych::olap
