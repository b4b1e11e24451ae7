// Table statistics: the planner's knowledge of a table. It consists of the number of rows, the
// bounds of the columns (table_bounds.h) and a sample of the rows (table_sample.h).
//
//   the applier's writes ──storage::ChangeWatch──► StatisticsKeeper::refresh ──► TableStatistics
//
// All statistics describe one snapshot; the dispatcher refreshes them for each new one. Row counts
// are the snapshot's, bounds cover its values, and sampled rows have the values of the snapshot.
// Only a column that is not in memory may have an older sample, or none, because nothing is read
// from disk for statistics. Samples give estimates; no answer depends on them.

#pragma once

#include <cstdint>
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
  std::vector<ColumnBounds> columns;      // by ColumnId; empty if no bounds are known
  std::vector<SampledColumnPtr> samples;  // by ColumnId; nullptr: the column has no sample
  bool lacks_samples = false;             // some column was not in memory
};

// By TableId.
using TableRows = std::vector<TableStatistics>;

// StatisticsKeeper: maintains the statistics of one table, which outlives it. A table has one
// keeper at a time; a new keeper takes over the table's ChangeWatches.
//
// Threads    the dispatcher's thread, between batches.
class StatisticsKeeper {
 public:
  explicit StatisticsKeeper(storage::Table* table);

  // Updates *statistics, which only this keeper writes, to the table's current state. If memory
  // runs out it throws, and the next refresh looks at the whole table.
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
