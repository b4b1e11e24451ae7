#include "propagation/row_index.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace diptych::propagation {
namespace {

constexpr size_t kSlotsMin = 16;
constexpr size_t kFirstRegionBytes = 4096;                            // many tables are small
constexpr uint64_t kNoNumber = std::numeric_limits<uint64_t>::max();  // RowIDs >> 8 are less

}  // namespace

RowIndex::RowIndex(base::NumaNode node) : node_(node), last_number_(kNoNumber) {
  resize_directory(kSlotsMin);
}

void RowIndex::resize_directory(size_t slots) {
  std::vector<Slot> old = std::exchange(directory_, std::vector<Slot>(slots));
  shift_ = 64 - static_cast<uint32_t>(std::countr_zero(slots));
  for (const Slot& moved : old) {
    if (moved.page != nullptr) directory_[find_slot(moved.number)] = moved;
  }
}

RowIndex::Page* RowIndex::add_page(uint64_t number) {
  if ((pages_ + 1) * 2 > directory_.size()) resize_directory(directory_.size() * 2);
  Page* page = nullptr;
  if (!free_pages_.empty()) {
    page = free_pages_.back();
    free_pages_.pop_back();
  } else {
    if (regions_.empty() || region_used_ + sizeof(Page) > regions_.back().size()) {
      const size_t bytes = regions_.empty()
                               ? kFirstRegionBytes
                               : std::min(regions_.back().size() * 2, base::kHugePageBytes);
      regions_.emplace_back(bytes, node_);
      region_bytes_ += bytes;
      region_used_ = 0;
    }
    page = reinterpret_cast<Page*>(regions_.back().data() + region_used_);
    region_used_ += sizeof(Page);
  }
  directory_[find_slot(number)] = {number, page};
  ++pages_;
  emptied_.push_back(number);  // R2: until its first row is there
  return remember(number, page);
}

std::optional<uint32_t> RowIndex::find(base::RowId row_id) const {
  const Page* const page = directory_[find_slot(row_id.value >> kPageRowsBits)].page;
  if (page == nullptr || page->entries[place(row_id)] == 0) return std::nullopt;
  return page->entries[place(row_id)] - 1;
}

std::optional<uint32_t> RowIndex::erase(base::RowId row_id) {
  Page* const page = page_of(row_id);
  const Entry found = std::exchange(page->entries[place(row_id)], 0);
  if (found == 0) return std::nullopt;
  --size_;
  if (--page->rows == 0) emptied_.push_back(row_id.value >> kPageRowsBits);
  return found - 1;
}

void RowIndex::trim() {
  for (const uint64_t number : emptied_) {
    Page* const page = directory_[find_slot(number)].page;
    if (page == nullptr || page->rows != 0) continue;  // gone already, or in use again
    free_pages_.push_back(page);
    remove_slot(number);
  }
  emptied_.clear();
  last_number_ = kNoNumber;
}

// Linear probing without tombstones: what follows and would no longer be found moves up.
void RowIndex::remove_slot(uint64_t number) {
  const size_t mask = directory_.size() - 1;
  size_t hole = find_slot(number);
  for (size_t at = (hole + 1) & mask; directory_[at].page != nullptr; at = (at + 1) & mask) {
    const size_t from_home = (at - home(directory_[at].number)) & mask;
    if (from_home < ((at - hole) & mask)) continue;
    directory_[hole] = directory_[at];
    hole = at;
  }
  directory_[hole] = {};
  --pages_;
}

size_t RowIndex::memory_bytes() const {
  return region_bytes_ + directory_.capacity() * sizeof(Slot);
}

}  // namespace diptych::propagation
