// TableBounds: the least and greatest values of a table's columns, as the newest snapshot's leaves
// sum them up (storage/leaf.h, L3): they cover every live value, and maybe more; but not those of a
// leaf of DOUBLEs that has a NaN, and integers beyond 2^53 about. Estimates use them, nothing else.
//
//   ranges that changed ──summaries of their leaves──► bounds by range ──union──► by column
//
// Threads    the dispatcher's, between batches.
// Memory     24 bytes a column and range of a block's rows.

#pragma once

#include <cstdint>
#include <vector>

#include "base/schema.h"
#include "storage/change_watch.h"
#include "storage/table.h"

namespace diptych::olap {

// Of numbers, dates (days) and timestamps (microseconds); decimals in units.
struct ColumnBounds {
  bool known = false;
  double min = 0;
  double max = 0;

  void widen(double least, double greatest);
  bool operator==(const ColumnBounds&) const = default;
};

class TableBounds {
 public:
  explicit TableBounds(const base::TableSchema& schema);

  // Brings them to the table as it stands. `changes`: by PartitionId. `changed`: by ColumnId,
  // whether the table's changes() of the column went up.
  void refresh(const storage::Table& table,
               const std::vector<storage::ChangeWatch::Changes>& changes,
               const std::vector<bool>& changed);
  const std::vector<ColumnBounds>& columns() const { return columns_; }  // by ColumnId

 private:
  struct Column {
    base::ColumnId id;
    bool is_double;
    bool is_stale;                                  // some range's bounds are others
    std::vector<std::vector<ColumnBounds>> ranges;  // by PartitionId
  };
  void read_range(const storage::Partition& partition, uint32_t p,
                  const storage::ChangeWatch::Changes::Range& range,
                  const std::vector<bool>& changed);

  std::vector<Column> bounded_;  // those that have bounds
  std::vector<ColumnBounds> columns_;
};

}  // namespace diptych::olap
