// PlainLeaf: a leaf whose values lie uncompressed in one stretch of memory (storage/leaf_format.h),
// so that reads are views of it and updates are stores into it. Its sorts: HotPage and Block.
//
// Threads    as in leaf.h.
// Memory     `data` has format.leaf_bytes(capacity) bytes, belongs to the derived class or its
//            owner, and is zero at first: the string slots of rows never used are valid and empty.
//
// Invariants (with L1-L3 of leaf.h)
//   P1  Every string slot below capacity is zero, short, or holds a cell of the partition's heap.
//       Dead and null strings are empty.
//   P2  bounds_[c] covers what live rows have in column c. min > max: no value yet; NaN: a NaN was
//       stored, and nothing is known. Updates and erases never narrow it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "storage/leaf.h"
#include "storage/leaf_format.h"
#include "storage/string_heap.h"

namespace diptych::storage {

class PlainLeaf : public Leaf {
 public:
  uint32_t capacity() const { return capacity_; }
  bool full() const { return row_slots_ == capacity_; }
  bool lives(uint32_t position) const { return bit_at(live_bits_.data(), position); }

  ColumnView column(base::ColumnId column, uint32_t first, uint32_t count,
                    DecodeBuffer* buffer) const override;
  ColumnSummary summary(base::ColumnId column) const override;
  base::RowId row_id(uint32_t position) const override;

  // Makes a row live at a position that is dead; row and strings_base as in Partition::insert.
  void write_row(uint32_t position, base::RowId row_id, const std::byte* row,
                 const std::byte* strings_base, StringHeap* heap);
  void write_cell(uint32_t position, base::ColumnId column, const std::byte* cell,
                  const std::byte* strings_base, StringHeap* heap);
  void erase_row(uint32_t position, StringHeap* heap);

  void prefetch_cell(uint32_t position, base::ColumnId column) const;
  void prefetch_row(uint32_t position) const;

 protected:
  struct Bounds {
    int64_t min;  // of a double: its bits
    int64_t max;
  };

  PlainLeaf(const LeafFormat& format, uint32_t first_ordinal, uint32_t capacity, std::byte* data);

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
  void widen(size_t column, int64_t value);
  void widen(size_t column, double value);
  // One cell into the leaf; `cell` is the column's bytes of a row.
  void store_cell(size_t column, uint32_t position, const std::byte* cell,
                  const std::byte* strings_base, StringHeap* heap);

  const LeafFormat* format_;
  std::byte* data_;
  uint32_t capacity_;
  std::vector<Bounds> bounds_;     // by column; meaningless for strings and booleans
  std::vector<uint8_t> has_null_;  // by column: 1 if a live row may be null
};

}  // namespace diptych::storage
