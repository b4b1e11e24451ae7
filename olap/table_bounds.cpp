#include "olap/table_bounds.h"

#include <algorithm>
#include <utility>

namespace diptych::olap {
namespace {

using storage::ChangeWatch;

bool has_bounds(const base::DataType& type) {
  return !type.is_string() && type.kind != base::TypeKind::kBoolean;
}

}  // namespace

void ColumnBounds::widen(double least, double greatest) {
  if (least > greatest) return;  // no value at all
  min = known ? std::min(min, least) : least;
  max = known ? std::max(max, greatest) : greatest;
  known = true;
}

TableBounds::TableBounds(const base::TableSchema& schema) : columns_(schema.columns.size()) {
  for (uint16_t c = 0; c < schema.columns.size(); ++c) {
    const base::DataType& type = schema.columns[c].type;
    if (!has_bounds(type)) continue;
    bounded_.push_back({base::ColumnId(c), type.kind == base::TypeKind::kDouble, false, {}});
  }
}

void TableBounds::refresh(const storage::Table& table,
                          const std::vector<ChangeWatch::Changes>& changes,
                          const std::vector<bool>& changed) {
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    const uint32_t block_rows = partition.block_rows();
    const auto ranges =
        static_cast<uint32_t>((uint64_t{partition.row_slots()} + block_rows - 1) / block_rows);
    for (Column& column : bounded_) {
      column.ranges.resize(table.partition_count());
      if (changes[p].is_all) {
        column.ranges[p].clear();
        column.is_stale = true;
      }
      column.ranges[p].resize(ranges);
    }
    if (changes[p].is_all) {
      for (uint32_t number = 0; number < ranges; ++number) {
        read_range(partition, p, {number, ChangeWatch::Change::kAny}, changed);
      }
    }
    for (const auto& range : changes[p].ranges) read_range(partition, p, range, changed);
  }
  for (Column& column : bounded_) {
    if (!std::exchange(column.is_stale, false)) continue;
    ColumnBounds& all = columns_[column.id.value];
    all = {};
    for (const auto& ranges : column.ranges) {
      for (const ColumnBounds& range : ranges) {
        if (range.known) all.widen(range.min, range.max);
      }
    }
  }
}

void TableBounds::read_range(const storage::Partition& partition, uint32_t p,
                             const ChangeWatch::Changes::Range& range,
                             const std::vector<bool>& changed) {
  struct Due {
    Column* column;
    ColumnBounds bounds;
  };
  std::vector<Due> due;
  for (Column& column : bounded_) {
    if (range.change == ChangeWatch::Change::kAny || changed[column.id.value]) {
      due.push_back({&column, {}});
    }
  }
  const uint64_t first = uint64_t{range.number} * partition.block_rows();
  const uint64_t end = std::min<uint64_t>(first + partition.block_rows(), partition.row_slots());
  for (uint64_t ordinal = first; ordinal < end;) {
    uint32_t position = 0;
    const storage::Leaf& leaf = partition.leaf_of(static_cast<uint32_t>(ordinal), &position);
    ordinal = uint64_t{leaf.first_ordinal()} + leaf.row_slots();
    if (leaf.live_rows() == 0) continue;
    for (Due& one : due) {
      const storage::ColumnSummary summary = leaf.summary(one.column->id);
      if (!summary.known) continue;
      if (one.column->is_double) {
        one.bounds.widen(summary.min_double, summary.max_double);
      } else {
        one.bounds.widen(static_cast<double>(summary.min), static_cast<double>(summary.max));
      }
    }
  }
  for (const Due& one : due) {
    ColumnBounds& known = one.column->ranges[p][range.number];
    if (known == one.bounds) continue;
    known = one.bounds;
    one.column->is_stale = true;
  }
}

}  // namespace diptych::olap
