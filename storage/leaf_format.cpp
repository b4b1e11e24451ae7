#include "storage/leaf_format.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/quoted.h"
#include "base/string_ref.h"
#include "storage/leaf.h"

namespace diptych::storage {
namespace {

CellKind kind_of(const base::DataType& type) {
  switch (type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kDate: return CellKind::kInt32;
    case base::TypeKind::kBigInt:
    case base::TypeKind::kDecimal:
    case base::TypeKind::kTimestamp: return CellKind::kInt64;
    case base::TypeKind::kDouble: return CellKind::kDouble;
    case base::TypeKind::kBoolean: return CellKind::kBoolean;
    case base::TypeKind::kInterval:  // no column's
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: break;
  }
  return type.is_inline() ? CellKind::kInlineString : CellKind::kLongString;
}

}  // namespace

size_t value_bytes(const base::DataType& type) {
  switch (kind_of(type)) {
    case CellKind::kInt32: return sizeof(int32_t);
    case CellKind::kInt64: return sizeof(int64_t);
    case CellKind::kDouble: return sizeof(double);
    case CellKind::kBoolean: return sizeof(uint8_t);
    case CellKind::kInlineString:
    case CellKind::kLongString: break;
  }
  return sizeof(base::StringRef);
}

LeafFormat::LeafFormat(const base::TableSchema& of_table, base::PartitionId of_partition,
                       uint32_t rows_a_block)
    : block_rows(rows_a_block), schema(&of_table), partition(of_partition) {
  row_bytes = sizeof(uint64_t);
  const base::RowLayout layout(of_table);
  for (const base::ColumnLayout& cell : layout.columns) {
    ColumnFormat column;
    column.type = cell.type;
    column.kind = kind_of(cell.type);
    column.nullable = cell.nullable;
    column.value_bytes = static_cast<uint32_t>(value_bytes(cell.type));
    column.cell_offset = cell.offset;
    column.null_in_cell = cell.nullable ? cell.null_offset - cell.offset : 0;
    column.values_before = row_bytes;
    column.maps_before = null_maps;
    row_bytes += column.value_bytes;
    null_maps += column.nullable ? 1 : 0;
    columns.push_back(column);
  }
  // A row of more than 1 KiB makes pages of more than kHotPageBytes: 64 rows are the least.
  page_rows = 64;
  while (page_rows < block_rows && leaf_bytes(page_rows * 2) <= kHotPageBytes) page_rows *= 2;
  DIPTYCH_CHECK(block_rows % page_rows == 0, "pages tile a block's range of ordinals");
}

std::string LeafFormat::described(size_t column, uint32_t first_ordinal, uint32_t rows) const {
  const std::string what =
      column == columns.size()
          ? std::string("the RowIDs")
          : fmt::format("column {}", base::quoted(schema->columns[column].name));
  return fmt::format("table {}, partition {}: {} of rows {} to {}", base::quoted(schema->name),
                     partition.value, what, first_ordinal, first_ordinal + rows - 1);
}

}  // namespace diptych::storage
