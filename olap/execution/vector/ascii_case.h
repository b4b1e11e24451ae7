// Changes the case of ASCII letters, eight bytes at a time. Texts are short, so a loop vectorised
// by 32 bytes would spend most of its time in the scalar remainder.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace diptych::olap {

enum class LetterCase : uint8_t { kLower, kUpper };

// Changes the case of eight bytes; bytes that are not ASCII letters stay.
template <LetterCase kTo>
inline uint64_t with_case(uint64_t bytes) {
  constexpr uint64_t kEach = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x80 * kEach;
  constexpr uint64_t kFirst = kTo == LetterCase::kLower ? 'A' : 'a';
  const uint64_t low = bytes & ~kHigh;  // no carry leaves its byte
  const uint64_t from_first = low + (0x80 - kFirst) * kEach;
  const uint64_t above_last = low + (0x80 - kFirst - 26) * kEach;
  const uint64_t letters = from_first & ~above_last & ~bytes & kHigh;
  return bytes ^ (letters >> 2);  // 0x20 apart
}

// Copies `count` bytes and changes their case. `to` may equal `from` but must not overlap it
// otherwise. Benchmark: BM_LetterCase.
template <LetterCase kTo>
inline void copy_with_case(const char* from, size_t count, char* to) {
  const auto copy = [&](size_t at, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, from + at, bytes);
    word = with_case<kTo>(word);
    std::memcpy(to + at, &word, bytes);
  };
  size_t at = 0;
  for (; at + 8 <= count; at += 8) copy(at, 8);
  if (at == count) return;
  if (count >= 8) return copy(count - 8, 8);  // some of them again, which changes nothing
  if ((count & 4) != 0) copy(std::exchange(at, at + 4), 4);
  if ((count & 2) != 0) copy(std::exchange(at, at + 2), 2);
  if ((count & 1) != 0) copy(at, 1);
}

}  // namespace diptych::olap
