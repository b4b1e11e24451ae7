#include "dispatcher/row_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
#include "base/types.h"

namespace diptych::dispatcher {
namespace {

void store_string(const base::ColumnLayout& column, const base::StringRef& string,
                  std::byte* cell) {
  const std::string_view text = string.view();
  if (column.type.is_inline()) {
    DIPTYCH_CHECK(text.size() <= column.type.length, "a string of a column fits the column");
    cell[0] = static_cast<std::byte>(text.size());
    std::memcpy(cell + 1, text.data(), text.size());
    return;
  }
  const base::Text pointer(text);
  std::memcpy(cell, &pointer, sizeof pointer);
}

}  // namespace

RowAssembler::RowAssembler(const base::RowLayout* layout)
    : layout_(layout),
      buffers_(layout->columns.size()),
      pinned_(layout->columns.size()),
      rows_(size_t{storage::kVectorRows} * layout->bytes) {}

base::Result<void> RowAssembler::assemble(const storage::Leaf& leaf, uint32_t first,
                                          uint32_t count) {
  DIPTYCH_CHECK(count <= storage::kVectorRows && first + count <= leaf.row_slots(),
                "a vector lies within the used part of the leaf");
  std::fill(rows_.begin(), rows_.end(), std::byte{0});
  for (size_t i = 0; i < layout_->columns.size(); ++i) {
    const base::ColumnId column(static_cast<uint16_t>(i));
    base::Result<storage::PinnedColumn> pinned = leaf.pin(column);
    if (!pinned.ok()) return pinned.error();
    pinned_[i] = std::move(*pinned);
    fill(layout_->columns[i], pinned_[i].view(first, count, &buffers_[i]), count);
  }
  return {};
}

void RowAssembler::fill(const base::ColumnLayout& column, const storage::ColumnView& view,
                        uint32_t count) {
  std::byte* row = rows_.data();
  const size_t bytes = column.type.is_string() ? 0 : storage::value_bytes(column.type);
  const auto* value = static_cast<const std::byte*>(view.values);
  for (uint32_t i = 0; i < count; ++i, row += layout_->bytes) {
    if (column.nullable && view.is_null(i)) {
      row[column.null_offset] = std::byte{1};
    } else if (column.type.is_string()) {
      store_string(column, view.as<base::StringRef>()[i], row + column.offset);
    } else {
      std::memcpy(row + column.offset, value + i * bytes, bytes);
    }
  }
}

}  // namespace diptych::dispatcher
