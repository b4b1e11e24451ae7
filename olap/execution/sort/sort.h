// Sort: orders rows by several columns, whole or the first few.
//
// Workers collect rows; with a small LIMIT each keeps only its best, drops the rest whenever it
// holds several times as many (top-k), and does not take those that the last of the best rules out;
// nor does a scan below (top_bound.h).
// At the end the parts are put together and sorted (sorted_rows.h).
//
// Threads    a SortPart has one worker.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/scan/top_bound.h"
#include "olap/execution/sort/sorted_rows.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// Rows that a sort has to deliver at most, offset included; kNoLimit: all.
uint64_t rows_wanted(const Operator& sort);
// Whether these are few enough to drop others as they come.
bool keeps_best_rows(const Operator& sort);

class SortPart {
 public:
  // `top`: what the scan below asks; nullptr: nothing.
  SortPart(const RunContext& context, const Operator& sort, const NeededColumns& needed,
           TopBound* top = nullptr);

  void append(const Batch& batch);
  ColumnStore& rows() { return rows_; }
  // Called when the rows are done with.
  QueryHeap take_texts();

 private:
  // The rows that are not worse, by the first key alone, than the last of the best known.
  const Selection& may_be_best(const Batch& batch);
  void drop_worst();

  const Operator& sort_;
  const std::vector<bool>& needed_;
  uint64_t wanted_;
  ColumnStore rows_;
  std::optional<size_t> worst_;  // of the rows wanted, once so many and more were met
  TopBound* const top_;
  Selection may_be_best_;
  const StopSignal& stop_;
  MemoryCharge charge_;
};

// Pushes rows[order[i]] for i from `first`; morsel m is kVectorRows of them.
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
