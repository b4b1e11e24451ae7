#include "olap/execution/leaf_columns.h"

#include <algorithm>

#include "base/check.h"
#include "olap/execution/query_failure.h"

namespace diptych::olap {

LeafColumns::LeafColumns(const std::vector<base::ColumnId>& columns,
                         const std::vector<base::DataType>& types)
    : columns_(columns), buffers_(columns.size()), loaded_(columns.size()) {
  DIPTYCH_CHECK(columns.size() == types.size(), "every column has a type");
  pinned_.resize(columns.size());
  for (const base::DataType& type : types) {
    batch_.columns.emplace_back().type = physical_type(type);
  }
}

void LeafColumns::start(const storage::Leaf& leaf, uint32_t first, uint32_t rows) {
  DIPTYCH_DCHECK(first % 64 == 0, "a vector starts at a word of the live bits");
  leaf_ = &leaf;
  first_ = first;
  rows_ = rows;
  std::fill(loaded_.begin(), loaded_.end(), false);
}

void LeafColumns::unpin() {
  for (auto& column : pinned_) column.reset();
}

const storage::PinnedColumn& LeafColumns::pinned(uint32_t column) {
  if (!pinned_[column]) {
    base::Result<storage::PinnedColumn> pinned = leaf_->pin(columns_[column]);
    if (!pinned.ok()) fail_query(pinned.code(), pinned.error().message);
    pinned_[column].emplace(std::move(*pinned));
  }
  return *pinned_[column];
}

void LeafColumns::read(uint32_t column, const Selection& rows) {
  loaded_[column] = true;
  storage::DecodeBuffer& buffer = buffers_[column];
  const storage::PinnedColumn& source = pinned(column);
  std::optional<storage::ColumnView> some;
  if (!is_dense(rows)) some = source.view_some(first_, rows_, {rows.rows, rows.count}, &buffer);
  const storage::ColumnView view = some ? *some : source.view(first_, rows_, &buffer);
  DIPTYCH_DCHECK(view.count >= rows_, "a leaf gives the values that were asked for");
  Vector& vector = batch_.columns[column];
  vector.values = view.values;
  vector.nulls = view.nulls;
  const bool decoded = !buffer.values.empty() && view.values == buffer.values.data();
  if (decoded && decoded_bytes_ != nullptr) {
    *decoded_bytes_ += (some ? rows.count : rows_) * physical_bytes(vector.type);
  }
  const bool stays = !decoded && source.stays();
  vector.string_life = stays ? StringLife::kQuery : StringLife::kBatch;
}

void select_live(const storage::Leaf& leaf, uint32_t first, uint32_t rows, Selection* selection) {
  if (leaf.live_rows() == leaf.row_slots()) {
    select_all(rows, selection);
  } else {
    select_bits(leaf.live_bits() + first / 64, rows, selection);
  }
}

}  // namespace diptych::olap
