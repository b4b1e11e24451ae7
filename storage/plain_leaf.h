// PlainLeaf: a leaf whose values lie uncompressed in one stretch of memory (storage/leaf_format.h),
// so that reads are views of it and updates are stores into it. Its sorts: HotPage, PlainBlock.
//
// Threads    as in leaf.h.
// Memory     `data` has format.leaf_bytes(capacity) bytes, belongs to the derived class or its
//            owner, and is zero at first: the string slots of rows never used are valid and empty.
//            Strings over 12 bytes lie in `heap`.
//
// Invariants (with L1-L3 of leaf.h)
//   P1  Every string slot below capacity is zero, short, or holds a cell of the heap that is the
//       leaf's alone. Dead and null strings are empty.
//   P2  bounds_[c] covers what live rows have in column c. min > max: no value yet; NaN: a NaN was
//       stored, and nothing is known. Updates and erases never narrow it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "storage/leaf.h"
#include "storage/leaf_format.h"
#include "storage/string_heap.h"
#include "storage/table.h"

namespace diptych::storage {

class PlainLeaf : public Leaf {
 public:
  uint32_t capacity() const { return capacity_; }
  bool full() const { return row_slots_ == capacity_; }

  base::Result<PinnedColumn> pin(base::ColumnId column) const override;
  base::Result<PinnedColumn> pin_row_ids() const override;
  bool read_ahead(base::ColumnId /*column*/) const override { return true; }
  bool in_memory(base::ColumnId /*column*/) const override { return true; }
  ColumnSummary summary(base::ColumnId column) const override;
  ColumnStorage storage(base::ColumnId column) const override;

  // Makes rows live at positions that are dead, from `first` on, column by column.
  void write_rows(uint32_t first, std::span<const NewRow> rows);
  // Fills the leaf, which is new, with positions [first, first + capacity) of another one, as far
  // as it has them. Throws ChunkFailure.
  void copy_rows(const Leaf& from, uint32_t first);
  // Where a live row's cells are.
  struct Place {
    PlainLeaf* leaf;
    uint32_t position;
  };
  // One column of rows of any plain leaves of one partition, as Partition::update: all writes into
  // cells of their live rows go through here.
  static void write_cells(const ColumnFormat& format, base::ColumnId column,
                          std::span<const Place> places, std::span<const std::byte* const> records,
                          size_t cell_offset);
  void erase_row(uint32_t position);
  // Where write_rows has thrown, as memory ran out: strings it wrote to these dead slots go (P1).
  void clear_slots(uint32_t first, uint32_t count);

  const StringHeap* heap() const { return heap_.get(); }
  // Of a leaf that is no more: its strings' cells are free for others.
  void release_strings();
  size_t string_bytes() const;  // of its cells, about

  void prefetch_cell(uint32_t position, const ColumnFormat& format) const {
    __builtin_prefetch(values(format) + size_t{position} * format.value_bytes, 1);
    if (format.nullable) __builtin_prefetch(&nulls(format)[position / 64], 1);
  }
  void prefetch_row(uint32_t position) const;

 protected:
  struct Bounds {
    int64_t min;  // of a double: its bits
    int64_t max;
  };

  PlainLeaf(const LeafFormat& format, uint32_t first_ordinal, uint32_t capacity, std::byte* data,
            const SharedRef<StringHeap>& heap);
  // A copy, in `data`, whose bytes may be anything; its strings get cells of their own.
  PlainLeaf(const PlainLeaf& from, std::byte* data);

  const LeafFormat& format() const { return *format_; }
  std::byte* data() const { return data_; }
  std::byte* values(const ColumnFormat& column) const {
    return data_ + format_->values_offset(column, capacity_);
  }
  uint64_t* nulls(const ColumnFormat& column) const {
    return reinterpret_cast<uint64_t*>(data_ + format_->nulls_offset(column, capacity_));
  }
  // Sets the bounds to exactly what the live rows have.
  void tighten_bounds();

 private:
  // A store only where it widens: that is rare, and most calls then end in two compares.
  void widen(size_t column, int64_t value) {
    Bounds& bounds = bounds_[column];
    if (value < bounds.min) bounds.min = value;
    if (value > bounds.max) bounds.max = value;
  }
  void widen(size_t column, double value);
  // Sets the null bit as the cell says; true: it is null.
  bool store_null(const ColumnFormat& format, size_t column, uint32_t position,
                  const std::byte* cell) {
    return store_null(nulls(format), format, column, position, cell);
  }
  // The same in `map`, the column's.
  bool store_null(uint64_t* map, const ColumnFormat& format, size_t column, uint32_t position,
                  const std::byte* cell) {
    uint64_t& word = map[position / 64];
    const uint64_t bit = uint64_t{1} << (position % 64);
    if (cell[format.null_in_cell] == std::byte{0}) {
      word &= ~bit;
      return false;
    }
    word |= bit;
    has_null_[column] = 1;
    return true;
  }
  // Of [first, end), dead before.
  void set_live(uint32_t first, uint32_t end);
  // Calls fn(slot) for each string slot that has a cell of the heap.
  template <class Function>
  void for_each_cell(Function&& fn) const;
  // Writes the values of a fixed-size type, from `first` on, and the bounds.
  template <class Value>
  void write_values(size_t column, uint32_t first, std::span<const NewRow> rows);
  // Writes one column of rows that live.
  template <class Value, class Widen>
  static void update_values(const ColumnFormat& format, size_t column,
                            std::span<const Place> places,
                            std::span<const std::byte* const> records, size_t cell_offset);
  static void update_strings(const ColumnFormat& format, size_t column,
                             std::span<const Place> places,
                             std::span<const std::byte* const> records, size_t cell_offset);
  void write_booleans(size_t column, uint32_t first, std::span<const NewRow> rows);
  void write_strings(size_t column, uint32_t first, std::span<const NewRow> rows);

  const LeafFormat* format_;
  std::byte* data_;
  SharedRef<StringHeap> heap_;
  uint32_t capacity_;
  std::vector<Bounds> bounds_;     // by column; meaningless for strings and booleans
  std::vector<uint8_t> has_null_;  // by column: 1 if a live row may be null
};

}  // namespace diptych::storage
