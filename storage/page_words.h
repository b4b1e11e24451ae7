// Runs of pages in bitmaps with a bit a page, and the other way round.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace diptych::storage {

// Calls do_word(word, mask) for each word with bits of [first, first + count).
template <class DoWord>
void for_page_words(uint32_t first, uint32_t count, DoWord do_word) {
  const uint64_t end = uint64_t{first} + count;
  for (uint64_t bit = first; bit < end;) {
    const uint64_t in_word = std::min(64 - bit % 64, end - bit);
    const uint64_t ones = in_word == 64 ? ~uint64_t{0} : (uint64_t{1} << in_word) - 1;
    do_word(static_cast<uint32_t>(bit / 64), ones << (bit % 64));
    bit += in_word;
  }
}

// Calls do_run(first, count) for each run of ones in the word.
template <class DoRun>
void for_page_runs(uint32_t word, uint64_t ones, DoRun do_run) {
  while (ones != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(ones));
    const auto count = static_cast<uint32_t>(std::countr_one(ones >> first));
    do_run(word * 64 + first, count);
    if (first + count == 64) break;
    ones &= ~uint64_t{0} << (first + count);
  }
}

}  // namespace diptych::storage
