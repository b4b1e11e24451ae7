// Encodes rows as update records carry them (propagation/export/update_set.h): the pointers of long
// strings become offsets. Storage may not include propagation, so its tests have their own.

#pragma once

#include <cstring>
#include <vector>

#include "base/row_layout.h"
#include "tests/storage/every_type_table.h"

namespace diptych::storage::test {

class RecordRow {
 public:
  explicit RecordRow(const base::RowLayout& layout) : layout_(&layout) {}

  void encode(const TestRow& row) {
    bytes_.assign(row.bytes(), row.bytes() + layout_->bytes);
    for (const base::ColumnId id : layout_->long_strings) {
      const base::ColumnLayout& column = layout_->column(id);
      base::Text text;
      if (!base::is_null_cell(column, row.bytes())) {
        const std::string_view view = base::load_string(column, row.bytes());
        text.data = reinterpret_cast<const char*>(bytes_.size());
        text.size = static_cast<uint32_t>(view.size());
        const auto* const from = reinterpret_cast<const std::byte*>(view.data());
        bytes_.insert(bytes_.end(), from, from + view.size());
      }
      std::memcpy(bytes_.data() + column.offset, &text, sizeof text);
    }
  }

  const std::byte* row() const { return bytes_.data(); }
  const std::byte* cell(base::ColumnId id) const {
    return bytes_.data() + layout_->column(id).offset;
  }
  const std::byte* strings_base() const { return bytes_.data(); }

 private:
  const base::RowLayout* layout_;
  std::vector<std::byte> bytes_;
};

}  // namespace diptych::storage::test
