// Table statistics: what the planner knows of a table's contents: its rows, the bounds of its
// columns (table_bounds.h), and what a sample of its rows shows (table_sample.h).
//
//   the applier's writes ──storage::ChangeWatch──► StatisticsKeeper::refresh ──► TableStatistics
//
// All are those of one snapshot, and the dispatcher refreshes them with each: what is counted is
// counted in it, bounds cover its values, a sample's rows have the values that they have in it.
// Only a column that is not in memory may have the sample of an older one, or none: nothing is read
// from disk for statistics. What follows from a sample is an estimate, which no answer depends on.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/schema.h"
#include "olap/column_sample.h"
#include "olap/table_bounds.h"
#include "olap/table_sample.h"
#include "storage/table.h"

namespace diptych::olap {

struct TableStatistics {
  TableStatistics(uint64_t count = 0) : rows(count) {}  // NOLINT: rows alone are statistics, too

  uint64_t rows;
  std::vector<ColumnBounds> columns;      // by ColumnId; none: nothing is known
  std::vector<SampledColumnPtr> samples;  // by ColumnId; nullptr: the column has none
  bool lacks_samples = false;             // of columns that were not in memory
};

// By TableId.
using TableRows = std::vector<TableStatistics>;

// Keeps the statistics of one table, which outlives it. The newest keeper of a table takes what its
// ChangeWatches have: there are no others by then.
//
// Threads    the dispatcher's, between batches.
class StatisticsKeeper {
 public:
  explicit StatisticsKeeper(storage::Table* table);

  // Brings *statistics, which it alone writes, to the table as it stands. Where memory runs out it
  // throws, and all is looked at the next time.
  void refresh(TableStatistics* statistics);
  const TableSample& sample() const { return sample_; }

 private:
  void note_all();

  storage::Table* table_;
  TableBounds bounds_;
  TableSample sample_;
  std::vector<uint64_t> seen_;  // changes() at the last refresh, by ColumnId
};

}  // namespace diptych::olap
