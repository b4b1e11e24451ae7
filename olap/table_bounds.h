// TableBounds: the least and greatest values of a table's columns, from the summaries of the newest
// snapshot's leaves (storage/leaf.h, L3). They cover every live value and maybe more, with two
// exceptions: leaves of DOUBLEs that contain a NaN, and integers beyond 2^53, which are rounded.
// Only estimates use them.
//
//   ranges that changed ──summaries of their leaves──► bounds by range ──union──► by column
//
// Threads    the dispatcher's thread, between batches.
// Memory     24 bytes for each column and range of a block's rows.

#pragma once

#include <cstdint>
#include <vector>

#include "base/schema.h"
#include "storage/change_watch.h"
#include "storage/table.h"

namespace diptych::olap {

// The bounds of numbers, dates (in days), timestamps (in microseconds) and decimals (in units).
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

  // Updates the bounds to the table's current state. `changes` is by PartitionId. `changed` is by
  // ColumnId and says whether the table's changes() of the column went up.
  void refresh(const storage::Table& table,
               const std::vector<storage::ChangeWatch::Changes>& changes,
               const std::vector<bool>& changed);
  const std::vector<ColumnBounds>& columns() const { return columns_; }  // by ColumnId

 private:
  struct Column {
    base::ColumnId id;
    bool is_double;
    bool is_stale;                                  // the bounds of some range have changed
    std::vector<std::vector<ColumnBounds>> ranges;  // by PartitionId
  };
  void read_range(const storage::Partition& partition, uint32_t p,
                  const storage::ChangeWatch::Changes::Range& range,
                  const std::vector<bool>& changed);

  std::vector<Column> bounded_;  // the columns that have bounds
  std::vector<ColumnBounds> columns_;
};

}  // namespace diptych::olap
