#include "olap/execution/key_places.h"

#include <algorithm>
#include <bit>

#include "olap/execution/probe_kernels.h"

namespace diptych::olap {

uint64_t KeyPlaces::size_max(uint64_t build_rows, double probe_rows) {
  const auto near = static_cast<uint64_t>(std::clamp<double>(
      probe_rows, static_cast<double>(kBytesNear), static_cast<double>(kBytesFarMax)));
  const uint64_t bytes = std::max(near, build_rows * kBytesABuildRow);
  return std::min(bytes * kRankedPlacesAByte, (uint64_t{1} << 31) - 1);
}

uint32_t KeyPlaces::build(uint32_t size, GrowingArray<uint32_t>* rows, const StopSignal& stop) {
  const uint64_t array_places =
      std::max(rows->size() * kArrayPlacesARow, kArrayBytesNear / sizeof(uint32_t));
  if (size <= array_places) {
    numbers_.resize(size + size_t{1});
  } else {
    ranked_.resize((size / 32 + size_t{1}) * 2);
    stop.fill(ranked_.data(), ranked_.size(), 0U);
    for (size_t row = 0; row < rows->size(); ++row) {
      stop.check_at(row);
      ranked_[(*rows)[row] / 32 * 2] |= uint32_t{1} << ((*rows)[row] % 32);
    }
    uint32_t taken = 0;
    for (size_t i = 0; i < ranked_.size(); i += 2) {
      stop.check_at(i);
      ranked_[i + 1] = taken;
      taken += static_cast<uint32_t>(std::popcount(ranked_[i]));
    }
    numbers_.resize(taken);
  }
  stop.fill(numbers_.data(), numbers_.size(), kNoKey);
  uint32_t keys = 0;
  for (size_t row = 0; row < rows->size(); ++row) {
    stop.check_at(row);
    uint32_t& number = numbers_[index((*rows)[row])];
    if (number == kNoKey) number = keys++;
    (*rows)[row] = number;
  }
  return keys;
}

uint32_t KeyPlaces::match(uint32_t* places, const Selection& rows, uint32_t* numbers,
                          uint64_t* matched) const {
  if (!is_dense(rows)) {
    uint32_t count = 0;
    std::fill_n(matched, kVectorWords, 0);
    for_selected(rows, [&](uint32_t slot) {
      numbers[count] = number(places[slot]);
      const bool found = numbers[count] != kNoKey;
      count += static_cast<uint32_t>(found);
      matched[slot / 64] |= uint64_t{found} << (slot % 64);
    });
    return count;
  }
  const uint32_t words = words_of(rows.slots);
  std::fill(places + rows.slots, places + size_t{words} * 64, 0);
  std::fill(matched + words, matched + kVectorWords, 0);
  if (ranked_.size() == 0) {
    return collect_numbers(places, rows.bits, words, numbers_.data(), numbers, matched);
  }
  const uint32_t count = collect_taken(places, rows.bits, words, ranked_.data(), numbers, matched);
  for (uint32_t k = 0; k < count; ++k) numbers[k] = numbers_[index(numbers[k])];
  return count;
}

}  // namespace diptych::olap
