// find_text: finds a text in another. It is made for texts of some tens of bytes, for which
// building memmem's tables takes longer than the search.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace diptych::olap {

// The first occurrence from `from` on, or npos. Benchmark: BM_Like.
inline size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
  constexpr size_t kShortMax = 128;
  constexpr uint64_t kEach = 0x0101010101010101;
  if (text.size() - from < wanted.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  if (text.size() - from > kShortMax) {
    const void* const found =
        memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
    if (found == nullptr) return std::string_view::npos;
    return static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  const size_t end = text.size() - wanted.size() + 1;  // behind the last possible place
  const size_t last = wanted.size() - 1;
  const auto is_at = [&](size_t place) {
    return std::memcmp(text.data() + place, wanted.data(), wanted.size()) == 0;
  };
  // Eight places at a time by the first and the last byte.
  const uint64_t firsts = kEach * static_cast<uint8_t>(wanted.front());
  const uint64_t lasts = kEach * static_cast<uint8_t>(wanted.back());
  size_t place = from;
  for (; place + 8 <= end; place += 8) {
    uint64_t first_bytes;
    uint64_t last_bytes;
    std::memcpy(&first_bytes, text.data() + place, 8);
    std::memcpy(&last_bytes, text.data() + place + last, 8);
    const uint64_t other = (first_bytes ^ firsts) | (last_bytes ^ lasts);
    // Bytes that are zero, and maybe some above one that is.
    for (uint64_t zeros = (other - kEach) & ~other & (0x80 * kEach); zeros != 0;
         zeros &= zeros - 1) {
      const size_t found = place + static_cast<size_t>(__builtin_ctzll(zeros)) / 8;
      if (is_at(found)) return found;
    }
  }
  for (; place < end; ++place) {
    if (text[place] == wanted[0] && is_at(place)) return place;
  }
  return std::string_view::npos;
}

}  // namespace diptych::olap
