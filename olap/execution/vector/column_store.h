// ColumnStore: rows that an operator keeps (a join's build side, a sort's input), column by column.
//
// Values lie in one array per column, so that a row is found by its number and gathered by column.
// Long strings whose bytes go with the batch are copied; strings of the replica's leaves are not.
// Gathered vectors refer to the copies, so the owner of a store that goes away passes take_texts()
// to the query, which keeps them.
//
// Threads    one writer; once filled, any number of readers.
// Memory     throws std::bad_alloc when memory runs out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/query_heap.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_range.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class ColumnStore {
 public:
  explicit ColumnStore(std::span<const base::DataType> types);
  // As above, but does not keep columns that are not `needed`; they read as vectors without values.
  ColumnStore(std::span<const base::DataType> types, const std::vector<bool>& needed);

  size_t column_count() const { return columns_.size(); }
  uint64_t row_count() const { return rows_; }
  PhysicalType type(size_t column) const { return columns_[column].type; }
  size_t memory_bytes() const;

  // Announces an estimated number of rows. Once a part of them has arrived, the store makes room
  // for all of them, so that further rows move none.
  void expect(double rows);
  // Appends the selected rows of the first column_count() vectors.
  void append(std::span<const Vector> vectors, const Selection& selection);
  // Appends all rows of another store of the same types, which is left empty.
  void absorb(ColumnStore&& other);
  // Appends all rows of several stores, in their order, with all workers. It handles one column at
  // a time, so that only one column exists twice.
  void absorb_all(std::span<ColumnStore* const> others, const Workers& workers);
  // Moves row r to row to[r], with all workers, one column at a time. `to` is a permutation.
  void reorder(const GrowingArray<uint32_t>& to, const Workers& workers);
  // Moves row order[r] to row r, likewise.
  void put_in_order(std::span<const uint32_t> order, const Workers& workers);
  // Gives away the copied texts, when nobody reads the store any more.
  QueryHeap take_texts() { return std::exchange(heap_, QueryHeap()); }
  // Appends rows of another store and copies their long texts.
  void append_rows(const ColumnStore& other, std::span<const uint32_t> rows);

  template <class T>
  const T* values(size_t column) const {
    return reinterpret_cast<const T*>(columns_[column].bytes.data());
  }
  bool has_nulls(size_t column) const { return columns_[column].has_nulls; }
  // A byte for each row; nullptr if there are no nulls.
  const uint8_t* nulls(size_t column) const {
    return columns_[column].has_nulls ? columns_[column].nulls.data() : nullptr;
  }
  bool is_null(size_t column, uint64_t row) const {
    return columns_[column].has_nulls && columns_[column].nulls[row] != 0;
  }
  // Widens *bounds to the values of a kept column of integers.
  void widen(size_t column, ValueBounds* bounds) const;
  // The bounds of a kept column of integers of any width.
  WideBounds bounds(size_t column) const;

  // Sets results[slot] to the value of row rows[k], where slot is the k-th selected one; kNoRow
  // gives a null. Returns a view of the results. Benchmark: BM_GatherInt64.
  static constexpr uint32_t kNoRow = UINT32_MAX;
  Vector gather(size_t column, const uint32_t* rows, const Selection& selection,
                VectorBuffer* results) const;
  // A view of rows [first, first + count), at most kVectorRows, without a copy of the values; null
  // bits are written to `nulls`.
  Vector view(size_t column, uint64_t first, uint32_t count, uint64_t* nulls) const;

 private:
  struct Column {
    PhysicalType type;
    size_t width;
    bool needed = true;
    GrowingArray<std::byte> bytes;
    bool has_nulls = false;
    GrowingArray<uint8_t> nulls;  // a byte for each row, once has_nulls
  };

  // Moves the rows of all needed columns by move(range, from, to).
  template <class Move>
  void move_rows(const Workers& workers, const Move& move);
  void absorb_column(size_t column, std::span<ColumnStore* const> others, uint64_t rows,
                     const Workers& workers);
  void make_expected_room();
  void append_nulls(Column* column, const Vector& vector, const Selection& selection);

  std::vector<Column> columns_;
  uint64_t rows_ = 0;
  uint64_t expected_rows_ = 0;  // 0: unknown, or there is room for them already
  QueryHeap heap_;
};

}  // namespace diptych::olap
