// HashIndex: a lock-free index for equality by linear hashing (Litwin, VLDB'80), with one cache
// line for each bucket.
//
//   bucket   | entry | entry | entry | entry | entry | entry | entry | next |      64 bytes
//   entry    | 28 bits of the key's hash | 36 bits: RowId + 1 |                    0: free
//   next     further buckets, of a full one (hash_chain.h)
//
// An entry has no key. A row whose hash bits agree is a candidate, and the reader compares the
// row's key, whose cache line it needs anyway. So an entry takes 8 bytes, and a look-up costs one
// miss, plus one for the row.
//
//   buckets  0 ... split | split ... 2^level | 2^level ... 2^level + split
//             (split)      (not yet)            (what came out of the split ones)
//
// The table grows one bucket at a time: the bucket at `split` gives half of its entries to a new
// one at the end. The bits that choose a bucket are in the entry, so no row is looked at. Buckets
// lie in segments, each as large as all before it, which never move.
//
// Invariants
//   H1  Entries do not move, and the table does not grow, while others may look (during a batch
//       with several workers): a look-up sees every entry that is there all the while.
//   H2  Of two inserters of one key, the one whose entry is placed later sees the other's entry
//       (placing and looking again are seq_cst). Both may see it; then both withdraw their own:
//       kConflict. An inserter that finds its own entry (kPresent) places nothing; it has claimed
//       the row by a compare-and-swap before it looks, which orders the two on x86-64.
//
// Use        for unique keys, because entries with equal keys form one chain. Non-unique indexes
//            use the ordered index.
// Threads    see index.h. With one worker the table grows at an insert, otherwise at reclaim();
//            until then, entries that overflow a bucket lie in chains of a few buckets.
// Memory     18 bytes for each entry; the table does not shrink. Keys that come and go would leave
//            each bucket its longest chain, so between batches some buckets are checked for each
//            chain that was begun, and chains that are longer than needed are shortened.
// Bodies     hash_index_body.h, for indexes with other atomics
// Benchmark  tests/oltp/hash_index_bench.cpp

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "oltp/hash_chain.h"
#include "oltp/index.h"
#include "oltp/key_hash.h"

namespace diptych::oltp {

template <template <class> class Atomic>
class HashBuild;  // oltp/hash_build.h

template <template <class> class Atomic = std::atomic>
class BasicHashIndex final : public Index {
 public:
  BasicHashIndex(Concurrency concurrency, base::MemoryPlace place);

  // The place of a hash's entries, for callers that look ahead: key_hash() first, then the place.
  // When the table has grown, some of the entries may be elsewhere.
  struct Place {
    const void* bucket;
    uint64_t bits;  // of the hash, that the entries have
  };
  Place place_of(uint64_t hash) const { return {&bucket_of(hash), hash_bits(hash)}; }
  static void fetch(const Place& place) { __builtin_prefetch(place.bucket); }
  // True if a row has the same entry for both keys.
  static bool share_entry(std::string_view a, std::string_view b) {
    constexpr uint64_t kBits = (uint64_t{1} << (kLevelAtFirst + kHashBits)) - 1;
    return ((key_hash(a) ^ key_hash(b)) & kBits) == 0;
  }
  // Calls visit(RowId) for each candidate, until it returns false.
  template <class Visit>
  void visit(uint64_t hash, const Visit& on_row) const {
    visit(place_of(hash), on_row);
  }
  template <class Visit>
  void visit(const Place& place, const Visit& on_row) const {
    const uint64_t wanted = place.bits;
    HashPath path(static_cast<const Bucket*>(place.bucket), wanted);
    do {
      const Bucket& bucket = path.bucket();
      uint32_t left = is_single() ? matching_alone(bucket, wanted) : matching(bucket, wanted);
      for (; left != 0; left &= left - 1) {
        const Entry& slot = bucket.entries[static_cast<size_t>(std::countr_zero(left))];
        // acquire: pairs with place; the row's word is there.
        const uint64_t found = slot.load(std::memory_order_acquire);
        if (found == 0 || found >> kRowBits != wanted) continue;
        if (!on_row(row_of(found))) return;
      }
    } while (path.advance());
  }

  IndexInsert insert(std::string_view key, base::RowId row_id,
                     const UniquenessCheck* check) override;
  bool erase(std::string_view key, base::RowId row_id) override;
  void find(std::string_view key, const CandidateVisitor& on_row) const override;
  void next_group(IndexCursor* cursor) const override;
  std::unique_ptr<IndexBuild> begin_build(uint64_t entries_max, uint32_t lanes) override;
  void set_concurrency(Concurrency concurrency) override { concurrency_ = concurrency; }
  void reclaim() override;
  uint64_t entry_count() const override;
  uint64_t check() const override;
  size_t memory_bytes() const override;

 private:
  friend class HashBuild<Atomic>;
  static constexpr uint32_t kLevelAtFirst = 8;
  using Bucket = HashBucket<Atomic>;
  static constexpr uint32_t kHashBits = Bucket::kHashBits;
  static constexpr uint32_t kRowBits = 64 - kHashBits;
  static constexpr uint32_t kLevelMax = kLevelAtFirst + kHashBits - 1;
  static constexpr uint64_t kRowMask = (uint64_t{1} << kRowBits) - 1;

  using Chains = HashChains<Atomic>;
  using Entry = Atomic<uint64_t>;  // writers: any worker by compare-and-swap; who put it, erases
  static constexpr size_t kBucketEntries = Bucket::kEntries;
  static constexpr uint64_t kEntriesPerTwoBuckets = 7;  // at most half full
  static constexpr uint64_t kTurnsAChain = 8;           // of shorten_chains
  static_assert(sizeof(Bucket) == 64);
  static constexpr uint32_t kAllEntries = (1u << kBucketEntries) - 1;

  // Bit i: entry i has these hash bits, or is free and they are 0. Branch-free.
  static uint32_t matching(const Bucket& bucket, uint64_t wanted) {
    uint32_t same = 0;
    for (size_t i = 0; i < kBucketEntries; ++i) {
      // relaxed: a candidate's entry is loaded again.
      const uint64_t entry = bucket.entries[i].load(std::memory_order_relaxed);
      same |= uint32_t{entry >> kRowBits == wanted} << i;
    }
    return same;
  }
  // The same in two vectors. (By the compilers' extensions: <immintrin.h> in a header of procedures
  // takes a second of every compilation.)
#ifndef __AVX2__
#error "procedures are compiled for x86-64-v3, as the database is: add -march=x86-64-v3"
#endif
  static uint32_t matching_alone(const Bucket& bucket, uint64_t wanted) {
    using Entries = uint64_t __attribute__((vector_size(32), may_alias));
    using Signs = double __attribute__((vector_size(32)));
    const auto* const at = reinterpret_cast<const Entries*>(&bucket);
    const auto half = [&](size_t i) {
      const auto same = (at[i] >> kRowBits) == wanted;
      return static_cast<uint32_t>(__builtin_ia32_movmskpd256((Signs)same));
    };
    return (half(0) | half(1) << 4) & kAllEntries;
  }

  // The bits of the hash that an entry has: those above the first level's.
  static uint64_t hash_bits(uint64_t hash) {
    return hash >> kLevelAtFirst & ((uint64_t{1} << kHashBits) - 1);
  }
  static uint64_t make_entry(uint64_t hash, base::RowId row_id);
  static base::RowId row_of(uint64_t entry) { return base::RowId((entry & kRowMask) - 1); }

  bool is_single() const { return concurrency_ == Concurrency::kSingle; }
  uint64_t bucket_count() const { return (uint64_t{1} << level_) + split_; }
  static size_t segment_of(uint64_t number) {
    return static_cast<size_t>(std::bit_width(number >> kLevelAtFirst));
  }
  Bucket& bucket_at(uint64_t number) const {
    return *reinterpret_cast<Bucket*>(bases_[segment_of(number)] + number * sizeof(Bucket));
  }
  Bucket& bucket_of(uint64_t hash) const {
    uint64_t number = hash & ((uint64_t{1} << level_) - 1);
    if (number < split_) number = hash & ((uint64_t{2} << level_) - 1);
    return bucket_at(number);
  }
  // The first verdict other than kFree on another row with these hash bits; otherwise kPresent if
  // `entry` exists.
  IndexInsert look(const Bucket& first, uint64_t entry, const UniquenessCheck* check) const;
  Entry* place_in(Bucket* bucket, uint64_t entry);  // nullptr: it is full
  Entry& place(Bucket* first, uint64_t entry);
  Entry& place_behind(Bucket* first, uint64_t entry);  // which is full
  // Calls visit(RowId) for the other entries with the hash bits of this one.
  template <class Visit>
  void find_alike(const Bucket& first, uint64_t entry, const Visit& on_row) const;
  // Makes the buckets of an empty index for this number of entries.
  void reserve(uint64_t entries);
  void add_segment();
  // Called before a bucket of the last segment is filled. If it begins a huge page, further pages
  // are prepared in the background. A segment is as large as all before it, too large to be made at
  // once.
  void prepare_pages(const std::byte* bucket);
  void grow();
  // Places the entries of the bucket and its chain anew; entries with the bit go to `other`.
  void place_anew(Bucket* bucket, uint64_t bit, Bucket* other);
  void shorten_chains();

  Concurrency concurrency_;
  base::MemoryPlace place_;
  uint32_t level_;
  uint64_t split_ = 0;
  std::vector<base::Region> segments_;
  // [segment]: the address that bucket 0 would have, if the segment had all before it in front.
  std::array<uintptr_t, kLevelMax - kLevelAtFirst + 2> bases_{};
  Atomic<uint64_t> entries_{0};  // writers: whoever inserts or erases
  Chains chains_;
  uint64_t shortened_ = 0;  // the buckets up to it had their turn
  uint64_t splits_ = 0;     // since shorten_chains()
};

using HashIndex = BasicHashIndex<>;
extern template class BasicHashIndex<std::atomic>;  // in hash_index.cpp

}  // namespace diptych::oltp
