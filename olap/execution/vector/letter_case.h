// Changes the case of letters by Unicode's simple mappings, one character for one, as PostgreSQL
// does in a UTF-8 locale such as C.UTF-8. A letter without such a mapping stays: ß has none.
//
// Most texts are ASCII. These are changed sixteen bytes at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace diptych::olap {

enum class LetterCase : uint8_t { kLower, kUpper };

uint32_t code_point_with_case(LetterCase to, uint32_t code);
// True for what words consist of: letters and digits of any script.
bool is_word_character(uint32_t code);

using CaseBytes = uint8_t __attribute__((vector_size(16)));
using CaseWords = uint64_t __attribute__((vector_size(16)));

// Changes the case of sixteen bytes; bytes that are not ASCII letters stay.
template <LetterCase kTo>
inline CaseBytes with_case(CaseBytes bytes) {
  constexpr uint8_t kFirst = kTo == LetterCase::kLower ? 'A' : 'a';
  const auto letters = bytes - kFirst < 26;  // all bits of these
  return bytes ^ (reinterpret_cast<CaseBytes>(letters) & uint8_t{'a' - 'A'});
}

// Copies `count` bytes and changes the case of ASCII letters. Returns whether all are ASCII. `to`
// must not overlap `from`. Benchmark: BM_LetterCase.
template <LetterCase kTo>
inline bool copy_with_case(const char* from, size_t count, char* to) {
  CaseBytes all{};
  const auto change = [&](CaseBytes bytes) {
    all |= bytes;
    return with_case<kTo>(bytes);
  };
  const auto copy_16 = [&](size_t at) {
    CaseBytes bytes;
    std::memcpy(&bytes, from + at, sizeof bytes);
    bytes = change(bytes);
    std::memcpy(to + at, &bytes, sizeof bytes);
  };
  // Through a register: a vector that is read just after a store of a few of its bytes waits.
  const auto copy = [&](size_t at, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, from + at, bytes);
    word = reinterpret_cast<CaseWords>(change(reinterpret_cast<CaseBytes>(CaseWords{word})))[0];
    std::memcpy(to + at, &word, bytes);
  };
  // What is left at the end of a text is copied with bytes before it, once more.
  if (count >= 16) {
    for (size_t at = 0; at + 16 < count; at += 16) copy_16(at);
    copy_16(count - 16);
  } else if (count >= 8) {
    copy(0, 8);
    copy(count - 8, 8);
  } else if (count >= 4) {
    copy(0, 4);
    copy(count - 4, 4);
  } else {
    for (size_t at = 0; at < count; ++at) copy(at, 1);
  }
  uint64_t words[2];
  std::memcpy(words, &all, sizeof words);
  return ((words[0] | words[1]) & 0x8080808080808080) == 0;
}

// The number of bytes of a text of any letters in that case: at most half as many again.
size_t bytes_with_case(LetterCase to, std::string_view text);
// Writes these bytes and returns where they end.
char* copy_characters_with_case(LetterCase to, std::string_view text, char* made);

std::string text_with_case(LetterCase to, std::string_view text);

}  // namespace diptych::olap
