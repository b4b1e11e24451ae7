#include "olap/execution/key/key_places.h"

#include <algorithm>
#include <bit>

#include "olap/execution/vector/probe_kernels.h"

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
  return size <= array_places ? build_array(size, rows, stop) : build_ranked(size, rows, stop);
}

uint32_t KeyPlaces::build_array(uint32_t size, GrowingArray<uint32_t>* rows,
                                const StopSignal& stop) {
  numbers_.resize(size + size_t{1});
  stop.fill(numbers_.data(), numbers_.size(), kNoKey);
  uint32_t keys = 0;
  for (size_t row = 0; row < rows->size(); ++row) {
    stop.check_at(row);
    uint32_t& number = numbers_[(*rows)[row]];
    if (number == kNoKey) number = keys++;
    (*rows)[row] = number;
  }
  return keys;
}

uint32_t KeyPlaces::build_ranked(uint32_t size, GrowingArray<uint32_t>* rows,
                                 const StopSignal& stop) {
  taken_.resize(size / 32 + size_t{1});
  before_.resize(taken_.size());
  stop.fill(taken_.data(), taken_.size(), 0U);
  for (size_t row = 0; row < rows->size(); ++row) {
    stop.check_at(row);
    taken_[(*rows)[row] / 32] |= uint32_t{1} << ((*rows)[row] % 32);
  }
  uint32_t taken = 0;
  for (size_t i = 0; i < taken_.size(); ++i) {
    stop.check_at(i);
    before_[i] = taken;
    taken += static_cast<uint32_t>(std::popcount(taken_[i]));
  }
  for (size_t row = 0; row < rows->size(); ++row) {
    stop.check_at(row);
    (*rows)[row] = rank((*rows)[row]);
  }
  return taken;
}

std::vector<uint64_t> KeyPlaces::taken(uint32_t size) const {
  std::vector<uint64_t> bits(size / 64 + size_t{1});
  for (uint32_t place = 0; is_array() && place < size; ++place) {
    bits[place / 64] |= uint64_t{numbers_[place] != kNoKey} << (place % 64);
  }
  for (size_t i = 0; i < taken_.size(); ++i) bits[i / 2] |= uint64_t{taken_[i]} << (i % 2 * 32);
  return bits;
}

// Of an array, the places of rows become their numbers.
void KeyPlaces::select(uint32_t* places, const Selection& rows, Selection* with_key) const {
  uint64_t found[kVectorWords] = {};
  const uint32_t words = words_of(rows.slots);
  if (!is_dense(rows)) {
    for_selected(rows, [&](uint32_t slot) {
      const uint32_t key = number(places[slot]);
      found[slot / 64] |= uint64_t{key != kNoKey} << (slot % 64);
      if (is_array()) places[slot] = key;
    });
  } else {
    std::fill(places + rows.slots, places + size_t{words} * 64, 0);
    if (is_array()) {
      look_up_numbers(places, rows.bits, words, numbers_.data(), found);
    } else {
      find_taken(places, rows.bits, words, taken_.data(), found);
    }
  }
  select_bits(found, rows.slots, with_key);
}

void KeyPlaces::match(uint32_t* places, const Selection& rows, Selection* with_key,
                      uint32_t* numbers) const {
  select(places, rows, with_key);
  if (is_array()) {
    for_numbered(*with_key, [&](uint32_t k, uint32_t slot) { numbers[k] = places[slot]; });
  } else {
    for_numbered(*with_key, [&](uint32_t k, uint32_t slot) { numbers[k] = rank(places[slot]); });
  }
}

}  // namespace diptych::olap
