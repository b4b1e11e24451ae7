// RowTable: the rows of a table, each in its slot (row_version.h). RowId = slot number.
//
// Slots lie in extents of some megabytes, extents under a directory (extent_directory.h); a slot
// never moves.
//
//   RowId   | extent | slot: extent_bits |
//
// If it costs at most an eighth of the memory, a slot takes whole cache lines, so that a row lies
// in as few of them as possible.
//
// Threads    slot() by any worker. A worker allocates from its own slots (SlotAllocator);
//            take_slots() and take_free_slots() are the rare shared steps, under a mutex. The
//            leader calls everything else, at a boundary.
//
// Invariants
//   R1  A slot whose word is 0 is dead. A dead slot is reused only after the boundary of the batch
//       that killed it, when its index entries are gone: under a later VID.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/memory_place.h"
#include "oltp/extent_directory.h"
#include "oltp/row_version.h"

namespace diptych::oltp {

class RowTable {
 public:
  static constexpr uint64_t kSlotsMax = (uint64_t{1} << 36) - 1;  // a hash entry has RowId + 1
  static constexpr uint64_t kSlotsTaken = 1024;                   // by a worker, at a time; at most

  RowTable(size_t row_bytes, uint32_t group_count, base::MemoryPlace place);

  RowSlot& slot(base::RowId row_id) const {
    std::byte* const extent = directory_.at(row_id.value >> extent_bits_);
    return *reinterpret_cast<RowSlot*>(extent + (row_id.value & slot_mask_) * slot_bytes_);
  }

  // The distance from the slot's begin, where the other groups' words lie, to slot().
  size_t front_bytes() const { return front_bytes_; }
  // True if slots are aligned to cache lines.
  bool lines_are_whole() const { return slot_bytes_ % base::kLineBytes == 0; }

  struct SlotRange {
    uint64_t first;
    uint64_t end;
  };
  // Takes slots that were never used.
  SlotRange take_slots();
  // Adds free slots that no worker holds to the end of the list, which is taken from its end.
  // Returns false if there are none.
  // `may_grow`: also such whose extents take memory first.
  bool take_free_slots(std::vector<base::RowId>* free, bool may_grow);
  void put_free_slots(std::vector<base::RowId>* free, size_t keep);

  // Makes sure that the rows' slots exist, for rows put back under their ids. Several threads,
  // while nobody takes slots.
  void cover(std::span<const base::RowId> rows);
  // Likewise, of one row that is replayed, by the only thread that is at the table.
  void cover_one(base::RowId row_id) {
    if (row_id.value >= slots_end_ || !has_extent(row_id.value)) cover({&row_id, 1});
  }
  // The leader, after the last cover() and before any slot is taken: every dead slot becomes free.
  // Costs time and memory by the rows and their extents, however far apart their ids lie.
  void free_dead_slots(uint64_t live_rows);

  // The leader, between batches: calls fn(RowId, const std::byte* row) for every row.
  template <class Function>
  void for_each(Function&& fn) const {
    for (uint64_t id = 0; id < slots_end_; ++id) {
      if (!has_extent(id)) {
        id |= slot_mask_;
        continue;
      }
      const RowSlot& found = slot(base::RowId(id));
      // relaxed: between batches nobody writes.
      if ((found.word.load(std::memory_order_relaxed) & kLive) != 0) {
        fn(base::RowId(id), found.row());
      }
    }
  }

  // Of slots that were ever taken, as far as they have memory.
  size_t allocated_bytes() const;
  size_t slot_bytes() const { return slot_bytes_; }

 private:
  bool has_extent(uint64_t id) const { return directory_.has(id >> extent_bits_); }
  void add_extent(uint64_t extent);  // mutex_ is held
  // Likewise; as many slots as are taken at a time.
  void list_free_ranges(bool may_grow);

  size_t front_bytes_;
  size_t slot_bytes_;
  uint32_t extent_bits_;
  uint64_t slot_mask_;
  // Of each extent group 0 of its first slot, so that slot() is the same with and without column
  // groups. Changed under mutex_.
  ExtentDirectory<> directory_;

  mutable std::mutex mutex_;
  uint64_t slots_end_ = 0;               // guarded by mutex_; the leader reads it at boundaries
  base::RegionSupply supply_;            // guarded by mutex_
  std::vector<base::Region> extents_;    // guarded by mutex_; owns
  std::vector<base::RowId> free_slots_;  // guarded by mutex_
  // Guarded by mutex_: further ones, the first slots last; their extents need not exist.
  std::vector<SlotRange> free_ranges_;
};

// SlotAllocator: one worker's slots of one table.
class SlotAllocator {
 public:
  // nullopt: the table has no slot of before, and may not grow.
  std::optional<base::RowId> allocate(RowTable* table, bool may_grow) {
    if (free_.empty() && fresh_.first == fresh_.end) [[unlikely]] {
      if (!refill(table, may_grow)) return std::nullopt;
    }
    if (!free_.empty()) {
      const base::RowId row_id = free_.back();
      free_.pop_back();
      return row_id;
    }
    return base::RowId(fresh_.first++);
  }
  // The slot is dead; it can be taken again after the next reclaim() (R1).
  void retire(base::RowId row_id) { retired_.push_back(row_id); }

  // The leader, at a boundary. Slots beyond what a worker may keep go to the table; where that may
  // not grow, all, since other workers find none.
  void reclaim(RowTable* table, bool may_grow);
  // The leader, before free_dead_slots(), which finds them again.
  void forget();

 private:
  bool refill(RowTable* table, bool may_grow);

  std::vector<base::RowId> free_;
  std::vector<base::RowId> retired_;
  RowTable::SlotRange fresh_{0, 0};
};

}  // namespace diptych::oltp
