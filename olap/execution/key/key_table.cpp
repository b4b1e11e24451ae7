#include "olap/execution/key/key_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "olap/execution/key/key_equality.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"

namespace diptych::olap {

namespace {

constexpr uint64_t kSlotsMin = 256;
constexpr uint64_t kSparseKeysMax =
    2048;  // up to here, an eighth of the slots is used: no collisions
constexpr double kExpectedKeysMax = 1 << 22;
constexpr uint64_t kPrefetchSlotsMin = 32 * 1024;  // 256 KiB: a quarter of a core's L2

}  // namespace

size_t KeyTable::memory_bytes() const {
  return slots_.bytes() + keys_.bytes() + hashes_.bytes() + heap_.memory_bytes();
}

uint64_t KeyTable::slots_for(uint64_t keys) {
  if (keys >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "more than 2^32 - 2 groups or join keys");
  }
  return std::bit_ceil(std::max(keys * (keys <= kSparseKeysMax ? 8 : 2), kSlotsMin));
}

void KeyTable::reserve(uint64_t keys) {
  const uint64_t slots = slots_for(keys);
  if (slots > slots_.size() || placed_ != size()) rebuild(std::max<uint64_t>(slots, slots_.size()));
}

void KeyTable::expect(double keys) {
  const auto expected = static_cast<size_t>(std::min(std::max(keys, 0.0), kExpectedKeysMax));
  keys_.reserve(expected * packer_->words());
  hashes_.reserve(expected);
}

void KeyTable::make_room(uint32_t keys) {
  const uint64_t wanted = size() + uint64_t{keys};
  if (wanted * 2 > slots_.size() || placed_ != size()) {
    reserve(std::max<uint64_t>(wanted, size() * uint64_t{2}));
  }
}

void KeyTable::rebuild(uint64_t slots) {
  MemoryCharge more(limits_.memory, what_);
  more.set(slots * sizeof(uint64_t) - slots_.bytes());
  slots_ = GrowingArray<uint64_t>();
  slots_.resize(slots);
  slot_mask_ = slots - 1;
  limits_.stop->fill(slots_.data(), slots, uint64_t{0});
  for (uint32_t number = 0; number < size(); ++number) {
    limits_.stop->check_at(number);
    if (number + kPrefetchKeys < size()) {
      __builtin_prefetch(&slots_[hashes_[number + kPrefetchKeys] & slot_mask_], 1);
    }
    const uint64_t hash = hashes_[number];
    uint64_t slot = hash & slot_mask_;
    while (slots_[slot] != 0) slot = (slot + 1) & slot_mask_;
    slots_[slot] = (hash & kTagMask) | (number + uint64_t{1});
  }
  placed_ = size();
}

void KeyTable::prefetch(const uint64_t* hashes, uint32_t count) const {
  if (slots_.size() < kPrefetchSlotsMin) return;
  for (uint32_t k = 0; k < count; ++k) __builtin_prefetch(&slots_[hashes[k] & slot_mask_]);
}

uint32_t KeyTable::insert(uint64_t slot, const uint64_t* key, uint64_t hash, StringLife life) {
  const uint32_t number = size();
  const uint32_t words = packer_->words();
  keys_.resize((number + size_t{1}) * words);
  uint64_t* const kept = keys_.data() + size_t{number} * words;
  std::copy_n(key, words, kept);
  if (life == StringLife::kBatch && packer_->has_texts()) packer_->keep_texts(kept, &heap_);
  hashes_.push_back(hash);
  slots_[slot] = (hash & kTagMask) | (number + uint64_t{1});
  ++placed_;
  return number;
}

template <class Equal>
void KeyTable::find_or_insert_with(Equal equal, const uint64_t* keys, const uint64_t* hashes,
                                   uint32_t count, StringLife life, uint32_t* numbers) {
  const uint32_t words = packer_->words();
  if (slots_.size() >= kPrefetchSlotsMin) {
    for (uint32_t k = 0; k < count; ++k) {
      const auto number = static_cast<uint32_t>(slots_[hashes[k] & slot_mask_]) - 1;
      if (number != kNoKey) __builtin_prefetch(keys_.data() + size_t{number} * words);
    }
  }
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t hash = hashes[k];
    const uint64_t* const key = keys + size_t{k} * words;
    uint64_t slot = hash & slot_mask_;
    while (true) {
      const uint64_t entry = slots_[slot];
      if (entry == 0) {
        numbers[k] = insert(slot, key, hash, life);
        break;
      }
      const auto number = static_cast<uint32_t>(entry) - 1;
      if (((entry ^ hash) & kTagMask) == 0 && equal(key, keys_.data() + size_t{number} * words)) {
        numbers[k] = number;
        break;
      }
      slot = (slot + 1) & slot_mask_;
    }
  }
}

void KeyTable::find_or_insert(const uint64_t* keys, const uint64_t* hashes, uint32_t count,
                              StringLife life, uint32_t* numbers) {
  make_room(count);
  prefetch(hashes, count);
  with_equality(*packer_, [&](auto equal) {
    find_or_insert_with(equal, keys, hashes, count, life, numbers);
  });
}

void KeyTable::insert_new(const uint64_t* keys, const uint64_t* hashes, uint32_t count,
                          uint32_t* numbers) {
  make_room(count);
  prefetch(hashes, count);
  const uint32_t first = size();
  append(keys, hashes, count);
  for (uint32_t k = 0; k < count; ++k) {
    numbers[k] = first + k;
    uint64_t slot = hashes[k] & slot_mask_;
    while (slots_[slot] != 0) slot = (slot + 1) & slot_mask_;
    slots_[slot] = (hashes[k] & kTagMask) | (numbers[k] + uint64_t{1});
  }
  placed_ = size();
}

void KeyTable::append(const uint64_t* keys, const uint64_t* hashes, uint32_t count) {
  const uint64_t first = size();
  static_cast<void>(slots_for(first + count));  // it checks that the numbers fit
  const size_t words = packer_->words();
  keys_.resize((first + count) * words);
  std::copy_n(keys, count * words, keys_.data() + first * words);
  hashes_.resize(first + count);
  std::copy_n(hashes, count, hashes_.data() + first);
}

template <class Equal>
void KeyTable::find_with(Equal equal, const uint64_t* keys, const uint64_t* hashes, uint32_t count,
                         uint32_t* numbers) const {
  const uint32_t words = packer_->words();
  const bool large = slots_.size() >= kPrefetchSlotsMin;
  // First to the slot whose tag matches, then, when the key's line has come, the comparison.
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t hash = hashes[k];
    uint64_t slot = hash & slot_mask_;
    uint64_t entry = slots_[slot];
    while (entry != 0 && ((entry ^ hash) & kTagMask) != 0) {
      slot = (slot + 1) & slot_mask_;
      entry = slots_[slot];
    }
    numbers[k] = static_cast<uint32_t>(entry) - 1;
    if (large && entry != 0) __builtin_prefetch(keys_.data() + size_t{numbers[k]} * words);
  }
  for (uint32_t k = 0; k < count; ++k) {
    if (numbers[k] == kNoKey) continue;
    const uint64_t* const key = keys + size_t{k} * words;
    if (equal(key, keys_.data() + size_t{numbers[k]} * words)) continue;
    // Another key with the same tag: rare. Search from the start.
    numbers[k] = kNoKey;
    for (uint64_t slot = hashes[k] & slot_mask_; slots_[slot] != 0;
         slot = (slot + 1) & slot_mask_) {
      const auto number = static_cast<uint32_t>(slots_[slot]) - 1;
      if (equal(key, keys_.data() + size_t{number} * words)) {
        numbers[k] = number;
        break;
      }
    }
  }
}

void KeyTable::find(const uint64_t* keys, const uint64_t* hashes, uint32_t count,
                    uint32_t* numbers) const {
  if (size() == 0) {
    std::fill_n(numbers, count, kNoKey);
    return;
  }
  DIPTYCH_DCHECK(placed_ == size(), "keys that were appended have no slots yet");
  prefetch(hashes, count);
  with_equality(*packer_, [&](auto equal) { find_with(equal, keys, hashes, count, numbers); });
}

}  // namespace diptych::olap
