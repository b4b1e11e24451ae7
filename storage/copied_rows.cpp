#include "storage/copied_rows.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/row_layout.h"
#include "base/string_ref.h"
#include "storage/buffered_chunk.h"

namespace diptych::storage {

CopiedRows::CopiedRows(const LeafFormat& format, const Leaf& leaf)
    : format_(&format),
      leaf_(&leaf),
      row_bytes_(base::RowLayout(*format.schema).bytes),
      row_ids_(value_or_throw(leaf.pin_row_ids())) {
  for (size_t c = 0; c < format.columns.size(); ++c) {
    columns_.push_back(value_or_throw(leaf.pin(base::ColumnId(static_cast<uint16_t>(c)))));
  }
}

ColumnView CopiedRows::view(const PinnedColumn& column, uint32_t first) {
  const uint32_t count = slots_.back() + 1U;
  const auto some = column.view_some(first, count, slots_, &buffer_);
  return some ? *some : column.view(first, count, &buffer_);
}

void CopiedRows::read(uint32_t first, uint32_t count) {
  DIPTYCH_DCHECK(first % 64 == 0 && count <= kVectorRows, "a run is a vector of a scan at most");
  slots_.clear();
  positions_.clear();
  rows_.clear();
  texts_.clear();
  for (uint32_t slot = 0; slot < count; slot += 64) {
    for (uint64_t bits = leaf_->live_bits()[(first + slot) / 64]; bits != 0; bits &= bits - 1) {
      const uint32_t found = slot + static_cast<uint32_t>(std::countr_zero(bits));
      slots_.push_back(static_cast<uint16_t>(found));
      positions_.push_back(first + found);
    }
  }
  if (slots_.empty()) return;
  cells_.assign(slots_.size() * row_bytes_, std::byte{0});
  for (size_t c = 0; c < columns_.size(); ++c) {
    read_column(format_->columns[c], view(columns_[c], first));
  }
  const ColumnView ids = view(row_ids_, first);
  for (size_t i = 0; i < slots_.size(); ++i) {
    rows_.push_back({base::RowId(ids.as<uint64_t>()[slots_[i]]), cells_.data() + i * row_bytes_,
                     texts_.data()});
  }
}

void CopiedRows::read_column(const ColumnFormat& column, const ColumnView& values) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    std::byte* const cell = cells_.data() + i * row_bytes_ + column.cell_offset;
    const uint16_t slot = slots_[i];
    if (column.nullable && values.is_null(slot)) {
      cell[column.null_in_cell] = std::byte{1};
    } else if (column.is_string()) {
      read_text(column, values.as<base::StringRef>()[slot].view(), cell);
    } else {
      const auto* const from = static_cast<const std::byte*>(values.values);
      std::memcpy(cell, from + size_t{slot} * column.value_bytes, column.value_bytes);
    }
  }
}

void CopiedRows::read_text(const ColumnFormat& column, std::string_view text, std::byte* cell) {
  if (text.empty()) return;
  const auto* const from = reinterpret_cast<const std::byte*>(text.data());
  if (column.kind == CellKind::kInlineString) {
    *cell = static_cast<std::byte>(text.size());
    std::memcpy(cell + 1, from, text.size());
    return;
  }
  base::Text placed;
  placed.data = reinterpret_cast<const char*>(texts_.size());
  placed.size = static_cast<uint32_t>(text.size());
  std::memcpy(cell, &placed, sizeof placed);
  texts_.insert(texts_.end(), from, from + text.size());
}

}  // namespace diptych::storage
