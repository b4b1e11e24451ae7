// Sort: orders rows by several columns, all of them or the first few.
//
// Workers collect rows. With a small LIMIT (top-k), a worker keeps only its best rows: it drops the
// others whenever it holds several times as many, and rejects rows that are worse than the last of
// the best. A scan below rejects them, too (top_bound.h). At the end the parts are combined and
// sorted (sorted_rows.h).
//
// Threads    a SortPart has one worker.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/scan/top_bound.h"
#include "olap/execution/sort/sorted_rows.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// The largest number of rows that a sort has to deliver, offset included; kNoLimit: all.
uint64_t rows_wanted(const Operator& sort);
// True if these are few enough to drop other rows early.
bool keeps_best_rows(const Operator& sort);

class SortPart {
 public:
  // `top` is the bound for the scan below, or nullptr.
  SortPart(const RunContext& context, const Operator& sort, const NeededColumns& needed,
           TopBound* top = nullptr);

  void append(const Batch& batch);
  ColumnStore& rows() { return rows_; }
  // Gives away the texts. Called when the rows are no longer needed.
  QueryHeap take_texts();

 private:
  // The rows that, by the first key alone, are not worse than the last of the best rows so far.
  const Selection& may_be_best(const Batch& batch);
  void drop_worst();

  const Operator& sort_;
  const std::vector<bool>& needed_;
  uint64_t wanted_;
  ColumnStore rows_;
  std::optional<size_t> worst_;  // the last of the best rows, once enough rows were met
  TopBound* const top_;
  Selection may_be_best_;
  const StopSignal& stop_;
  MemoryCharge charge_;
};

// StoredSource: pushes rows[order[i]] for i from `first` on; a morsel has kVectorRows rows.
class StoredSource : public MorselSource {
 public:
  StoredSource(const ColumnStore& rows, const std::vector<uint32_t>& order, uint64_t first,
               StagePtr next);
  bool run(uint64_t morsel) override;

  static uint64_t morsels(const std::vector<uint32_t>& order, uint64_t first) {
    return order.size() <= first ? 0 : (order.size() - first + kVectorRows - 1) / kVectorRows;
  }

 private:
  const ColumnStore& rows_;
  const std::vector<uint32_t>& order_;
  uint64_t first_;
  StagePtr next_;
  std::vector<VectorBuffer> buffers_;
  Batch batch_;
  Selection selection_;
};

}  // namespace diptych::olap
