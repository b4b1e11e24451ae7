// Table statistics: what the planner knows of a table's contents: its rows, and the bounds of its
// columns, from the summaries that leaves keep (storage/leaf.h, L3).
//
// They are estimates: bounds are read again when the table has grown or shrunk by a sixteenth, not
// at each update. No answer depends on them.

#pragma once

#include <cstdint>
#include <vector>

#include "base/schema.h"
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
};

// By TableId.
using TableRows = std::vector<TableStatistics>;

// Brings *statistics to the table as it stands; the caller sees to it that nobody changes it.
void refresh_statistics(const storage::Table& table, const base::TableSchema& schema,
                        TableStatistics* statistics);

}  // namespace diptych::olap
