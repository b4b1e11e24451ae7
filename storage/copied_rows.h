// CopiedRows: the live rows of a leaf in the format of update records, a run of positions at a
// time, so that they can be inserted elsewhere.
//
// Threads    one. The leaf's cells stay as they are meanwhile; its rows may be erased.
// Memory     a run's cells and texts, reused for the next one.
// Errors     ChunkFailure, of a failing disk or a damaged chunk.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "storage/leaf.h"
#include "storage/leaf_format.h"
#include "storage/table.h"

namespace diptych::storage {

class CopiedRows {
 public:
  // Pins all columns of the leaf, which outlives this, as does the format.
  CopiedRows(const LeafFormat& format, const Leaf& leaf);

  // The rows that live in [first, first + count). `first` is a multiple of 64, and `count` is at
  // most kVectorRows.
  void read(uint32_t first, uint32_t count);
  // Of the last read, in the order of their ordinals.
  std::span<const NewRow> rows() const { return rows_; }
  std::span<const uint32_t> positions() const { return positions_; }

 private:
  ColumnView view(const PinnedColumn& column, uint32_t first);
  void read_column(const ColumnFormat& column, const ColumnView& values);
  void read_text(const ColumnFormat& column, std::string_view text, std::byte* cell);

  const LeafFormat* format_;
  const Leaf* leaf_;
  uint32_t row_bytes_;
  std::vector<PinnedColumn> columns_;  // by ColumnId
  PinnedColumn row_ids_;
  DecodeBuffer buffer_;
  std::vector<uint16_t> slots_;  // of the run's rows, from its first position
  std::vector<std::byte> cells_;
  std::vector<std::byte> texts_;  // long strings of all rows; cells have their offsets
  std::vector<NewRow> rows_;
  std::vector<uint32_t> positions_;
};

}  // namespace diptych::storage
