#include "olap/execution/scan/leaf_columns.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {
void LeafReader::add(const std::vector<base::ColumnId>& columns) {
  for (const base::ColumnId column : columns) {
    columns_.resize(std::max(columns_.size(), column.value + size_t{1}));
  }
}

void LeafReader::begin(const storage::Leaf& leaf) {
  if (leaf_ == &leaf) return;
  for (Column& column : columns_) column.pinned.reset();
  leaf_ = &leaf;
}

void LeafReader::start(uint32_t first, uint32_t rows) {
  DIPTYCH_DCHECK(first % 64 == 0, "a vector starts at a word of the live bits");
  first_ = first;
  rows_ = rows;
  for (Column& column : columns_) column.is_viewed = false;
}

const storage::PinnedColumn& LeafReader::pinned(base::ColumnId column) {
  std::optional<storage::PinnedColumn>& kept = columns_[column.value].pinned;
  if (!kept) {
    base::Result<storage::PinnedColumn> pinned = leaf_->pin(column);
    if (!pinned.ok()) fail_query(pinned.code(), pinned.error().message);
    kept.emplace(std::move(*pinned));
  }
  return *kept;
}

LeafReader::Values LeafReader::all(base::ColumnId column) {
  const storage::PinnedColumn& source = pinned(column);
  Column& kept = columns_[column.value];
  const bool is_new = !kept.is_viewed;
  if (is_new) {
    kept.view = source.view(first_, rows_, &kept.buffer);
    kept.decoded = !kept.buffer.values.empty() && kept.view.values == kept.buffer.values.data();
    kept.is_viewed = true;
  }
  const TextCodes* const coded = kept.view.coded.codes == nullptr ? nullptr : &kept.view.coded;
  return {kept.view, coded, kept.decoded, is_new, kept.buffer.known_bytes()};
}

LeafColumns::LeafColumns(LeafReader* reader, const std::vector<base::ColumnId>& columns,
                         const std::vector<base::DataType>& types, MemoryBudget* memory)
    : reader_(*reader),
      columns_(columns),
      buffers_(columns.size()),
      loaded_(columns.size()),
      known_bytes_(columns.size()),
      charge_(memory, "the texts of the dictionaries that it scans") {
  DIPTYCH_CHECK(columns.size() == types.size(), "every column has a type");
  for (const base::DataType& type : types) {
    batch_.columns.emplace_back().type = physical_type(type);
  }
}

void LeafColumns::read(uint32_t column, const Selection& rows) {
  loaded_[column] = true;
  const base::ColumnId of_table = columns_[column];
  const storage::PinnedColumn& source = reader_.pinned(of_table);
  std::optional<storage::ColumnView> some;
  if (!is_dense(rows) && !reader_.has_all(of_table)) {
    some = source.view_some(reader_.first(), reader_.rows(), {rows.rows, rows.count},
                            &buffers_[column]);
  }
  const LeafReader::Values values =
      some ? LeafReader::Values{*some, nullptr, true, true, known_bytes_[column]}
           : reader_.all(of_table);
  DIPTYCH_DCHECK(values.view.count >= reader_.rows(),
                 "a leaf gives the values that were asked for");
  if (const size_t known = std::exchange(known_bytes_[column], values.known_bytes);
      known != values.known_bytes) {
    charge_.set(charge_.bytes() - known + values.known_bytes);
  }
  Vector& vector = batch_.columns[column];
  vector.values = values.view.values;
  vector.nulls = values.view.nulls;
  vector.coded = values.coded;
  if (values.decoded && values.is_new && decoded_bytes_ != nullptr) {
    *decoded_bytes_ += (some ? rows.count : reader_.rows()) * physical_bytes(vector.type);
  }
  const bool stays = !values.decoded && source.stays();
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
