#include "storage/encoding/codes.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/column.h"

namespace diptych::storage::encoding {
namespace {

constexpr uint64_t kMembersMax = 1U << 18;  // codes that a bitmap of members may have

template <class Lane>
void select_in(const Lane* values, uint32_t count, std::span<const CodeRange> ranges,
               uint64_t* words) {
  for (const CodeRange& range : ranges) {
    if (range.first > std::numeric_limits<Lane>::max()) break;
    const uint64_t last = std::min<uint64_t>(range.last, std::numeric_limits<Lane>::max());
    select_range(values, count, static_cast<Lane>(range.first), static_cast<Lane>(last), words);
  }
}

template <class Lane>
void select_packed(Codes codes, uint32_t count, std::span<const CodeRange> ranges,
                   uint64_t* words) {
  Lane unpacked[kVectorRows];
  for (uint32_t first = 0; first < count; first += kVectorRows) {
    const uint32_t run = std::min(kVectorRows, count - first);
    decode_codes(codes, first, run, Lane{0}, unpacked);
    select_in(unpacked, run, ranges, words + first / 64);
  }
}

bool holds_code(std::span<const CodeRange> ranges, uint64_t code) {
  const auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](uint64_t value, const CodeRange& range) { return value < range.first; });
  return behind != ranges.begin() && code <= std::prev(behind)->last;
}

// Many ranges: each code is looked up, among members where they are few.
void select_each(Codes codes, uint32_t count, std::span<const CodeRange> ranges, uint64_t* words) {
  const uint64_t code_max = (uint64_t{1} << codes.bits) - 1;
  std::vector<uint64_t> members;
  if (code_max < kMembersMax) {
    members.resize(bitmap_words(static_cast<uint32_t>(code_max + 1)));
    for (const CodeRange& range : ranges) {
      for (uint64_t code = range.first; code <= std::min(range.last, code_max); ++code) {
        members[code / 64] |= uint64_t{1} << (code % 64);
      }
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t code = codes[i];
    const bool in = members.empty() ? holds_code(ranges, code)
                                    : bit_is_set(members.data(), static_cast<uint32_t>(code));
    words[i / 64] |= uint64_t{in} << (i % 64);
  }
}

}  // namespace

void select_codes(Codes codes, uint32_t count, std::span<const CodeRange> ranges, uint64_t* words) {
  std::fill_n(words, bitmap_words(count), 0);
  if (ranges.size() > kPassesMax) return select_each(codes, count, ranges, words);
  const auto* const data = codes.data;
  switch (codes.bits) {
    case 8: return select_in(reinterpret_cast<const uint8_t*>(data), count, ranges, words);
    case 16: return select_in(reinterpret_cast<const uint16_t*>(data), count, ranges, words);
    case 32: return select_in(reinterpret_cast<const uint32_t*>(data), count, ranges, words);
    default: break;
  }
  if (codes.bits <= 25) return select_packed<uint32_t>(codes, count, ranges, words);
  select_packed<uint64_t>(codes, count, ranges, words);
}

bool codes_within(Codes codes, uint32_t count, uint64_t end) {
  if (end > (uint64_t{1} << codes.bits) - 1) return true;
  uint64_t unpacked[kVectorRows];
  uint64_t code_max = 0;
  for (uint32_t first = 0; first < count; first += kVectorRows) {
    const uint32_t run = std::min(kVectorRows, count - first);
    decode_codes(codes, first, run, uint64_t{0}, unpacked);
    for (uint32_t i = 0; i < run; ++i) code_max = std::max(code_max, unpacked[i]);
  }
  return count == 0 || code_max < end;
}

}  // namespace diptych::storage::encoding
