// Table statistics: what the planner knows of a table's contents: its rows, the bounds of its
// columns, from the summaries that leaves keep (storage/leaf.h, L3), and what a sample of its
// columns shows (column_sample.h).
//
// They are estimates: bounds are read again when the table has grown or shrunk by a sixteenth, and
// samples are drawn again when it has by a quarter, not at each update. Columns that are not in
// memory are not read for it: their samples come when they are. No answer depends on them.

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
  uint64_t rows_of_bounds = 0;        // when they were read
  std::vector<ColumnBounds> columns;  // by ColumnId; none: nothing is known

  uint64_t rows_of_samples = 0;
  bool lacks_samples = false;  // of columns that were not in memory
  // By ColumnId; nullptr: the column has none. Every statement is planned with a copy of them.
  using Sample = std::shared_ptr<const ColumnSample>;  // shared_ptr: see above
  std::vector<Sample> samples;
};

// By TableId.
using TableRows = std::vector<TableStatistics>;

// Brings *statistics to the table as it stands; the caller sees to it that nobody changes it.
void refresh_statistics(const storage::Table& table, const base::TableSchema& schema,
                        TableStatistics* statistics);

}  // namespace diptych::olap
