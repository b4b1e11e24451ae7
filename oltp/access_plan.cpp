#include "oltp/access_plan.h"

#include <algorithm>
#include <string_view>

#include "oltp/engine_core.h"

namespace diptych::oltp {

void AccessPlan::add_row(base::IndexId id, uint64_t hash, SlotLines lines) {
  const TableIndex* const index = core_->find_index(id);
  if (index == nullptr || index->by_hash == nullptr) return;
  const HashIndex::Place place = index->by_hash->place_of(hash);
  HashIndex::fetch(place);
  rows_[row_count_++] = {index, place, lines_in(*index->table, lines), nullptr, {}};
}

const TableIndex* AccessPlan::unique_ordered_index(base::IndexId id) const {
  const TableIndex* const index = core_->find_index(id);
  return index != nullptr && index->by_hash == nullptr && index->unique ? index : nullptr;
}

void AccessPlan::find_rows(const TableIndex& index, std::span<const base::Key> keys,
                           SlotLines lines) {
  const size_t count = std::min(keys.size(), kRowsMax - row_count_);
  std::string_view wanted[Index::kPrefetchMax];
  base::RowId found[Index::kPrefetchMax];
  for (size_t i = 0; i < count; ++i) wanted[i] = keys[i].bytes();
  index.index->find_each(std::span(wanted).first(count), std::span(found).first(count));
  const SlotLines slot_lines = lines_in(*index.table, lines);
  for (size_t i = 0; i < count; ++i) {
    const bool known = found[i] != Index::kNoRow;
    RowSlot* const slot = known ? &index.table->rows.slot(found[i]) : nullptr;
    if (known) fetch_lines(*index.table, *slot, slot_lines);
    rows_[row_count_++] = {&index, {}, slot_lines, slot, found[i]};
  }
}

const TableIndex* AccessPlan::ordered_index(base::IndexId id, const base::Key& first_parts) const {
  const TableIndex* const index = core_->find_index(id);
  return index != nullptr && index->by_hash == nullptr && first_parts.ok() ? index : nullptr;
}

void AccessPlan::add_range(base::IndexId id, size_t count, const base::Key& first_parts,
                           SlotLines lines) {
  const TableIndex* const index = ordered_index(id, first_parts);
  if (index == nullptr) return;
  ranges_[range_count_++] = {index, std::min(count, IndexCursor::kGroupMax), first_parts,
                             lines_in(*index->table, lines)};
}

void AccessPlan::add_end(base::IndexId id, const base::Key& first_parts) {
  const TableIndex* const index = ordered_index(id, first_parts);
  if (index == nullptr) return;
  const void* const node = index->index->prefetch_end_node(first_parts.bytes());
  if (node != nullptr) ends_[end_count_++] = {index, node};
}

void AccessPlan::fetch_rows() {
  for (size_t i = 0; i < end_count_; ++i) {
    ends_[i].index->index->prefetch_end(ends_[i].node);
  }
  for (size_t i = 0; i < row_count_; ++i) {
    PlannedRow& row = rows_[i];
    if (row.index->by_hash == nullptr) continue;  // it was found when it was named
    const Table& table = *row.index->table;
    row.index->by_hash->visit(row.place, [&](base::RowId row_id) {
      RowSlot& slot = table.rows.slot(row_id);
      fetch_lines(table, slot, row.lines);
      if (row.slot == nullptr) {
        row.slot = &slot;
        row.row_id = row_id;
      }
      return true;
    });
  }
  fetch_ranges();
}

void AccessPlan::fetch_ranges() const {
  // The ways down to the ranges of one index are gone together.
  for (size_t first = 0; first < range_count_;) {
    const Index& index = *ranges_[first].index->index;
    std::string_view keys[kRangesMax];
    size_t end = first;
    for (; end < range_count_ && ranges_[end].index == ranges_[first].index; ++end) {
      keys[end - first] = ranges_[end].first_parts.bytes();
    }
    if (end - first > 1) {
      index.prefetch_ranges(std::span(keys).first(end - first), ranges_[first].count);
    }
    first = end;
  }
  for (size_t i = 0; i < range_count_; ++i) {
    const Range& range = ranges_[i];
    const RowTable& rows = range.index->table->rows;
    const base::Key upper = range.first_parts.prefix_end();
    IndexCursor cursor(range.first_parts.bytes(), upper.bytes(), Direction::kForward, range.count,
                       CursorKeys::kLast);
    range.index->index->next_group(&cursor);
    for (size_t row = 0; row < std::min(cursor.count, range.count); ++row) {
      fetch_lines(*range.index->table, rows.slot(cursor.rows[row]), range.lines);
    }
  }
}

}  // namespace diptych::oltp
