#include "propagation/update_reader.h"

namespace diptych::propagation {

UpdateReader UpdateReader::of_rows(const base::RowLayout& layout) {
  UpdateReader reader;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    reader.columns.emplace_back(static_cast<uint16_t>(i));
    reader.cell_offsets.push_back(static_cast<uint32_t>(sizeof(UpdateRecord)) +
                                  layout.columns[i].offset);
  }
  return reader;
}

UpdateReader::UpdateReader(const base::RowLayout& layout, const UpdateRecord& update)
    : column_count(update.column_count) {
  const std::span<const base::ColumnId> ids = update.columns();
  columns.assign(ids.begin(), ids.end());
  const size_t word_bytes = std::min(ids.size_bytes(), sizeof first_columns);
  std::memcpy(&first_columns, ids.data(), word_bytes);
  std::memset(&columns_mask, 0xff, word_bytes);
  size_t offset = sizeof(UpdateRecord) + ids.size_bytes();
  for (const base::ColumnId column : ids) {
    cell_offsets.push_back(static_cast<uint32_t>(offset));
    offset += layout.column(column).bytes;
  }
}

}  // namespace diptych::propagation
