// PartitionStore: what only a bulk load calls. Rows become compressed blocks without having been in
// pages, and such blocks go again.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "storage/partition_store.h"

namespace diptych::storage {
uint64_t PartitionStore::slots_before_block() const {
  uint64_t slots = free_slots_.size() +
                   (format_.block_rows - next_ordinal_ % format_.block_rows) % format_.block_rows;
  for (const uint32_t range : worn_) slots += ranges_[range].freed;
  return slots;
}

std::optional<uint32_t> PartitionStore::append_block(std::span<const NewRow> rows) {
  DIPTYCH_CHECK(slots_before_block() == 0, "S1: inserts take the slots that are there first");
  DIPTYCH_CHECK(next_ordinal_ <= std::numeric_limits<uint32_t>::max() - format_.block_rows,
                "a partition has at most 2^32 rows less a block; use more partitions");
  if (block_form_ != BlockForm::kCompressed) return std::nullopt;
  std::unique_ptr<CompressedBlock> block =
      CompressedBlock::make(format_, next_ordinal_, rows, buffers_);
  if (block == nullptr) return std::nullopt;
  directory_.insert(directory_.end(), format_.block_rows / format_.page_rows, block.get());
  leaves_.emplace_back(std::move(block));
  Range& range = ranges_.emplace_back();
  range.is_block = true;
  ++counts_.blocks_made;
  range.changed = false;
  ++compacted_ranges_;
  rows_changed_ += rows.size();
  watch_.note_all();
  return std::exchange(next_ordinal_, next_ordinal_ + format_.block_rows);
}

void PartitionStore::drop_dead_ranges() {
  while (!ranges_.empty()) {
    const Range& range = ranges_.back();
    const auto number = static_cast<uint32_t>(ranges_.size() - 1);
    const uint32_t first = number * format_.block_rows;
    if (range.freed != next_ordinal_ - first) return;
    const size_t leaf = first_leaf_of(number);
    if (leaves_[leaf]->form() == LeafForm::kCompressed) {
      thawed_columns_ -= compressed_block(number).thawed_columns();
      frozen_slots_ -= range.freed;
      std::erase(worn_, number);
      std::erase(empty_, number);
    } else {
      for (uint32_t slot = first; slot < next_ordinal_; ++slot) {
        const bool was_free = free_slots_.take(slot);
        DIPTYCH_CHECK(was_free, "S1: what was freed on pages is in free_slots_");
      }
    }
    if (range.is_block || range.stays_pages) --compacted_ranges_;
    for (size_t i = leaf; i < leaves_.size(); ++i) drop(std::move(leaves_[i]));
    leaves_.resize(leaf);
    directory_.resize(size_t{number} * (format_.block_rows / format_.page_rows));
    ranges_.pop_back();
    next_ordinal_ = first;
    watch_.note_all();
  }
  pages_.release();
  string_pages_.pool().release();
}

uint32_t Partition::block_rows() const {
  return store_->format().block_rows;
}

uint64_t Partition::slots_before_block() const {
  return store_->slots_before_block();
}

std::optional<uint32_t> Partition::append_block(std::span<const NewRow> rows) {
  return store_->append_block(rows);
}

void Partition::drop_dead_ranges() {
  store_->drop_dead_ranges();
}

}  // namespace diptych::storage
