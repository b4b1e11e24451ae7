#include "propagation/update_plan.h"

namespace diptych::propagation {

UpdatePlan UpdatePlan::of_rows(const base::RowLayout& layout) {
  UpdatePlan plan;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    plan.columns.emplace_back(static_cast<uint16_t>(i));
    plan.cell_offsets.push_back(static_cast<uint32_t>(sizeof(UpdateRecord)) +
                                layout.columns[i].offset);
  }
  return plan;
}

UpdatePlan::UpdatePlan(const base::RowLayout& layout, const UpdateRecord& update)
    : pieces(update.pieces) {
  const std::span<const base::ColumnId> of = update.columns();
  columns.assign(of.begin(), of.end());
  const size_t word_bytes = std::min(of.size_bytes(), sizeof first_columns);
  std::memcpy(&first_columns, of.data(), word_bytes);
  std::memset(&columns_mask, 0xff, word_bytes);
  size_t offset = sizeof(UpdateRecord) + of.size_bytes();
  for (const base::ColumnId column : of) {
    cell_offsets.push_back(static_cast<uint32_t>(offset));
    offset += layout.column(column).bytes;
  }
}

}  // namespace diptych::propagation
