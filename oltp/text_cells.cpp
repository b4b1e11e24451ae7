#include "oltp/text_cells.h"

#include "base/row_layout.h"

namespace diptych::oltp {

std::vector<TextCell> text_cells(const std::vector<base::BoundColumn>& columns) {
  std::vector<TextCell> cells;
  for (const base::BoundColumn& column : columns) {
    if (column.type.is_inline()) continue;
    TextCell cell{.offset = column.offset, .null_offset = std::nullopt};
    // A cell's null byte follows it (base/row_layout.h).
    if (column.nullability == base::Nullability::kNullable) {
      cell.null_offset = column.offset + base::cell_bytes(column.type);
    }
    cells.push_back(cell);
  }
  return cells;
}

}  // namespace diptych::oltp
