// Table statistics: what the planner knows of a table's contents: its rows, the bounds of its
// columns, from the summaries that leaves keep (storage/leaf.h, L3), and what a sample of its
// columns shows (column_sample.h).
//
// They are estimates. Rows are always the table's. A column's bounds are read again once it has
// changed, but for large tables of which little has: at most 16 values a leaf. Its sample is drawn
// again once an eighth of its values came, were updated or went, and a second is over; or, at once,
// as many as it had. Columns that are not in memory are not read for it: their samples come when
// they are. No answer depends on them.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/schema.h"
#include "olap/column_sample.h"
#include "storage/table.h"

namespace diptych::olap {

// Of numbers, dates (days) and timestamps (microseconds); decimals in units.
struct ColumnBounds {
  bool known = false;
  double min = 0;
  double max = 0;
};

struct TableStatistics {
  TableStatistics(uint64_t count = 0) : rows(count) {}  // NOLINT: rows alone are statistics, too

  uint64_t rows;
  std::vector<ColumnBounds> columns;  // by ColumnId; none: nothing is known
  // By ColumnId; nullptr: the column has none. Every statement is planned with a copy of them.
  using Sample = std::shared_ptr<const ColumnSample>;  // shared_ptr: see above
  std::vector<Sample> samples;
  bool lacks_samples = false;  // of columns that were not in memory

  // How the table stood when a column was looked at: for refresh_statistics.
  struct Look {
    bool was_taken = false;
    uint64_t changes = 0;  // storage::Table::changes
    uint64_t rows = 0;
    uint64_t at_ns = 0;
  };
  std::vector<Look> bounds_looks;  // by ColumnId
  std::vector<Look> sample_looks;
};

// By TableId.
using TableRows = std::vector<TableStatistics>;

// Brings *statistics to the table as it stands; the caller sees to it that nobody changes it.
// `now_ns` is base::steady_ns(), or a test's.
void refresh_statistics(const storage::Table& table, const base::TableSchema& schema,
                        uint64_t now_ns, TableStatistics* statistics);

}  // namespace diptych::olap
