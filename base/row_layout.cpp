#include "base/row_layout.h"

#include <algorithm>

#include "base/alignment.h"

namespace diptych::base {
uint32_t cell_bytes(const DataType& type) {
  switch (type.kind) {
    case TypeKind::kBoolean: return 1;
    case TypeKind::kInt:
    case TypeKind::kDate: return 4;
    case TypeKind::kBigInt:
    case TypeKind::kDecimal:
    case TypeKind::kDouble:
    case TypeKind::kTimestamp: return 8;
    case TypeKind::kChar:
    case TypeKind::kVarchar: return type.is_inline() ? 1 + type.length : sizeof(Text);
    case TypeKind::kInterval: break;  // no column's
  }
  return 0;
}

uint32_t cell_alignment(const DataType& type) {
  if (type.is_string()) return type.is_inline() ? 1 : alignof(Text);
  return cell_bytes(type);
}

RowLayout::RowLayout(const TableSchema& schema) {
  uint32_t end = 0;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    const uint32_t column_alignment = cell_alignment(column.type);
    ColumnLayout cell;
    cell.type = column.type;
    cell.nullable = column.nullability == Nullability::kNullable;
    cell.offset = round_up(end, column_alignment);
    cell.bytes = cell_bytes(column.type);
    if (cell.nullable) {
      cell.null_offset = cell.offset + cell.bytes;
      cell.bytes = round_up(cell.bytes + 1, column_alignment);
    }
    end = cell.offset + cell.bytes;
    alignment = std::max(alignment, column_alignment);
    columns.push_back(cell);
    if (!column.type.is_inline()) long_strings.push_back(ColumnId(static_cast<uint16_t>(i)));
  }
  bytes = round_up(end, alignment);
  for (const std::vector<ColumnId>& group : schema.column_groups) {
    for (const ColumnId column : group) {
      columns[column.value].group = static_cast<uint8_t>(group_count);
    }
    ++group_count;
  }
}

}  // namespace diptych::base
