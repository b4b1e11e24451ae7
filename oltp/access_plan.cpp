#include "oltp/access_plan.h"

#include <algorithm>

#include "oltp/engine_core.h"

namespace diptych::oltp {
namespace {

constexpr size_t kRowsOfRange = 8;

// The lines of a slot that hold the columns and the row's word.
uint64_t lines_of(const Table& table, std::span<const base::ColumnId> columns) {
  uint64_t lines = 1;
  const auto add = [&](size_t from, size_t end) {
    for (size_t line = from / kLineBytes; line <= (end - 1) / kLineBytes && line < 64; ++line) {
      lines |= uint64_t{1} << line;
    }
  };
  if (columns.empty()) add(0, sizeof(RowSlot) + table.layout.bytes);
  for (const base::ColumnId id : columns) {
    const base::ColumnLayout& column = table.layout.column(id);
    const size_t from = sizeof(RowSlot) + column.offset;
    add(from, from + column.bytes);
  }
  return lines;
}

// Slots are not aligned to lines: the byte 64 i of the slot may lie in the middle of one, so that a
// column's last bytes may lie in a line that is not fetched.
void fetch_lines(const RowSlot& slot, uint64_t lines) {
  const char* const at = reinterpret_cast<const char*>(&slot);
  for (; lines != 0; lines &= lines - 1) {
    __builtin_prefetch(at + kLineBytes * static_cast<size_t>(__builtin_ctzll(lines)));
  }
}

}  // namespace

void AccessPlan::add_row(base::IndexId id, const base::Key& key,
                         std::span<const base::ColumnId> columns) {
  const TableIndex& index = core_->index(id);
  if (index.by_hash == nullptr || !key.ok()) return;
  const uint64_t hash = HashIndex::hash_of(key.bytes());
  index.by_hash->fetch_bucket(hash);
  rows_[row_count_++] = {&index, hash, lines_of(*index.table, columns)};
}

void AccessPlan::add_range(base::IndexId id, const KeyRange& keys) {
  const TableIndex& index = core_->index(id);
  if (index.by_hash != nullptr || !keys.lower.ok() || !keys.upper.ok()) return;
  index.index->prefetch(keys.lower.bytes());
  ranges_[range_count_++] = {&index, keys};
}

void AccessPlan::fetch_rows() const {
  for (size_t i = 0; i < row_count_; ++i) {
    const Row& row = rows_[i];
    const RowTable& rows = row.index->table->rows;
    row.index->by_hash->visit(row.hash, [&](base::RowId row_id) {
      fetch_lines(rows.slot(row_id), row.lines);
      return true;
    });
  }
  for (size_t i = 0; i < range_count_; ++i) {
    const Range& range = ranges_[i];
    const RowTable& rows = range.index->table->rows;
    const uint64_t lines = lines_of(*range.index->table, {});
    IndexCursor cursor(range.keys.lower.bytes(), range.keys.upper.bytes(), true);
    range.index->index->next_group(&cursor);
    for (size_t row = 0; row < std::min(cursor.count, kRowsOfRange); ++row) {
      fetch_lines(rows.slot(cursor.rows[row]), lines);
    }
  }
}

}  // namespace diptych::oltp
