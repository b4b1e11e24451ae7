// Window functions: compute for each row a value from the ordered rows of its partition.
//
// Workers collect the rows. The rows are then combined and sorted once, by partition and sort keys.
// Each function fills an array of results by position, partition by partition. Workers share the
// partitions in runs with about equal numbers of rows.
//
// Frames     two positions for each row. ROWS and GROUPS count; RANGE with an offset searches, by
//            binary search, for the bound that the front end has computed. EXCLUDE leaves up to
//            three runs of positions.
// Aggregates over a frame that only grows (from the partition's start) use a running state. Others
//            use a segment tree of states for each partition, with a leaf for 4 rows: O(log n) a
//            row, exact for exact numbers, and without subtracting doubles.
//
// Threads    a WindowPart has one worker; a WindowTable is immutable once made.
// Memory     the query's budget counts rows, their order (sort.h), the numbers of peers, results
//            and one segment tree for each worker.

#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/vector_texts.h"

namespace diptych::olap {

inline constexpr uint32_t kSegmentTreeLeafRows = 4;

class WindowPart {
 public:
  WindowPart(const Operator& window, const NeededColumns& needed, MemoryBudget* memory);

  void append(const Batch& batch) {
    rows_.append(batch.columns, *batch.selection);
    charge_.set(rows_.memory_bytes());
  }
  ColumnStore& rows() { return rows_; }

 private:
  ColumnStore rows_;
  MemoryCharge charge_;
};

// Positions [begin, end) in the sorted order.
struct PositionRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool operator==(const PositionRange&) const = default;
  bool empty() const { return begin >= end; }
  uint32_t size() const { return empty() ? 0 : end - begin; }
};

// The sorted rows, each at its position, with the ranges of partitions and groups of peers.
struct WindowOrder {
  const ColumnStore* rows = nullptr;
  const StopSignal* stop = nullptr;
  std::vector<PositionRange> partitions;  // in order
  std::vector<uint32_t> group_of;         // by position: the number of its group of peers
  std::vector<uint32_t> group_starts;     // by group, then the end

  PositionRange peers(uint32_t position) const {
    const uint32_t group = group_of[position];
    return {group_starts[group], group_starts[group + 1]};
  }
  bool is_null(uint32_t column, uint32_t position) const { return rows->is_null(column, position); }
  template <class T>
  const T& value(uint32_t column, uint32_t position) const {
    return rows->values<T>(column)[position];
  }
};

// The values of one function, by position.
struct WindowResults {
  WindowResults(PhysicalType physical, size_t rows, const StopSignal& stop);

  template <class T>
  T* values() {
    return reinterpret_cast<T*>(bytes.data());
  }

  PhysicalType type;
  GrowingArray<std::byte> bytes;
  std::vector<uint8_t> nulls;
  std::deque<VectorTexts> texts;  // one for each run of partitions
};

class WindowTable {
 public:
  // Sorts *rows, which outlives the table, and computes the functions.
  WindowTable(const RunContext& context, const Operator& window, ColumnStore* rows);

  uint64_t rows() const { return order_.rows->row_count(); }
  size_t kept_bytes() const;  // without the rows
  // Reads rows at positions [first, first + selection.count): the input's columns, then results.
  void read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;
  std::vector<VectorBuffer> make_buffers() const;

 private:
  static void sort(const Workers& workers, const Operator& window, ColumnStore* rows);
  void find_groups(const Operator& window);
  void compute(const RunContext& context, const Operator& window, size_t function);

  WindowOrder order_;
  std::vector<WindowResults> results_;
  MemoryCharge charge_;
};

// Fills the results of one function for one partition (window_functions.cpp,
// window_aggregates.cpp). `texts` is this worker's entry in results->texts.
void compute_window(const WindowOrder& order, const Operator& window,
                    const WindowFunction& function, PositionRange partition, WindowResults* results,
                    VectorTexts* texts);
void compute_window_aggregate(const WindowOrder& order, const Operator& window,
                              const WindowFunction& function, PositionRange partition,
                              WindowResults* results, VectorTexts* texts);

}  // namespace diptych::olap
