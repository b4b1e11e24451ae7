#include "storage/free_slots.h"

#include <bit>

#include "base/check.h"

namespace diptych::storage {

void FreeSlots::add(uint32_t ordinal) {
  size_t bit = ordinal;
  for (size_t level = 0; level < kLevels; ++level) {
    std::vector<uint64_t>& words = levels_[level];
    const size_t word = bit / 64;
    const uint64_t mask = uint64_t{1} << (bit % 64);
    if (word >= words.size()) words.resize(word + 1);
    DIPTYCH_CHECK(level != 0 || (words[word] & mask) == 0, "a slot is freed once");
    const bool was_empty = words[word] == 0;
    words[word] |= mask;
    if (!was_empty) break;  // the levels above have this word's bit
    bit = word;
  }
  ++count_;
}

uint32_t FreeSlots::lowest() const {
  DIPTYCH_CHECK(count_ != 0, "a slot is taken only where one is free");
  size_t bit = 0;
  for (size_t level = kLevels; level-- != 0;) {
    bit = bit * 64 + static_cast<size_t>(std::countr_zero(levels_[level][bit]));
  }
  return static_cast<uint32_t>(bit);
}

uint32_t FreeSlots::take_lowest() {
  const uint32_t ordinal = lowest();
  remove(ordinal);
  return ordinal;
}

bool FreeSlots::take(uint32_t ordinal) {
  if (!has(ordinal)) return false;
  remove(ordinal);
  return true;
}

void FreeSlots::make_room(uint32_t ordinal) {
  size_t bit = ordinal;
  for (std::vector<uint64_t>& words : levels_) {
    bit /= 64;
    if (bit >= words.size()) words.resize(bit + 1);
  }
}

void FreeSlots::remove(size_t bit) {
  for (std::vector<uint64_t>& words : levels_) {
    words[bit / 64] &= ~(uint64_t{1} << (bit % 64));
    if (words[bit / 64] != 0) break;
    bit /= 64;
  }
  --count_;
}

size_t FreeSlots::memory_bytes() const {
  size_t bytes = 0;
  for (const std::vector<uint64_t>& words : levels_) bytes += words.capacity() * sizeof(uint64_t);
  return bytes;
}

}  // namespace diptych::storage
