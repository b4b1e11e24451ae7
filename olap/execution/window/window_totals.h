// WindowTotals: a window whose functions are all aggregates over whole partitions, such as a line's
// share of its order. It outputs each row with the aggregates of its partition.
//
//   rows, as they come    a  b  a  c  a
//   their partitions      0  1  0  2  0
//   aggregates            sum(a) sum(b) sum(c)
//
// Nothing is sorted. The partitions are the groups of a GROUP BY (aggregate.h), which are made as
// rows arrive, and a row's aggregates are looked up by number when the row is read. The window's
// ORDER BY does not matter, because no frame depends on it.
//
// Threads    a WindowTotals has one worker; once finished, any number of readers.
// Errors     QueryFailure: over the memory limit; a sum that does not fit its type.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/group/aggregate.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// True if all functions of the window are aggregates over whole partitions.
bool are_totals(const Operator& window);

class WindowTotals {
 public:
  // All arguments but `needed` outlive this object.
  WindowTotals(const RunContext& context, const Operator& window, const NeededColumns& needed);

  void append(const Batch& batch);
  // Called once, after all rows: takes over the rows of other workers, which come after this one's.
  void finish(std::span<const std::unique_ptr<WindowTotals>> others, const Workers& workers);

  uint64_t rows() const { return rows_.row_count(); }
  size_t memory_bytes() const { return charge_.bytes(); }  // once finished
  // Reads rows [first, first + selection.count): the input's columns, then the aggregates.
  void read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;
  std::vector<VectorBuffer> make_buffers() const;

 private:
  void add_partitions(const WindowTotals& other, const Workers& workers);
  void read_totals();
  void charge();

  const StopSignal& stop_;
  const Operator grouping_;           // the window as a GROUP BY
  std::optional<GroupTable> groups_;  // until finish()
  ColumnStore rows_;
  GrowingArray<uint32_t> partitions_;  // by row
  ColumnStore totals_;                 // by partition
  MemoryCharge charge_;                // of all memory outside groups_
};

}  // namespace diptych::olap
