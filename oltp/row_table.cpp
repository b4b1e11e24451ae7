#include "oltp/row_table.h"

#include <algorithm>
#include <bit>

#include "base/alignment.h"

namespace diptych::oltp {
namespace {

constexpr size_t kExtentBytes = size_t{32} << 20;
constexpr size_t kSlotsKept = 1024;  // by a worker, of one table
constexpr uint64_t kExtentsAtFirst = 64;

size_t slot_bytes_of(size_t row_bytes) {
  const size_t bytes = base::round_up(sizeof(RowSlot) + row_bytes, size_t{8});
  const size_t lines = base::round_up(bytes, base::kLineBytes);
  return 8 * (lines - bytes) <= bytes ? lines : bytes;
}

}  // namespace

RowTable::RowTable(size_t row_bytes, uint32_t group_count, base::MemoryPlace place)
    : front_bytes_(sizeof(RowVersion) * (group_count - 1)),
      slot_bytes_(slot_bytes_of(front_bytes_ + row_bytes)),
      extent_bits_(static_cast<uint32_t>(std::bit_width(kExtentBytes / slot_bytes_ | 1)) - 1),
      slot_mask_((uint64_t{1} << extent_bits_) - 1),
      directory_(kExtentsAtFirst),
      supply_(place) {}

void RowTable::add_extent(uint64_t extent) {
  DIPTYCH_CHECK(extent <= kSlotsMax >> extent_bits_, "a table has fewer than 2^36 rows");
  // Whole huge pages: the rest of the last one is not used. A table that has filled an extent will
  // fill another one.
  const size_t bytes = base::round_up(slot_bytes_ << extent_bits_, base::kHugePageBytes);
  extents_.push_back(supply_.take(bytes, !extents_.empty()));
  // The slots are zeroed: dead.
  directory_.set(extent, extents_.back().data() + front_bytes_);
}

RowTable::SlotRange RowTable::take_slots() {
  const std::lock_guard lock(mutex_);
  const uint64_t first = slots_end_;
  if (!has_extent(first)) add_extent(first >> extent_bits_);
  slots_end_ = std::min(first + kSlotsTaken, (first | slot_mask_) + 1);
  return {first, slots_end_};
}

bool RowTable::take_free_slots(std::vector<base::RowId>* free, bool may_grow) {
  const std::lock_guard lock(mutex_);
  if (free_slots_.empty()) list_free_ranges(may_grow);
  const size_t taken = std::min<size_t>(kSlotsTaken, free_slots_.size());
  free->insert(free->end(), free_slots_.end() - static_cast<std::ptrdiff_t>(taken),
               free_slots_.end());
  free_slots_.resize(free_slots_.size() - taken);
  return taken != 0;
}

void RowTable::list_free_ranges(bool may_grow) {
  for (size_t i = free_ranges_.size(); i-- > 0 && free_slots_.size() < kSlotsTaken;) {
    SlotRange& range = free_ranges_[i];
    while (range.first != range.end && free_slots_.size() < kSlotsTaken) {
      if (!has_extent(range.first)) {
        if (!may_grow) break;
        add_extent(range.first >> extent_bits_);
      }
      free_slots_.emplace_back(range.first++);
    }
    if (range.first == range.end) {
      free_ranges_.erase(free_ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::reverse(free_slots_.begin(), free_slots_.end());  // as it is taken from its end
}

void RowTable::put_free_slots(std::vector<base::RowId>* free, size_t keep) {
  if (free->size() <= keep) return;
  const std::lock_guard lock(mutex_);
  free_slots_.insert(free_slots_.end(), free->begin() + static_cast<std::ptrdiff_t>(keep),
                     free->end());
  free->resize(keep);
}

void RowTable::cover(std::span<const base::RowId> rows) {
  const std::lock_guard lock(mutex_);
  for (const base::RowId row_id : rows) {
    DIPTYCH_CHECK(row_id.value < kSlotsMax, "a table has fewer than 2^36 rows");
    if (!has_extent(row_id.value)) add_extent(row_id.value >> extent_bits_);
    slots_end_ = std::max(slots_end_, row_id.value + 1);
  }
}

void RowTable::free_dead_slots(uint64_t live_rows) {
  const std::lock_guard lock(mutex_);
  free_slots_.clear();
  free_ranges_.clear();
  if (live_rows == slots_end_) return;  // spares a look at a line of each row
  for (uint64_t end = slots_end_; end > 0;) {
    const bool exists = has_extent(end - 1);
    const uint64_t first = exists ? end - 1 : (end - 1) & ~slot_mask_;
    // relaxed: between batches nobody writes.
    if (!exists || slot(base::RowId(first)).word.load(std::memory_order_relaxed) == 0) {
      const bool goes_on = !free_ranges_.empty() && free_ranges_.back().first == end;
      if (!goes_on) free_ranges_.push_back({end, end});
      free_ranges_.back().first = first;
    }
    end = first;
  }
}

size_t RowTable::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return std::min(slots_end_, uint64_t{extents_.size()} << extent_bits_) * slot_bytes_;
}

void SlotAllocator::reclaim(RowTable* table, bool may_grow) {
  if (retired_.empty() && (may_grow || free_.empty())) return;
  // From the newest, since the list is taken from its end: rows that went together, as an order's
  // lines, leave their slots to such ones in the same order.
  free_.insert(free_.end(), retired_.rbegin(), retired_.rend());
  retired_.clear();
  table->put_free_slots(&free_, may_grow ? kSlotsKept : 0);
}

void SlotAllocator::forget() {
  free_.clear();
  retired_.clear();
  fresh_ = {0, 0};
}

bool SlotAllocator::refill(RowTable* table, bool may_grow) {
  if (table->take_free_slots(&free_, may_grow)) return true;
  if (may_grow) fresh_ = table->take_slots();
  return may_grow;
}

}  // namespace diptych::oltp
