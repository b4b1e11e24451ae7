// RowIndex: the hash index RowID -> ordinal of one partition (BatchDB, section 5, step 3).
//
// One-cache-line buckets: a lookup costs one miss, which apply() hides by grouped software prefetch
// (Chen, Ailamaki, Gibbons and Mowry): prefetch(key) early, find(key) later.
//
//   0                 40            60        64
//   | 5 RowIDs, u64   | 5 ords, u32 | chain   |      chain: index of an overflow bucket, 0 none
//
// An ordinal is stored plus one: 0 marks a free entry, so that zeroed memory is an empty index. The
// overflow buckets lie behind the primary ones, a quarter as many; when they run out, it grows too.
// The price of growing (all entries move, at about 10 ns each) is paid once a doubling.
//
// Threads    one writer between batches; lookups from the same thread, or from many when none
//            writes.
// Memory     doubles when the load passes 3.75 entries a primary bucket (75 %); with the overflow
//            buckets an entry takes 21 bytes at that load, 43 just after doubling.
//
// Invariants
//   R1  size_ <= 3.75 * primary_count_, and a RowID has one entry at most.
//   R2  An entry of hash h lies in bucket h % primary_count_ or in that bucket's chain.

#pragma once

#include <cstdint>
#include <optional>

#include "base/arena.h"
#include "base/ids.h"

namespace diptych::propagation {

class RowIndex {
 public:
  explicit RowIndex(base::NumaNode node);

  void insert(base::RowId row_id, uint32_t ordinal);  // row_id must be absent
  std::optional<uint32_t> find(base::RowId row_id) const;
  std::optional<uint32_t> erase(base::RowId row_id);  // the ordinal it had
  void prefetch(base::RowId row_id) const;
  size_t size() const { return size_; }
  size_t memory_bytes() const;

 private:
  struct alignas(64) Bucket {
    uint64_t row_ids[5];
    uint32_t ordinals[5];
    uint32_t chain;
  };

  // Where an entry lies.
  struct Place {
    Bucket* bucket;  // nullptr: absent
    uint32_t slot;
  };

  Bucket* buckets() const { return reinterpret_cast<Bucket*>(memory_.data()); }
  Place locate(base::RowId row_id) const;
  // False if it would need an overflow bucket and none is left.
  bool place(uint64_t row_id, uint32_t stored_ordinal);
  void reset(size_t primary_count);
  void grow();

  base::NumaNode node_;
  base::Region memory_;
  size_t primary_count_ = 0;  // a power of two
  size_t overflow_used_ = 0;  // buckets [primary_count_, primary_count_ + overflow_used_)
  size_t size_ = 0;
};

}  // namespace diptych::propagation
