#include "oltp/access_plan.h"

#include <algorithm>

#include "oltp/engine_core.h"
#include "oltp/row_fetch.h"

namespace diptych::oltp {
namespace {

constexpr size_t kRowsOfRange = 8;

}  // namespace

void AccessPlan::add_row(base::IndexId id, const base::Key& key,
                         std::span<const base::ColumnId> columns) {
  const TableIndex& index = core_->index(id);
  if (index.by_hash == nullptr || !key.ok()) return;
  const uint64_t hash = HashIndex::hash_of(key.bytes());
  index.by_hash->fetch_bucket(hash);
  rows_[row_count_++] = {&index, hash,
                         lines_of(index.table->layout, index.table->rows.front_bytes(), columns)};
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
      fetch_lines(rows.slot(row_id), rows.front_bytes(), row.lines);
      return true;
    });
  }
  for (size_t i = 0; i < range_count_; ++i) {
    const Range& range = ranges_[i];
    const RowTable& rows = range.index->table->rows;
    const uint64_t lines = lines_of(range.index->table->layout, rows.front_bytes(), {});
    IndexCursor cursor(range.keys.lower.bytes(), range.keys.upper.bytes(), true);
    range.index->index->next_group(&cursor);
    for (size_t row = 0; row < std::min(cursor.count, kRowsOfRange); ++row) {
      fetch_lines(rows.slot(cursor.rows[row]), rows.front_bytes(), lines);
    }
  }
}

}  // namespace diptych::oltp
