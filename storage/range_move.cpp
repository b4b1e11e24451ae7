#include "storage/range_move.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "storage/partition_store.h"

namespace diptych::storage {

bool PartitionStore::is_sparse(uint32_t number) const {
  const Range& range = ranges_[number];
  const uint32_t live = format_.block_rows - range.freed;
  if (moves_ == nullptr || live > format_.block_rows / kSparseShare) return false;
  if (is_compressed(range)) {
    const bool has_room =
        !free_slots_.empty() ||
        next_ordinal_ <= std::numeric_limits<uint32_t>::max() - format_.block_rows;
    return live != 0 && has_room;
  }
  if (block_form_ == BlockForm::kPlain || range.stays_pages || free_slots_.empty()) return false;
  return free_slots_.lowest() < number * format_.block_rows;
}

std::optional<uint32_t> PartitionStore::find_sparse() {
  std::optional<uint32_t> found;
  const auto look = [&](uint32_t number) {
    if (!is_sparse(number)) return;
    Range& range = ranges_[number];
    const bool is_still = std::exchange(range.freed_seen, range.freed) == range.freed;
    range.still_looks = is_still ? range.still_looks + 1 : 0;
    if (range.still_looks >= kStillLooks && (!found || number > *found)) found = number;
  };
  for (const uint32_t number : worn_) look(number);
  const uint32_t full_ranges = next_ordinal_ / format_.block_rows;
  if (compacted_ranges_ == full_ranges) return found;
  for (uint32_t number = 0; number < full_ranges; ++number) {
    if (!ranges_[number].is_block) look(number);
  }
  return found;
}

size_t PartitionStore::move_sparse(size_t done, uint64_t until_ns) {
  if (moves_ == nullptr) return done;
  const std::optional<uint32_t> number = find_sparse();
  if (!number) return done;
  try {
    done = RangeMove(this, *number).run(done, until_ns);
  } catch (const std::bad_alloc&) {  // N1: what has moved has, and the others do later
    ranges_[*number].still_looks = 0;
  }
  // Rows that moved are none that have gone.
  ranges_[*number].freed_seen = ranges_[*number].freed;
  return done;
}

void PartitionStore::make_empty_block(uint32_t number) {
  auto block = CompressedBlock::make_empty(format_, number * format_.block_rows, buffers_);
  make_room(&worn_);
  make_room(&empty_);
  note_remade(number);
  replace_pages(number, std::move(block));
  withhold_slots(number);
  empty_.pop_back();  // S7: it has no values to drop
  ranges_[number].heap = {};
  ranges_[number].saved = {};
  pages_.release();
  string_pages_.pool().release();
}

RangeMove::RangeMove(PartitionStore* store, uint32_t range)
    : store_(store),
      range_(range),
      begin_(range * store->format_.block_rows),
      is_block_(store->ranges_[range].is_block) {}

size_t RangeMove::run(size_t done, uint64_t until_ns) {
  const LeafFormat& format = store_->format_;
  const uint32_t leaf_rows = is_block_ ? format.block_rows : format.page_rows;
  for (uint32_t first = begin_; first != begin_ + format.block_rows; first += leaf_rows) {
    uint32_t position;
    if (store_->leaf_of(first, &position).live_rows() == 0) continue;
    Leaf& leaf = store_->leaf_to_write(first, &position);
    CopiedRows copied(format, leaf);
    for (uint32_t run = 0; run < leaf_rows; run += kVectorRows) {
      // One piece of work is always done, so that a short time means slow progress and not none.
      if (done != 0 && base::steady_ns() >= until_ns) return done;
      copied.read(run, std::min(kVectorRows, leaf_rows - run));
      if (!move(&leaf, copied)) return done;
      done += copied.rows().size() * format.row_bytes;
    }
  }
  if (!is_block_) store_->make_empty_block(range_);
  return done;
}

bool RangeMove::move(Leaf* from, const CopiedRows& copied) {
  std::span<const NewRow> rows = copied.rows();
  std::span<const uint32_t> positions = copied.positions();
  if (rows.empty()) return true;
  // All that the rows' going needs is there before the first one goes.
  for (const uint32_t position : positions) {
    store_->note_writes(from->first_ordinal() + position, 1, ChangeWatch::Change::kAny);
  }
  store_->free_slots_.make_room(from->first_ordinal() + positions.back());
  PartitionStore::make_room(&store_->empty_);
  while (!rows.empty()) {
    const Slots slots = find_slots(rows.size());
    if (slots.count == 0) return false;
    fill(slots, rows.first(slots.count));
    finish(slots, from, rows.first(slots.count), positions.first(slots.count));
    rows = rows.subspan(slots.count);
    positions = positions.subspan(slots.count);
  }
  return true;
}

RangeMove::Slots RangeMove::find_slots(size_t count_max) {
  const FreeSlots& free = store_->free_slots_;
  const uint32_t page_rows = store_->format_.page_rows;
  if (!free.empty()) {
    Slots slots{free.lowest(), 1};
    if (!is_block_ && slots.first >= begin_) return {};  // N2
    while (slots.count < count_max && (slots.first + slots.count) % page_rows != 0 &&
           free.has(slots.first + slots.count)) {
      ++slots.count;
    }
    return slots;
  }
  if (!is_block_) return {};
  const uint32_t first = store_->next_ordinal_;
  if (first % page_rows == 0) {
    if (first > std::numeric_limits<uint32_t>::max() - store_->format_.block_rows) return {};
    store_->append_page();
  }
  const uint32_t room = page_rows - first % page_rows;
  return {first, static_cast<uint32_t>(std::min<size_t>(room, count_max)), true};
}

void RangeMove::fill(const Slots& slots, std::span<const NewRow> rows) {
  if (slots.are_new) store_->next_ordinal_ += slots.count;
  PlainLeaf* page = nullptr;
  uint32_t position = 0;
  try {
    page = static_cast<PlainLeaf*>(&store_->leaf_to_write(slots.first, &position));
    store_->note_writes(slots.first, slots.count, ChangeWatch::Change::kAny);
    page->write_rows(position, rows);
  } catch (...) {
    if (page != nullptr) page->clear_slots(position, slots.count);
    if (slots.are_new) give_back_new(slots);
    throw;
  }
}

// A page without a slot that was given out is none, and a range likewise.
void RangeMove::give_back_new(const Slots& slots) {
  PartitionStore& store = *store_;
  store.next_ordinal_ = slots.first;
  if (slots.first % store.format_.page_rows != 0) return;
  store.directory_.pop_back();
  store.drop(std::move(store.leaves_.back()));
  store.leaves_.pop_back();
  if (slots.first % store.format_.block_rows != 0) return;
  store.ranges_.pop_back();
  store.watch_.note_all();  // it may have been told of the range
}

void RangeMove::finish(const Slots& slots, Leaf* from, std::span<const NewRow> rows,
                       std::span<const uint32_t> positions) {
  PartitionStore& store = *store_;
  for (uint32_t i = 0; i < slots.count; ++i) {
    if (!slots.are_new) store.free_slots_.take(slots.first + i);
    if (is_block_) {
      static_cast<CompressedBlock*>(from)->erase_row(positions[i]);
      ++store.frozen_slots_;
    } else {
      static_cast<PlainLeaf*>(from)->erase_row(positions[i]);
      store.free_slots_.add(from->first_ordinal() + positions[i]);
    }
    store.moves_->row_moved(rows[i].row_id, slots.first + i);
  }
  if (!slots.are_new) store.ranges_[slots.first >> store.block_shift_].freed -= slots.count;
  store.ranges_[range_].freed += slots.count;
  store.rows_changed_ += 2 * uint64_t{slots.count};
  store.counts_.rows_moved += slots.count;
  if (is_block_ && from->live_rows() == 0) store.empty_.push_back(range_);
}

}  // namespace diptych::storage
