// Window functions: the rows of each partition in order, and for each row a value of the rows
// around it.
//
// Workers collect the rows; they are put together and in order once, by partition and sort keys;
// then each function fills an array of results by position, partition by partition. The partitions
// are shared out to the workers in runs of about equal rows.
//
// Frames     two positions a row. ROWS and GROUPS count; RANGE with an offset looks for the key
//            that the front end has computed as its bound, by binary search. EXCLUDE leaves up to
//            three runs of positions.
// Aggregates over a frame that only grows (from the partition's start) are running states; over any
//            other, a segment tree of states by partition, with a leaf for 4 rows: O(log n) a row,
//            exact for numbers, and without subtracting doubles.
//
// Threads    a WindowPart has one worker; a WindowTable is immutable once made.
// Memory     rows, their order (sort.h), the numbers of peers, results and one segment tree a
//            worker are counted in the query's budget.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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

// Positions [begin, end) of the order.
struct PositionRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool operator==(const PositionRange&) const = default;
  bool empty() const { return begin >= end; }
  uint32_t size() const { return empty() ? 0 : end - begin; }
};

// The sorted rows, each at its position: which positions are one partition, and which are peers of
// each other.
struct WindowOrder {
  const ColumnStore* rows = nullptr;
  const StopSignal* stop = nullptr;
  std::vector<PositionRange> partitions;  // in order
  std::vector<uint32_t> group_of;         // by position: the number of its group of peers
  std::vector<uint32_t> group_starts;     // by group, and one more

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

// One function's values, by position.
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
  // Puts the rows, which stay, in their order.
  WindowTable(const RunContext& context, const Operator& window, ColumnStore* rows);

  uint64_t rows() const { return order_.rows->row_count(); }
  size_t kept_bytes() const;  // beside the rows
  // Rows of positions [first, first + selection.count): the input's columns, then the results.
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
// window_aggregates.cpp). `texts` are those of the results that this worker may add to.
void compute_window(const WindowOrder& order, const Operator& window,
                    const WindowFunction& function, PositionRange partition, WindowResults* results,
                    VectorTexts* texts);
void compute_window_aggregate(const WindowOrder& order, const Operator& window,
                              const WindowFunction& function, PositionRange partition,
                              WindowResults* results, VectorTexts* texts);

}  // namespace diptych::olap
