// WindowTotals: a window whose functions are all aggregates over whole partitions, as in a line's
// share of its order: each row beside its group's aggregates.
//
//   rows, as they come    a  b  a  c  a
//   their partitions      0  1  0  2  0
//   aggregates            sum(a) sum(b) sum(c)
//
// Nothing is sorted: the partitions are the groups of a GROUP BY (aggregate.h), made while the rows
// come, and a row's aggregates are looked up by number when it is read. What a window's ORDER BY
// says is of no matter where no frame depends on it.
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

// Whether the window's functions are.
bool are_totals(const Operator& window);

class WindowTotals {
 public:
  // All but the parameter `needed` outlive this.
  WindowTotals(const RunContext& context, const Operator& window, const NeededColumns& needed);

  void append(const Batch& batch);
  // Called once, when all rows are in: adds those of other workers, whose come after this one's and
  // who have none any more.
  void finish(std::span<const std::unique_ptr<WindowTotals>> others, const Workers& workers);

  uint64_t rows() const { return rows_.row_count(); }
  size_t memory_bytes() const { return charge_.bytes(); }  // once finished
  // Rows [first, first + selection.count): the input's columns, then the aggregates.
  void read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;
  std::vector<VectorBuffer> make_buffers() const;

 private:
  void add_partitions(const WindowTotals& other);
  void read_totals();
  void charge();

  const StopSignal& stop_;
  const Operator grouping_;           // the window's, as a GROUP BY
  std::optional<GroupTable> groups_;  // until it is finished
  ColumnStore rows_;
  GrowingArray<uint32_t> partitions_;  // by row
  ColumnStore totals_;                 // by partition
  MemoryCharge charge_;                // of what is not the groups'
};

}  // namespace diptych::olap
