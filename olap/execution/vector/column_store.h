// ColumnStore: rows that an operator keeps (a join's build side, a sort's input), column by column.
//
// Values lie in one array per column, so that a row is found by its number and gathered by column.
// Long strings whose bytes go with the batch are copied; those of the replica's leaves are not.
// What is gathered refers to the copies: who gives up a store hands take_texts() to the query,
// which keeps them.
//
// Threads    one writer; once filled, any number of readers.
// Memory     throws std::bad_alloc when it ends.

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
  // As above, but columns that are not `needed` are not kept: they read as vectors without values.
  ColumnStore(std::span<const base::DataType> types, const std::vector<bool>& needed);

  size_t column_count() const { return columns_.size(); }
  uint64_t row_count() const { return rows_; }
  PhysicalType type(size_t column) const { return columns_[column].type; }
  size_t memory_bytes() const;

  // How many rows may come, by an estimate: once a part of them has, there is room for all, and
  // none of them is moved as more come.
  void expect(double rows);
  // Appends the selected rows of the first column_count() vectors.
  void append(std::span<const Vector> vectors, const Selection& selection);
  // Appends all rows of another store of the same types, which is left empty.
  void absorb(ColumnStore&& other);
  // The same of several stores, in their order, by all workers: a column at a time, so that no more
  // than one of them is there twice.
  void absorb_all(std::span<ColumnStore* const> others, const Workers& workers);
  // Row r becomes row to[r], by all workers; a column at a time. `to` has each row once.
  void reorder(const GrowingArray<uint32_t>& to, const Workers& workers);
  // Row r becomes what row order[r] is, likewise.
  void put_in_order(std::span<const uint32_t> order, const Workers& workers);
  // The copied texts, when nobody reads the store any more.
  QueryHeap take_texts() { return std::exchange(heap_, QueryHeap()); }
  // Appends rows of another store; long texts are copied.
  void append_rows(const ColumnStore& other, std::span<const uint32_t> rows);

  template <class T>
  const T* values(size_t column) const {
    return reinterpret_cast<const T*>(columns_[column].bytes.data());
  }
  bool has_nulls(size_t column) const { return columns_[column].has_nulls; }
  // A byte a row; nullptr: there are none.
  const uint8_t* nulls(size_t column) const {
    return columns_[column].has_nulls ? columns_[column].nulls.data() : nullptr;
  }
  bool is_null(size_t column, uint64_t row) const {
    return columns_[column].has_nulls && columns_[column].nulls[row] != 0;
  }
  // To the column's values; it is of integers, and kept.
  void widen(size_t column, ValueBounds* bounds) const;
  // Of the column's values; it is of integers of any width, and kept.
  WideBounds bounds(size_t column) const;

  // results[slot] = value of row rows[k], where slot is the k-th selected one; kNoRow gives a null.
  // Returns the view. Benchmark: BM_GatherInt64.
  static constexpr uint32_t kNoRow = UINT32_MAX;
  Vector gather(size_t column, const uint32_t* rows, const Selection& selection,
                VectorBuffer* results) const;
  // Rows [first, first + count), at most kVectorRows, where they lie; `nulls` has room for bits.
  Vector view(size_t column, uint64_t first, uint32_t count, uint64_t* nulls) const;

 private:
  struct Column {
    PhysicalType type;
    size_t width;
    bool needed = true;
    GrowingArray<std::byte> bytes;
    bool has_nulls = false;
    GrowingArray<uint8_t> nulls;  // a byte a row, once has_nulls
  };

  // Moves all needed columns' rows by move(range, from, to).
  template <class Move>
  void move_rows(const Workers& workers, const Move& move);
  void absorb_column(size_t column, std::span<ColumnStore* const> others, uint64_t rows,
                     const Workers& workers);
  void make_expected_room();
  void append_nulls(Column* column, const Vector& vector, const Selection& selection);

  std::vector<Column> columns_;
  uint64_t rows_ = 0;
  uint64_t expected_rows_ = 0;  // 0: not known, or there is room
  QueryHeap heap_;
};

}  // namespace diptych::olap
