#include "olap/execution/key/word_set.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "olap/execution/key/word_hash.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

namespace {

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

}  // namespace

WordSet::WordSet(uint32_t words, const QueryLimits& limits) : words_(words), limits_(limits) {
  DIPTYCH_CHECK(words >= 1 && words <= kWordsMax, "keys have one word or two");
}

// What is filled in their order is at most three quarters full until the array grows. An empty set
// takes no more than it will need, any other at most twice that.
void WordSet::expect(uint64_t keys) {
  const uint64_t room = std::max(keys, (filled_ + keys) * 2 / 3);
  if (room * 2 <= slot_count_) return;
  with_words(words_, [&](auto words) { grow<words>(room); });
}

void WordSet::add(const uint64_t* keys, uint32_t count) {
  DIPTYCH_DCHECK(!is_dense_ && count <= kVectorRows, "a vector's keys, before it is dense");
  if (size() + uint64_t{count} >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "more than 2^32 - 2 distinct values");
  }
  with_words(words_, [&](auto words) {
    if ((filled_ + count) * 2 > slot_count_) grow<words>(filled_ + count);
    place<words>(keys, count);
  });
}

template <uint32_t kWords>
void WordSet::grow(uint64_t keys) {
  GrowingArray<uint64_t> smaller = std::move(slots_);
  const uint64_t smaller_count = slot_count_;
  slot_count_ = std::bit_ceil(std::max(keys * 2, kSlotsMin));
  // The smaller one is charged by who holds the set.
  MemoryCharge larger(limits_.memory, "the groups of a GROUP BY");
  larger.set(slot_count_ * kWords * sizeof(uint64_t));
  slots_ = GrowingArray<uint64_t>();
  slots_.resize(slot_count_ * kWords);
  limits_.stop->fill(slots_.data(), slot_count_ * kWords, uint64_t{0});
  shift_ = static_cast<uint32_t>(64 - std::countr_zero(slot_count_));
  filled_ = 0;
  uint64_t moved[kVectorRows * kWords];
  for (uint64_t from = 0; from < smaller_count;) {
    limits_.stop->check_at(from);
    place<kWords>(moved, read_slots<kWords>(smaller.data(), smaller_count, &from, moved));
  }
}

template <uint32_t kWords>
void WordSet::place(const uint64_t* keys, uint32_t count) {
  uint64_t* const slots = slots_.data();
  const uint64_t last = slot_count_ - 1;
  uint64_t home[kVectorRows];
  for (uint32_t k = 0; k < count; ++k) {
    home[k] = hash_words(keys + size_t{k} * kWords, kWords) >> shift_;
  }
  const uint32_t fetched = slots_.bytes() >= kPrefetchBytesMin ? count : 0;
  for (uint32_t k = 0; k < std::min(fetched, kPrefetchKeys); ++k) {
    __builtin_prefetch(slots + home[k] * kWords, 1);
  }
  for (uint32_t k = 0; k < count; ++k) {
    if (k + kPrefetchKeys < fetched) {
      __builtin_prefetch(slots + home[k + kPrefetchKeys] * kWords, 1);
    }
    const uint64_t* const key = keys + size_t{k} * kWords;
    if (is_zero<kWords>(key)) {
      has_zero_ = true;
      continue;
    }
    uint64_t* slot = slots + home[k] * kWords;
    while (!is_equal<kWords>(slot, key)) {
      if (is_zero<kWords>(slot)) {
        std::copy_n(key, kWords, slot);
        ++filled_;
        break;
      }
      home[k] = (home[k] + 1) & last;
      slot = slots + home[k] * kWords;
    }
  }
}

uint32_t WordSet::read(uint64_t* place, uint64_t* keys) const {
  if (is_dense_) {
    const auto first = static_cast<uint32_t>(*place);
    const uint32_t count = std::min(kVectorRows, size() - first);
    std::copy_n(slots_.data() + size_t{first} * words_, size_t{count} * words_, keys);
    *place += count;
    return count;
  }
  uint32_t count = 0;
  while (count == 0 && *place < slot_count_) {
    count = with_words(words_, [&](auto words) {
      return read_slots<words>(slots_.data(), slot_count_, place, keys);
    });
  }
  // The key of zeros comes last, as if in a slot behind the others.
  if (count == 0 && *place == slot_count_ && has_zero_) {
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
