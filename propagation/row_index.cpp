#include "propagation/row_index.h"

#include <limits>
#include <utility>

#include "base/check.h"

namespace diptych::propagation {
namespace {

constexpr size_t kEntries = 5;           // of a bucket
constexpr size_t kPrimaryCountMin = 32;  // a page; many tables are small: REGION has 5 rows
constexpr size_t kOverflowShare = 4;     // one overflow bucket for so many primary ones

// The entries at which an index of so many primary buckets grows: 3.75 a bucket. A Poisson
// distribution then leaves 18 % of the buckets with a chain, at most.
constexpr size_t entries_max(size_t primary_count) {
  return primary_count * 15 / 4;
}

// splitmix64's mixing; Table::partition_of uses other bits of another hash, so that the RowIDs of
// one partition still spread over all buckets.
uint64_t hash(uint64_t row_id) {
  uint64_t bits = (row_id ^ (row_id >> 32)) * 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return bits ^ (bits >> 32);
}

}  // namespace

RowIndex::RowIndex(base::NumaNode node) : node_(node) {
  reset(kPrimaryCountMin);
}

void RowIndex::reset(size_t primary_count) {
  const size_t buckets = primary_count + primary_count / kOverflowShare;
  DIPTYCH_CHECK(buckets <= std::numeric_limits<uint32_t>::max(), "a chain has 32 bits");
  memory_ = base::Region(buckets * sizeof(Bucket), node_);
  primary_count_ = primary_count;
  overflow_used_ = 0;
}

RowIndex::Place RowIndex::locate(base::RowId row_id) const {
  Bucket* bucket = buckets() + (hash(row_id.value) & (primary_count_ - 1));
  for (;;) {
    for (uint32_t slot = 0; slot < kEntries; ++slot) {
      if (bucket->row_ids[slot] == row_id.value && bucket->ordinals[slot] != 0) {
        return {bucket, slot};
      }
    }
    if (bucket->chain == 0) return {nullptr, 0};
    bucket = buckets() + bucket->chain;
  }
}

bool RowIndex::place(uint64_t row_id, uint32_t stored_ordinal) {
  Bucket* bucket = buckets() + (hash(row_id) & (primary_count_ - 1));
  for (;;) {
    for (uint32_t slot = 0; slot < kEntries; ++slot) {
      if (bucket->ordinals[slot] != 0) continue;
      bucket->row_ids[slot] = row_id;
      bucket->ordinals[slot] = stored_ordinal;
      return true;
    }
    if (bucket->chain == 0) {
      if (overflow_used_ == primary_count_ / kOverflowShare) return false;
      bucket->chain = static_cast<uint32_t>(primary_count_ + overflow_used_++);
    }
    bucket = buckets() + bucket->chain;
  }
}

void RowIndex::grow() {
  const base::Region old_memory = std::move(memory_);
  const auto* const old = reinterpret_cast<const Bucket*>(old_memory.data());
  const size_t old_count = primary_count_ + overflow_used_;
  size_t primary_count = primary_count_;
  for (bool placed_all = false; !placed_all;) {
    primary_count *= 2;
    reset(primary_count);
    placed_all = true;
    for (size_t i = 0; placed_all && i < old_count; ++i) {
      for (size_t slot = 0; placed_all && slot < kEntries; ++slot) {
        if (old[i].ordinals[slot] == 0) continue;
        placed_all = place(old[i].row_ids[slot], old[i].ordinals[slot]);
      }
    }
  }
}

void RowIndex::insert(base::RowId row_id, uint32_t ordinal) {
  DIPTYCH_CHECK(ordinal != std::numeric_limits<uint32_t>::max(), "ordinals are stored plus one");
  DIPTYCH_CHECK(locate(row_id).bucket == nullptr, "R1: an inserted RowID is absent");
  if (size_ == entries_max(primary_count_)) grow();
  while (!place(row_id.value, ordinal + 1)) grow();
  ++size_;
}

std::optional<uint32_t> RowIndex::find(base::RowId row_id) const {
  const Place found = locate(row_id);
  if (found.bucket == nullptr) return std::nullopt;
  return found.bucket->ordinals[found.slot] - 1;
}

std::optional<uint32_t> RowIndex::erase(base::RowId row_id) {
  const Place found = locate(row_id);
  if (found.bucket == nullptr) return std::nullopt;
  --size_;
  return std::exchange(found.bucket->ordinals[found.slot], 0) - 1;
}

void RowIndex::prefetch(base::RowId row_id) const {
  __builtin_prefetch(buckets() + (hash(row_id.value) & (primary_count_ - 1)), 1);
}

size_t RowIndex::memory_bytes() const {
  return memory_.size();
}

}  // namespace diptych::propagation
