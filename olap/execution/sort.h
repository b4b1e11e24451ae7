// Sort: orders rows by several columns, whole or the first few.
//
// Workers collect rows; with a small LIMIT each keeps only its best and drops the rest whenever it
// holds several times as many (top-k). At the end the parts are put together and one permutation of
// row numbers is sorted: by an order-preserving 8-byte prefix of the first key, then, where
// prefixes tie, by all keys, then by row number, so the sort is stable.
//
// Threads    a SortPart has one worker; the rest by one.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "olap/execution/column_store.h"
#include "olap/execution/memory_budget.h"
#include "olap/execution/needed_columns.h"
#include "olap/execution/pipeline.h"

namespace diptych::olap {

// The numbers of the store's rows in order; at most `limit` of them. `stop` may be null. Benchmark:
// BM_Sort.
std::vector<uint32_t> sorted_rows(const ColumnStore& rows, const std::vector<SortKey>& keys,
                                  uint64_t limit, const StopSignal* stop);

// Rows that a sort has to deliver at most, offset included; kNoLimit: all.
uint64_t rows_wanted(const Operator& sort);

// What sorted_rows() takes for each of the store's rows while it runs.
inline constexpr size_t kSortBytesARow = 20;

class SortPart {
 public:
  SortPart(const Operator& sort, const NeededColumns& needed, MemoryBudget* memory);

  void append(const Batch& batch);
  ColumnStore& rows() { return rows_; }

 private:
  void drop_worst();

  const Operator& sort_;
  const std::vector<bool>& needed_;
  uint64_t wanted_;
  ColumnStore rows_;
  MemoryCharge charge_;
};

class SortStage : public Stage {
 public:
  explicit SortStage(SortPart* part) : part_(part) {}
  bool push(Batch& batch) override {
    part_->append(batch);
    return true;
  }

 private:
  SortPart* part_;
};

// Pushes rows[order[i]] for i from `first`; morsel m is kVectorRows of them.
class StoredSource : public MorselSource {
 public:
  StoredSource(const ColumnStore& rows, const std::vector<uint32_t>& order, uint64_t first,
               StagePtr next);
  bool run(uint64_t morsel) override;

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
