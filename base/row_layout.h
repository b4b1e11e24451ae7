// RowLayout: where each column's cell lies in a row. One rule for tables and C++ row structs.
//
// The rule: columns in declaration order, each at its cell type's natural alignment, the row's size
// rounded up to its widest alignment: what a C++ compiler does with the struct of the same cells.
//
//   CREATE TABLE t (a INT NOT NULL, b BIGINT, c VARCHAR(3) NOT NULL)
//
//   0        4        8                16     17      24        28     32
//   | a      | (pad)  | b.value        | null | (pad) | c: size,bytes | (pad)
//
// A column is always one contiguous range of bytes, its null byte included: a field-level update is
// one (column, bytes) piece (propagation/export/update_set.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/schema.h"

namespace diptych::base {

struct ColumnLayout {
  DataType type;
  uint32_t offset = 0;       // of the cell in the row
  uint32_t bytes = 0;        // of the cell, its null byte and padding included
  uint32_t null_offset = 0;  // in the row; 0 where the column is NOT NULL
  bool nullable = false;
  uint8_t group = 0;  // of TableSchema::column_groups, counted from 1; 0: of none
};

struct RowLayout {
  std::vector<ColumnLayout> columns;
  std::vector<ColumnId> long_strings;  // the columns whose bytes lie outside the row
  uint32_t bytes = 0;
  uint32_t alignment = 1;
  uint32_t group_count = 1;  // group 0 included

  explicit RowLayout(const TableSchema& schema);
  const ColumnLayout& column(ColumnId id) const { return columns[id.value]; }
};

// Bytes and alignment of a cell without its null byte.
uint32_t cell_bytes(const DataType& type);
uint32_t cell_alignment(const DataType& type);

}  // namespace diptych::base
