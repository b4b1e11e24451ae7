#include "storage/partition_store.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "storage/block.h"

namespace diptych::storage {

PartitionStore::PartitionStore(const base::RowLayout& layout, base::NumaNode node)
    : format_(layout),
      node_(node),
      page_shift_(static_cast<uint32_t>(std::countr_zero(format_.page_rows))),
      heap_(node),
      pages_(format_, node) {}

void PartitionStore::append_page() {
  DIPTYCH_CHECK(next_ordinal_ <= std::numeric_limits<uint32_t>::max() - kBlockRows,
                "a partition has at most 2^32 - 2^16 rows; use more partitions");
  auto page = std::make_unique<HotPage>(format_, next_ordinal_, pages_.take());
  directory_.push_back(page.get());
  leaves_.push_back(std::move(page));
  if (next_ordinal_ % kBlockRows == 0) ranges_.emplace_back();
}

uint32_t PartitionStore::take_ordinals(size_t count_max, uint32_t* count) {
  *count = 1;
  if (!free_slots_.empty()) {
    const uint32_t first = free_slots_.take_lowest();
    while (*count < count_max &&
           first / format_.page_rows == (first + *count) / format_.page_rows &&
           free_slots_.take(first + *count)) {
      ++*count;
    }
    return first;
  }
  if (next_ordinal_ % format_.page_rows == 0) append_page();
  const uint32_t first = next_ordinal_;
  const uint32_t room = format_.page_rows - first % format_.page_rows;
  *count = static_cast<uint32_t>(std::min<size_t>(room, count_max));
  next_ordinal_ += *count;
  return first;
}

void PartitionStore::insert(std::span<const NewRow> rows, uint32_t* ordinals) {
  while (!rows.empty()) {
    uint32_t count = 0;
    const uint32_t first = take_ordinals(rows.size(), &count);
    uint32_t position;
    PlainLeaf& leaf = leaf_of(first, &position);
    leaf.write_rows(position, rows.first(count), &heap_);
    for (uint32_t i = 0; i < count; ++i) *ordinals++ = first + i;
    note_writes(first, count);
    rows = rows.subspan(count);
  }
}

void PartitionStore::erase(uint32_t ordinal) {
  DIPTYCH_CHECK(ordinal < next_ordinal_, "S1: only a row that was inserted is erased");
  uint32_t position;
  leaf_of(ordinal, &position).erase_row(position, &heap_);
  free_slots_.add(ordinal);
  note_writes(ordinal, 1);
}

size_t PartitionStore::compact() {
  const size_t full_ranges = next_ordinal_ / kBlockRows;
  if (blocks_ == full_ranges) return 0;
  size_t written = 0;
  for (size_t i = 0; i < full_ranges; ++i) {
    Range& range = ranges_[i];
    if (range.is_block) continue;
    if (written == 0 && range.writes <= kQuietWritesMax) written = make_block(i);
    range.writes = 0;
  }
  return written;
}

void PartitionStore::compact_all() {
  const size_t full_ranges = next_ordinal_ / kBlockRows;
  if (blocks_ == full_ranges) return;
  for (size_t i = 0; i < full_ranges; ++i) {
    if (!ranges_[i].is_block) make_block(i);
  }
  pages_.release();
}

size_t PartitionStore::make_block(size_t range) {
  const size_t page_count = kBlockRows / format_.page_rows;
  const auto first_ordinal = static_cast<uint32_t>(range * kBlockRows);
  const auto first = std::lower_bound(
      leaves_.begin(), leaves_.end(), first_ordinal,
      [](const auto& leaf, uint32_t ordinal) { return leaf->first_ordinal() < ordinal; });
  DIPTYCH_CHECK(leaves_.end() - first >= static_cast<std::ptrdiff_t>(page_count),
                "S3: a range without a block has all its pages");
  std::vector<const HotPage*> pages;
  for (size_t i = 0; i < page_count; ++i) {
    pages.push_back(static_cast<const HotPage*>(first[static_cast<std::ptrdiff_t>(i)].get()));
  }
  auto block = std::make_unique<Block>(format_, pages, node_);
  const size_t bytes = block->bytes();
  for (const HotPage* page : pages) pages_.give_back(page->memory());
  std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(range * page_count), page_count,
              block.get());
  *first = std::move(block);
  leaves_.erase(first + 1, first + static_cast<std::ptrdiff_t>(page_count));
  ranges_[range].is_block = true;
  ++blocks_;
  return bytes;
}

size_t PartitionStore::memory_bytes() const {
  return pages_.memory_bytes() + heap_.memory_bytes() + free_slots_.memory_bytes() +
         blocks_ * format_.leaf_bytes(kBlockRows) + directory_.capacity() * sizeof(PlainLeaf*) +
         leaves_.size() * sizeof(Block);
}

}  // namespace diptych::storage
