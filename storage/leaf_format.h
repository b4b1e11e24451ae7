// LeafFormat: how a plain (uncompressed) leaf of a table lays out its rows: PAX.
//
//   | row ids: R * 8 | column 0: R * value_bytes | column 1 ... | null map 0: R / 8 | map 1 ...
//
// R, the leaf's capacity in rows, is a multiple of 64: each array then starts 64-byte aligned, and
// each null map (nullable columns only) is whole words.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/row_layout.h"
#include "base/schema.h"
#include "base/types.h"

namespace diptych::storage {

enum class CellKind : uint8_t {
  kInt32,
  kInt64,
  kDouble,
  kBoolean,
  kInlineString,  // in the row: a size byte and the bytes
  kLongString,    // in the row: a Text
};

struct ColumnFormat {
  base::DataType type;
  CellKind kind = CellKind::kInt32;
  bool nullable = false;
  uint32_t value_bytes = 0;
  uint32_t cell_offset = 0;    // of the cell in a row
  uint32_t null_in_cell = 0;   // of the null byte, from the cell's start
  uint32_t values_before = 0;  // bytes a row of the arrays in front of this column's
  uint32_t maps_before = 0;    // null maps in front of this column's

  bool is_string() const { return kind >= CellKind::kInlineString; }
};

struct LeafFormat {
  std::vector<ColumnFormat> columns;
  uint32_t row_bytes = 0;  // of all arrays: the row id and the values
  uint32_t null_maps = 0;
  uint32_t block_rows = 0;
  uint32_t page_rows = 0;  // of a hot page: a power of two, at least 64, at most block_rows
  const base::TableSchema* schema;
  base::PartitionId partition;

  // `of_table` outlives it.
  LeafFormat(const base::TableSchema& of_table, base::PartitionId of_partition,
             uint32_t rows_a_block);

  size_t leaf_bytes(uint32_t rows) const {
    return size_t{rows} * row_bytes + size_t{rows} / 8 * null_maps;
  }
  size_t values_offset(const ColumnFormat& column, uint32_t rows) const {
    return size_t{rows} * column.values_before;
  }
  size_t nulls_offset(const ColumnFormat& column, uint32_t rows) const {
    return size_t{rows} * row_bytes + size_t{rows} / 8 * column.maps_before;
  }
  // For a person: table "stock", partition 2: column "s_data" of rows 0 to 65535. The RowIDs are
  // the column behind the last.
  std::string described(size_t column, uint32_t first_ordinal, uint32_t rows) const;
};

}  // namespace diptych::storage
