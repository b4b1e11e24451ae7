// BasicHashIndex's growth by a bucket at a time, and its chains' way back: included by
// hash_index_body.h.

#pragma once

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/page_preparer.h"
#include "oltp/hash_index.h"

namespace diptych::oltp {

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::reclaim() {
  // relaxed: at the boundary nobody else runs.
  while (2 * entries_.load(std::memory_order_relaxed) > kEntriesPerTwoBuckets * bucket_count()) {
    if (level_ == kLevelMax) break;
    grow();
  }
  shorten_chains();
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::shorten_chains() {
  // A split places a chain anew, too: a table that only grows has no turns.
  const uint64_t splits = std::exchange(splits_, 0);
  const uint64_t extended = chains_.take_extended();
  if (extended <= splits) return;
  const uint64_t turns = std::min(kTurnsAChain * (extended - splits), bucket_count());
  for (uint64_t i = 0; i < turns; ++i) {
    if (shortened_ >= bucket_count()) shortened_ = 0;
    Bucket* const bucket = &bucket_at(shortened_++);
    if (Chains::needs_fewer(bucket)) place_anew(bucket, 0, bucket);
  }
  chains_.take_extended();  // its own
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::place_anew(Bucket* bucket, uint64_t bit, Bucket* other) {
  const auto move = [&](Bucket* from) {
    uint64_t moved[kBucketEntries];
    for (size_t i = 0; i < kBucketEntries; ++i) {
      // relaxed: nobody else looks (H1), here and below.
      moved[i] = from->entries[i].load(std::memory_order_relaxed);
      from->entries[i].store(0, std::memory_order_relaxed);
    }
    for (const uint64_t entry : moved) {
      if (entry != 0) place((entry & bit) != 0 ? other : bucket, entry);
    }
  };
  move(bucket);
  chains_.take_apart(bucket, move);
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::add_segment() {
  const base::Region& segment = segments_.emplace_back(sizeof(Bucket) << level_, place_.node);
  const uint64_t first = uint64_t{1} << level_;
  bases_[segment_of(first)] = reinterpret_cast<uintptr_t>(segment.data()) - first * sizeof(Bucket);
  // A bucket is read before it is written: of each small page that is two faults.
  if (segment.size() < base::kHugePageBytes) base::populate_memory(segment.data(), segment.size());
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::reserve(uint64_t entries) {
  DIPTYCH_CHECK(entry_count() == 0, "buckets are made beforehand, so that none is split");
  const uint64_t wanted = 2 * entries / kEntriesPerTwoBuckets + 1;
  while (bucket_count() < wanted && level_ != kLevelMax) {
    if (split_ == 0) add_segment();
    const uint64_t end = uint64_t{1} << level_;
    split_ = std::min(end, split_ + (wanted - bucket_count()));
    if (split_ == end) {
      ++level_;
      split_ = 0;
    }
  }
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::grow() {
  if (level_ == kLevelMax) return;  // 2^35 buckets: chains from here on
  if (split_ == 0) add_segment();
  Bucket* const from = &bucket_at(split_);
  Bucket* const to = &bucket_at((uint64_t{1} << level_) + split_);
  prepare_pages(reinterpret_cast<std::byte*>(to));
  const uint64_t bit = uint64_t{1} << (kRowBits + level_ - kLevelAtFirst);
  if (++split_ == uint64_t{1} << level_) {
    ++level_;
    split_ = 0;
  }
  place_anew(from, bit, to);
  ++splits_;
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::prepare_pages(const std::byte* bucket) {
  const base::Region& segment = segments_.back();
  const auto at = static_cast<size_t>(bucket - segment.data());
  if (place_.preparer == nullptr || segment.size() < base::kHugePageBytes) return;
  if (at % base::kHugePageBytes != 0) return;
  constexpr size_t kAhead = base::PagePreparer::kAheadBytes;
  const size_t first = at == 0 ? 0 : at + kAhead - base::kHugePageBytes;
  const size_t end = std::min(segment.size(), at + kAhead);
  if (first < end) place_.preparer->prepare({segment.data() + first, end - first});
}

}  // namespace diptych::oltp
