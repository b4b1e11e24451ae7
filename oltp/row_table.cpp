#include "oltp/row_table.h"

#include <algorithm>
#include <new>

namespace diptych::oltp {
namespace {

constexpr size_t kSlotsKept = 1024;   // by a worker, of one table
constexpr size_t kSlotsTaken = 1024;  // from the table, at a time

}  // namespace

void RowTable::add_extent(uint64_t extent) {
  DIPTYCH_CHECK(extent < kSlotsMax / kExtentSlots, "a table has at most 2^36 rows");
  std::atomic<Directory*>& entry = top_[extent >> kLevelBits];
  // relaxed: written only under mutex_, which is held.
  Directory* directory = entry.load(std::memory_order_relaxed);
  if (directory == nullptr) {
    directories_.push_back(std::make_unique<Directory>());
    directory = directories_.back().get();
    // release: pairs with find_slot; the directory's entries are null.
    entry.store(directory, std::memory_order_release);
  }
  std::byte* const memory = arena_.allocate(kExtentSlots * sizeof(Slot), 64);
  auto* const slots = reinterpret_cast<Slot*>(memory);
  for (uint64_t i = 0; i < kExtentSlots; ++i) new (slots + i) Slot(nullptr);
  // release: pairs with find_slot; the slots are null.
  (*directory)[extent & (kLevelSize - 1)].store(slots, std::memory_order_release);
  extent_count_ = std::max(extent_count_, extent + 1);
}

base::RowId RowTable::take_extent() {
  const std::lock_guard lock(mutex_);
  const uint64_t extent = extent_count_;
  add_extent(extent);
  return base::RowId(extent * kExtentSlots);
}

bool RowTable::take_free_slots(std::vector<base::RowId>* free) {
  const std::lock_guard lock(mutex_);
  const size_t taken = std::min(kSlotsTaken, free_slots_.size());
  free->insert(free->end(), free_slots_.end() - static_cast<std::ptrdiff_t>(taken),
               free_slots_.end());
  free_slots_.resize(free_slots_.size() - taken);
  return taken != 0;
}

void RowTable::put_free_slots(std::vector<base::RowId>* free, size_t keep) {
  if (free->size() <= keep) return;
  const std::lock_guard lock(mutex_);
  free_slots_.insert(free_slots_.end(), free->begin() + static_cast<std::ptrdiff_t>(keep),
                     free->end());
  free->resize(keep);
}

void RowTable::cover(base::RowId row_id) {
  DIPTYCH_CHECK(row_id.value < kSlotsMax, "a table has at most 2^36 rows");
  if (find_slot(row_id) != nullptr) return;
  const std::lock_guard lock(mutex_);
  add_extent(row_id.value / kExtentSlots);
}

void RowTable::free_dead_slots() {
  const std::lock_guard lock(mutex_);
  free_slots_.clear();
  for (uint64_t extent = extent_count_; extent-- > 0;) {
    const base::RowId first(extent * kExtentSlots);
    if (find_slot(first) == nullptr) add_extent(extent);
    const Slot* const slots = find_slot(first);
    for (uint64_t i = kExtentSlots; i-- > 0;) {
      // relaxed: between batches nobody writes.
      if (slots[i].load(std::memory_order_relaxed) == nullptr) {
        free_slots_.push_back(base::RowId(first.value + i));
      }
    }
  }
}

size_t RowTable::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return arena_.allocated_bytes() + directories_.size() * sizeof(Directory);
}

void SlotAllocator::reclaim(RowTable* table) {
  if (retired_.empty()) return;
  free_.insert(free_.end(), retired_.begin(), retired_.end());
  retired_.clear();
  table->put_free_slots(&free_, kSlotsKept);
}

void SlotAllocator::refill(RowTable* table) {
  if (table->take_free_slots(&free_)) return;
  next_ = table->take_extent().value;
  end_ = next_ + RowTable::kExtentSlots;
}

}  // namespace diptych::oltp
