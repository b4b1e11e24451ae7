#include "olap/execution/key/word_set.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/check.h"
#include "olap/execution/key/word_hash.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

namespace {

constexpr const char* kSetIs = "the groups of a GROUP BY";  // for messages

template <uint32_t kWords>
bool is_zero(const uint64_t* key) {
  uint64_t any = 0;
  for (uint32_t w = 0; w < kWords; ++w) any |= key[w];
  return any == 0;
}

template <uint32_t kWords>
bool is_equal(const uint64_t* a, const uint64_t* b) {
  uint64_t difference = 0;
  for (uint32_t w = 0; w < kWords; ++w) difference |= a[w] ^ b[w];
  return difference == 0;
}

constexpr uint32_t kPartBits = std::countr_zero(WordSet::kParts);

// f(integral constant): the number of words.
template <class F>
auto with_words(uint32_t words, F&& f) {
  if (words == 1) return f(std::integral_constant<uint32_t, 1>());
  return f(std::integral_constant<uint32_t, 2>());
}

// The keys of the slots from *place on to the front of `keys`, as many as surely fit. Whether a
// slot is free cannot be predicted: each is copied, and counts where it is not.
template <uint32_t kWords>
uint32_t read_slots(const uint64_t* slots, uint64_t slot_count, uint64_t* place, uint64_t* keys) {
  const uint64_t end = std::min(slot_count, *place + kVectorRows);
  uint32_t count = 0;
  for (uint64_t slot = *place; slot < end; ++slot) {
    const uint64_t* const key = slots + slot * kWords;
    std::copy_n(key, kWords, keys + size_t{count} * kWords);
    count += is_zero<kWords>(key) ? 0 : 1;
  }
  *place = end;
  return count;
}

void check_count(uint64_t keys) {
  if (keys < UINT32_MAX) return;
  fail_query(base::ErrorCode::kOutOfMemory, "more than 2^32 - 2 distinct values");
}

}  // namespace

WordSet::WordSet(uint32_t words, const QueryLimits& limits) : words_(words), limits_(limits) {
  DIPTYCH_CHECK(words >= 1 && words <= kWordsMax, "keys have one word or two");
}

// What is filled in their order is at most three quarters full until the array grows. An empty set
// takes no more than it will need, any other at most twice that.
void WordSet::expect(uint64_t keys) {
  const uint64_t room = std::max(keys, (size_ + keys) * 2 / 3);
  if (room * 2 <= slot_count_) return;
  with_words(words_, [&](auto words) { grow<words>(room); });
}

uint32_t WordSet::add(const uint64_t* keys, uint32_t count, uint16_t* added) {
  DIPTYCH_DCHECK(!is_dense_ && count <= kVectorRows, "a vector's keys, before it is dense");
  check_count(size_ + count);
  return with_words(words_, [&](auto words) {
    if ((size_ + count) * 2 > slot_count_) grow<words>(size_ + count);
    const uint32_t more = place<words>(keys, count, added);
    size_ += more;
    return more;
  });
}

GrowingArray<uint64_t> WordSet::take_larger(uint64_t keys, MemoryCharge* charge) {
  GrowingArray<uint64_t> smaller = std::move(slots_);
  slot_count_ = std::bit_ceil(std::max(keys * 2, kSlotsMin));
  // The smaller one is charged by who holds the set.
  charge->set(slot_count_ * words_ * sizeof(uint64_t));
  slots_ = GrowingArray<uint64_t>();
  slots_.resize(slot_count_ * words_);
  shift_ = static_cast<uint32_t>(64 - std::countr_zero(slot_count_));
  last_in_part_ = (slot_count_ < kPartedSlotsMin ? slot_count_ : slot_count_ / kParts) - 1;
  return smaller;
}

template <uint32_t kWords>
void WordSet::grow(uint64_t keys) {
  const uint64_t smaller_count = slot_count_;
  MemoryCharge charge(limits_.memory, kSetIs);
  const GrowingArray<uint64_t> smaller = take_larger(keys, &charge);
  move_parts<kWords>(smaller, smaller_count, {0, kParts});
}

template <uint32_t kWords>
void WordSet::move_parts(const GrowingArray<uint64_t>& smaller, uint64_t smaller_count,
                         RowRange parts) {
  const uint64_t first = slot_count_ * parts.begin / kParts;
  limits_.stop->fill(slots_.data() + first * kWords,
                     (slot_count_ * parts.end / kParts - first) * kWords, uint64_t{0});
  uint64_t moved[kVectorRows * kWords];
  uint16_t added[kVectorRows];
  const uint64_t end = smaller_count * parts.end / kParts;
  for (uint64_t from = smaller_count * parts.begin / kParts; from < end;) {
    limits_.stop->check();
    const uint32_t count = read_slots<kWords>(smaller.data(), end, &from, moved);
    place<kWords>(moved, count, added);
  }
}

template <uint32_t kWords>
uint32_t WordSet::place(const uint64_t* keys, uint32_t count, uint16_t* added) {
  uint64_t* const slots = slots_.data();
  const uint64_t last = last_in_part_;
  uint64_t home[kVectorRows];
  for (uint32_t k = 0; k < count; ++k) {
    home[k] = hash_words(keys + size_t{k} * kWords, kWords) >> shift_;
  }
  const uint32_t fetched = slots_.bytes() >= kPrefetchBytesMin ? count : 0;
  for (uint32_t k = 0; k < std::min(fetched, kPrefetchKeys); ++k) {
    __builtin_prefetch(slots + home[k] * kWords, 1);
  }
  uint32_t new_keys = 0;
  for (uint32_t k = 0; k < count; ++k) {
    if (k + kPrefetchKeys < fetched) {
      __builtin_prefetch(slots + home[k + kPrefetchKeys] * kWords, 1);
    }
    const uint64_t* const key = keys + size_t{k} * kWords;
    if (is_zero<kWords>(key)) {
      if (!has_zero_) added[new_keys++] = static_cast<uint16_t>(k);
      has_zero_ = true;
      continue;
    }
    uint64_t at = home[k];
    uint64_t* slot = slots + at * kWords;
    while (!is_equal<kWords>(slot, key)) {
      if (is_zero<kWords>(slot)) {
        std::copy_n(key, kWords, slot);
        added[new_keys++] = static_cast<uint16_t>(k);
        break;
      }
      at = (at & ~last) | ((at + 1) & last);
      slot = slots + at * kWords;
    }
  }
  return new_keys;
}

void WordSet::KeyLists::add(const uint64_t* keys, uint32_t count) {
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t* const key = keys + size_t{k} * words_;
    const uint64_t part = hash_words(key, words_) >> (64 - kPartBits);
    GrowingArray<uint64_t>& list = lists_[part * lists_.size() / kParts];
    const size_t before = list.size();
    list.resize(before + words_);
    std::copy_n(key, words_, list.data() + before);
  }
}

size_t WordSet::KeyLists::memory_bytes() const {
  size_t bytes = 0;
  for (const GrowingArray<uint64_t>& list : lists_) bytes += list.bytes();
  return bytes;
}

void WordSet::add_lists(std::span<const KeyLists> lists, uint32_t ranges, const Workers& workers,
                        const Added& added) {
  uint64_t room = size_;
  for (const KeyLists& of_one : lists) room += of_one.memory_bytes() / words_ / sizeof(uint64_t);
  check_count(room);
  with_words(words_, [&](auto words) {
    if (slot_count_ < kPartedSlotsMin) grow<words>(std::max(room, kPartedSlotsMin / 2));
    MemoryCharge charge(limits_.memory, kSetIs);
    const uint64_t smaller_count = slot_count_;
    GrowingArray<uint64_t> smaller;
    const bool grows = room * 2 > slot_count_;
    if (grows) smaller = take_larger(room, &charge);
    std::atomic<uint64_t> more{0};  // writers: the ranges
    workers.run(ranges, [&](uint32_t range) {
      // A part p is of the range p * ranges / kParts.
      const RowRange parts{(uint64_t{range} * kParts + ranges - 1) / ranges,
                           ((range + uint64_t{1}) * kParts + ranges - 1) / ranges};
      if (grows) move_parts<words>(smaller, smaller_count, parts);
      // relaxed: only the sum matters, after all have ended.
      more.fetch_add(add_range<words>(lists, range, added), std::memory_order_relaxed);
    });
    // relaxed: as above.
    size_ += more.load(std::memory_order_relaxed);
  });
}

template <uint32_t kWords>
uint64_t WordSet::add_range(std::span<const KeyLists> lists, uint32_t range, const Added& added) {
  uint64_t more = 0;
  uint16_t new_keys[kVectorRows];
  for (const KeyLists& of_one : lists) {
    const GrowingArray<uint64_t>& list = of_one.range(range);
    for (size_t first = 0; first < list.size(); first += size_t{kVectorRows} * kWords) {
      limits_.stop->check();
      const auto count =
          static_cast<uint32_t>(std::min<size_t>(kVectorRows, (list.size() - first) / kWords));
      const uint32_t new_count = place<kWords>(list.data() + first, count, new_keys);
      added(range, list.data() + first, new_keys, new_count);
      more += new_count;
    }
  }
  return more;
}

uint32_t WordSet::read(uint64_t* place, uint64_t end, uint64_t* keys) const {
  if (is_dense_) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, end - *place));
    std::copy_n(slots_.data() + *place * words_, size_t{count} * words_, keys);
    *place += count;
    return count;
  }
  uint32_t count = 0;
  const uint64_t slots_end = std::min(end, slot_count_);
  while (count == 0 && *place < slots_end) {
    count = with_words(words_, [&](auto words) {
      return read_slots<words>(slots_.data(), slots_end, place, keys);
    });
  }
  // The key of zeros comes last, as if in a slot behind the others.
  if (count == 0 && *place == slot_count_ && end > slot_count_ && has_zero_) {
    ++*place;
    std::fill_n(keys, words_, 0);
    return 1;
  }
  return count;
}

void WordSet::make_dense() {
  if (is_dense_) return;
  uint64_t kept = 0;
  uint64_t moved[kVectorRows * kWordsMax];
  for (uint64_t from = 0; from < slot_count_;) {
    limits_.stop->check_at(from);
    const uint32_t count = with_words(words_, [&](auto words) {
      return read_slots<words>(slots_.data(), slot_count_, &from, moved);
    });
    std::copy_n(moved, size_t{count} * words_, slots_.data() + kept * words_);
    kept += count;
  }
  if (has_zero_) std::fill_n(slots_.data() + kept * words_, words_, 0);  // half of them are free
  is_dense_ = true;
}

}  // namespace diptych::olap
