// A partition beside a map of its rows, and what must hold of both.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "storage/buffered_chunk.h"
#include "storage/row_moves.h"
#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/leaf_forms.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"

namespace diptych::storage::test {

inline base::TableSchema narrow_schema() {
  base::TableSchema schema;
  schema.name = "narrow";
  schema.columns.push_back({"k", {base::TypeKind::kInt}, base::Nullability::kNotNull});
  schema.columns.push_back({"d", {base::TypeKind::kDouble}, base::Nullability::kNullable});
  schema.columns.push_back(
      {"s", {base::TypeKind::kVarchar, 0, 0, 30}, base::Nullability::kNullable});
  schema.indexes.push_back(
      {"narrow_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {base::ColumnId(0)}});
  return schema;
}

// Value i of the view is the row's.
inline bool holds_cell(const ColumnView& view, uint32_t i, const base::ColumnLayout& layout,
                       const std::byte* row) {
  if (view.is_null(i) || base::is_null_cell(layout, row)) {
    return view.is_null(i) == base::is_null_cell(layout, row);
  }
  if (layout.type.is_string()) {
    return view.as<base::StringRef>()[i].view() == base::load_string(layout, row);
  }
  const size_t bytes = value_bytes(layout.type);
  const auto* const value = static_cast<const std::byte*>(view.values) + i * bytes;
  return std::memcmp(value, row + layout.offset, bytes) == 0;
}

class PartitionModel final : private RowMoves {
 public:
  struct Row {
    base::RowId row_id;
    TestRow row;
  };

  PartitionModel(const base::TableSchema& schema, BlockForm blocks, uint64_t seed,
                 uint32_t block_rows = kBlockRowsDefault)
      : PartitionModel(schema, nullptr, seed) {
    own_ = std::make_unique<Partition>(schema_,
                                       StorageOptions{.blocks = blocks, .block_rows = block_rows});
    partition_ = own_.get();
  }
  // Of a partition that outlives it, unless set_partition() follows.
  PartitionModel(const base::TableSchema& schema, Partition* partition, uint64_t seed)
      : schema_(schema),
        layout_(schema_),
        random_(layout_, seed),
        record_(layout_),
        partition_(partition),
        changes_(schema_.columns.size()) {
    random_.allow_nan();
  }

  // From now on, compaction may move rows, of the partition that it is now.
  void follow_moves() { partition_->tell_moves(this); }

  Partition& partition() { return *partition_; }
  // The same rows in another partition, which is expected to have them.
  void set_partition(Partition* partition) {
    partition_ = partition;
    for (uint16_t c = 0; c < changes_.size(); ++c) {
      changes_[c] = partition->changes(base::ColumnId(c));
    }
  }
  RandomRows& random() { return random_; }
  const std::map<uint32_t, Row>& rows() const { return rows_; }
  const base::RowLayout& layout() const { return layout_; }
  // Of the columns of the leaves that were compared.
  const LeafForms& forms() const { return forms_; }

  uint32_t insert() { return insert(random_.row()); }
  uint32_t insert(const TestRow& row) {
    record_.encode(row);
    const base::RowId row_id(random_.random()());
    const uint32_t ordinal =
        test::insert_row(*partition_, row_id, record_.row(), record_.strings_base());
    count_row();
    EXPECT_TRUE(rows_.emplace(ordinal, Row{row_id, row}).second) << "ordinal " << ordinal;
    places_[row_id.value] = ordinal;
    return ordinal;
  }
  // A block's rows at once. False: the partition takes no block.
  bool append_block() {
    std::vector<TestRow> rows;
    std::vector<NewRow> given;
    const uint32_t block_rows = partition_->block_rows();
    for (uint32_t i = 0; i < block_rows; ++i) rows.push_back(random_.row());
    for (const TestRow& row : rows) {
      given.push_back({base::RowId(random_.random()()), row.bytes(), nullptr});
    }
    const std::optional<uint32_t> first = partition_->append_block(given);
    if (!first) return false;
    for (uint32_t i = 0; i < block_rows; ++i) {
      rows_.emplace(*first + i, Row{given[i].row_id, std::move(rows[i])});
      places_[given[i].row_id.value] = *first + i;
      count_row();
    }
    return true;
  }
  uint32_t any_ordinal() {
    const auto found =
        rows_.lower_bound(static_cast<uint32_t>(random_.below(rows_.rbegin()->first + 1)));
    return found->first;
  }
  void update(uint32_t ordinal, base::ColumnId column) {
    update(ordinal, column, random_.value(column));
  }
  void update(uint32_t ordinal, base::ColumnId column, base::Value value) {
    TestRow& row = rows_.at(ordinal).row;
    row.set(column, std::move(value));
    record_.encode(row);
    partition_->prefetch_erase(ordinal);
    partition_->prefetch({&ordinal, 1}, {&column, 1});
    test::update_cell(*partition_, ordinal, column, record_.cell(column), record_.strings_base());
    ++changes_[column.value];
  }
  // Of many rows of one block, together.
  void update(std::span<const uint32_t> ordinals, base::ColumnId column,
              std::span<const base::Value> values) {
    std::vector<RecordRow> records(ordinals.size(), RecordRow(layout_));
    std::vector<const std::byte*> bytes;
    for (size_t i = 0; i < ordinals.size(); ++i) {
      TestRow& row = rows_.at(ordinals[i]).row;
      row.set(column, values[i]);
      records[i].encode(row);
      bytes.push_back(records[i].row());
      ++changes_[column.value];
    }
    partition_->note_writes(ordinals);
    partition_->update(ordinals, column, bytes, layout_.column(column).offset);
  }
  void erase(uint32_t ordinal) {
    partition_->erase(ordinal);
    places_.erase(rows_.at(ordinal).row_id.value);
    rows_.erase(ordinal);
    count_row();
  }

  // Every row is there with its values, in leaves whose counts (L1) and summaries (L3) are true;
  // all changes were counted.
  void expect_agreement() const {
    expect_agreement(*partition_, rows_);
    for (uint16_t c = 0; c < changes_.size(); ++c) {
      ASSERT_EQ(partition_->changes(base::ColumnId(c)), changes_[c]) << "column " << c;
    }
  }
  // The same of a snapshot, and of what the rows were.
  void expect_agreement(const Partition& partition, const std::map<uint32_t, Row>& rows) const {
    ASSERT_EQ(partition.live_rows(), rows.size());
    auto row = rows.begin();
    uint32_t next = 0;
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const Leaf& leaf = partition.leaf(l);
      count_forms(leaf, schema_.columns.size(), &forms_);
      ASSERT_EQ(leaf.first_ordinal(), next);
      ASSERT_EQ(next % 64, 0U);
      next += leaf.row_slots();
      const auto end = rows.lower_bound(next);
      ASSERT_EQ(std::distance(row, end), leaf.live_rows());
      for (size_t c = 0; c < schema_.columns.size(); ++c) {
        ASSERT_NO_FATAL_FAILURE(
            expect_column(partition, leaf, base::ColumnId(static_cast<uint16_t>(c)), row, end));
      }
      row = end;
    }
    ASSERT_TRUE(row == rows.end());
  }

 private:
  using Place = std::map<uint32_t, Row>::const_iterator;

  void row_moved(base::RowId row_id, uint32_t ordinal) noexcept override {
    uint32_t& place = places_.at(row_id.value);
    auto moved = rows_.extract(place);
    moved.key() = place = ordinal;
    DIPTYCH_CHECK(rows_.insert(std::move(moved)).inserted, "a row moves to where none lives");
    count_row();  // as one that goes, and one that comes
    count_row();
  }
  void count_row() {
    for (uint64_t& changes : changes_) ++changes;
  }
  void expect_column(const Partition& partition, const Leaf& leaf, base::ColumnId column, Place row,
                     Place end) const {
    const ColumnSummary summary = leaf.summary(column);
    DecodeBuffer buffer;
    const PinnedColumn values = value_or_throw(leaf.pin(column));
    const ColumnView view = values.view(0, leaf.row_slots(), &buffer);
    DecodeBuffer id_buffer;
    const PinnedColumn row_ids = value_or_throw(leaf.pin_row_ids());
    const auto* const ids = row_ids.view(0, leaf.row_slots(), &id_buffer).as<base::RowId>();
    for (; row != end; ++row) {
      const base::RowId id = ids[row->first - leaf.first_ordinal()];
      if (id == row->second.row_id && agrees(partition, leaf, view, summary, column, *row)) {
        continue;
      }
      FAIL() << "ordinal " << row->first << " column " << schema_.columns[column.value].name;
    }
  }
  bool agrees(const Partition& partition, const Leaf& leaf, const ColumnView& view,
              const ColumnSummary& summary, base::ColumnId column,
              const std::pair<const uint32_t, Row>& row) const {
    const base::ColumnLayout& layout = layout_.column(column);
    const uint32_t i = row.first - leaf.first_ordinal();
    const std::byte* const cells = row.second.row.bytes();
    uint32_t position;
    if (!leaf.lives(i)) return false;
    if (&partition.leaf_of(row.first, &position) != &leaf || position != i) return false;
    if (row.first % 64 == 0) {
      const base::Value value = partition.value(row.first, column);
      const auto* const number = std::get_if<double>(&value);
      const bool is_nan = number != nullptr && std::isnan(*number);
      if (!is_nan && value != row.second.row.values()[column.value]) return false;
    }
    if (!holds_cell(view, i, layout, cells)) return false;
    if (view.is_null(i)) return summary.has_null;
    return !summary.known || covers(summary, layout.type, cells + layout.offset);
  }
  static bool covers(const ColumnSummary& summary, const base::DataType& type,
                     const std::byte* value) {
    if (type.kind == base::TypeKind::kDouble) {
      double number;
      std::memcpy(&number, value, sizeof number);
      return summary.min_double <= number && number <= summary.max_double;
    }
    int64_t number = 0;
    int32_t narrow;
    std::memcpy(&narrow, value, sizeof narrow);
    if (value_bytes(type) == sizeof narrow) number = narrow;
    if (value_bytes(type) == sizeof number) std::memcpy(&number, value, sizeof number);
    return summary.min <= number && number <= summary.max;
  }

  base::TableSchema schema_;
  base::RowLayout layout_;
  RandomRows random_;
  RecordRow record_;
  std::unique_ptr<Partition> own_;
  Partition* partition_;
  std::map<uint32_t, Row> rows_;
  std::unordered_map<uint64_t, uint32_t> places_;  // of their RowIDs
  std::vector<uint64_t> changes_;                  // by ColumnId
  mutable LeafForms forms_;
};

}  // namespace diptych::storage::test
