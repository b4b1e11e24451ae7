// RowTable: the slots of a table's rows, each the head of a version chain. RowId = slot number.
//
// Slots lie in extents, extents under a two-level directory of atomic pointers, so that a slot
// never moves and a reader never sees the directory move:
//
//   RowId   | 12 bits: directory | 12 bits: extent | 12 bits: slot |
//
// Threads    slot() by any worker. A worker allocates from extents and free slots of its own
//            (SlotAllocator); take_extent() and take_free_slots() are the rare shared steps, under
//            a mutex. Everything else is the leader's, at a boundary.
//
// Invariants
//   R1  A slot whose head is null is dead. A dead slot is reused only after the boundary of the
//       batch that killed it, when its index entries are gone: under a later VID.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/arena.h"
#include "base/check.h"
#include "base/ids.h"
#include "oltp/version.h"

namespace diptych::oltp {

class RowTable {
 public:
  using Slot = std::atomic<Version*>;  // writer: who claims or owns the row; leader at a boundary

  static constexpr uint64_t kLevelBits = 12;
  static constexpr uint64_t kLevelSize = uint64_t{1} << kLevelBits;
  static constexpr uint64_t kExtentSlots = kLevelSize;
  static constexpr uint64_t kSlotsMax = uint64_t{1} << (3 * kLevelBits);

  explicit RowTable(base::NumaNode node) : arena_(node, base::kHugePageBytes) {}

  Slot& slot(base::RowId row_id) const {
    Slot* const found = find_slot(row_id);
    DIPTYCH_CHECK(found != nullptr, "a row id comes from this table");
    return *found;
  }
  // nullptr: no such extent (yet).
  Slot* find_slot(base::RowId row_id) const {
    if (row_id.value >= kSlotsMax) return nullptr;
    // acquire: pairs with the release in add_extent; the directory's entries are initialised.
    const Directory* directory =
        top_[row_id.value >> (2 * kLevelBits)].load(std::memory_order_acquire);
    if (directory == nullptr) return nullptr;
    // acquire: likewise for the extent's slots.
    Slot* extent = (*directory)[(row_id.value >> kLevelBits) & (kLevelSize - 1)].load(
        std::memory_order_acquire);
    return extent == nullptr ? nullptr : extent + (row_id.value & (kLevelSize - 1));
  }

  // The first row id of a fresh extent.
  base::RowId take_extent();
  // Moves freed slots that no worker holds to the end of the list. False: there are none.
  bool take_free_slots(std::vector<base::RowId>* free);
  void put_free_slots(std::vector<base::RowId>* free, size_t keep);

  // The leader: makes sure that the row's extent exists, for rows put back under their ids.
  void cover(base::RowId row_id);
  // The leader, after the last cover(): every dead slot becomes free.
  void free_dead_slots();

  // The leader: calls fn(RowId, Version*) for every live slot.
  template <class Function>
  void for_each(Function&& fn) const {
    for (uint64_t extent = 0; extent < extent_count_; ++extent) {
      const base::RowId first(extent * kExtentSlots);
      Slot* const slots = find_slot(first);
      if (slots == nullptr) continue;
      for (uint64_t i = 0; i < kExtentSlots; ++i) {
        // relaxed: between batches nobody writes.
        Version* head = slots[i].load(std::memory_order_relaxed);
        if (head != nullptr) fn(base::RowId(first.value + i), head);
      }
    }
  }

  size_t allocated_bytes() const;

 private:
  using Directory = std::array<std::atomic<Slot*>, kLevelSize>;  // writer: under mutex_
  void add_extent(uint64_t extent);                              // mutex_ is held

  mutable std::mutex mutex_;
  base::Arena arena_;                                      // guarded by mutex_
  uint64_t extent_count_ = 0;                              // guarded by mutex_
  std::vector<base::RowId> free_slots_;                    // guarded by mutex_
  std::vector<std::unique_ptr<Directory>> directories_;    // guarded by mutex_; owns
  std::array<std::atomic<Directory*>, kLevelSize> top_{};  // writer: under mutex_
};

// SlotAllocator: one worker's slots of one table.
class SlotAllocator {
 public:
  base::RowId allocate(RowTable* table) {
    if (free_.empty() && next_ == end_) refill(table);
    if (!free_.empty()) {
      const base::RowId row_id = free_.back();
      free_.pop_back();
      return row_id;
    }
    return base::RowId(next_++);
  }
  // The slot is dead; it can be taken again after the next reclaim() (R1).
  void retire(base::RowId row_id) { retired_.push_back(row_id); }

  // The leader, at a boundary. Slots beyond what a worker may keep go to the table.
  void reclaim(RowTable* table);

 private:
  void refill(RowTable* table);

  std::vector<base::RowId> free_;
  std::vector<base::RowId> retired_;
  uint64_t next_ = 0;  // [next_, end_) of the worker's extent is fresh
  uint64_t end_ = 0;
};

}  // namespace diptych::oltp
