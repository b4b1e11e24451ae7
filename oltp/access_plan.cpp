#include "oltp/access_plan.h"

#include <algorithm>

#include "oltp/engine_core.h"
#include "oltp/row_fetch.h"

namespace diptych::oltp {
namespace {

constexpr size_t kRowsOfRange = 8;

}  // namespace

void AccessPlan::add_row(base::IndexId id, uint64_t hash, std::span<const base::ColumnId> columns) {
  const TableIndex& index = core_->index(id);
  if (index.by_hash == nullptr) return;
  index.by_hash->fetch_bucket(hash);
  rows_[row_count_++] = {&index, hash, lines_of(*index.table, columns)};
}

void AccessPlan::add_range(base::IndexId id, const KeyRange& keys) {
  const TableIndex& index = core_->index(id);
  if (index.by_hash != nullptr || !keys.lower.ok() || !keys.upper.ok()) return;
  ranges_[range_count_++] = {&index, keys};
}

void AccessPlan::add_end(base::IndexId id, const base::Key& first_parts) {
  const TableIndex& index = core_->index(id);
  if (index.by_hash != nullptr || !first_parts.ok()) return;
  const void* const node = index.index->prefetch_end_node(first_parts.bytes());
  if (node != nullptr) ends_[end_count_++] = {&index, node};
}

void AccessPlan::fetch_rows() const {
  for (size_t i = 0; i < end_count_; ++i) {
    ends_[i].index->index->prefetch_end(ends_[i].node);
  }
  for (size_t i = 0; i < row_count_; ++i) {
    const Row& row = rows_[i];
    const RowTable& rows = row.index->table->rows;
    row.index->by_hash->visit(row.hash, [&](base::RowId row_id) {
      fetch_lines(*row.index->table, rows.slot(row_id), row.lines);
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
      fetch_lines(*range.index->table, rows.slot(cursor.rows[row]), lines);
    }
  }
}

}  // namespace diptych::oltp
