// TextReplica: a replica of rows as text, which update records and loads reach as they reach the
// real one.

#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/row_layout.h"
#include "base/schema.h"
#include "base/value.h"
#include "propagation/export/load_sink.h"
#include "propagation/export/update_queue.h"

namespace diptych::oltp::test {

using RowText = std::vector<std::string>;
using TableText = std::map<uint64_t, RowText>;  // by RowID

inline RowText text_of(const base::RowLayout& layout, const std::byte* row) {
  RowText text;
  for (const base::ColumnLayout& column : layout.columns) {
    text.push_back(base::to_string(base::load_value(column, row)));
  }
  return text;
}

// What a replica would hold: the records in VID order, each checked to fit what is there.
class TextReplica {
 public:
  explicit TextReplica(const base::Catalog* catalog) : tables_(catalog->table_count()) {
    for (const base::TableSchema& table : catalog->tables()) layouts_.emplace_back(table);
  }

  void apply(propagation::UpdateQueue* queue) {
    propagation::CollectedSets collected = queue->collect();
    std::vector<std::pair<const propagation::UpdateRecord*, uint32_t>> records;
    for (const propagation::SealedSet& set : collected.sets) {
      set.updates->for_each([&](const propagation::UpdateRecord& record) {
        EXPECT_LE(record.vid, collected.snapshot);
        EXPECT_GT(record.vid, snapshot_);
        records.emplace_back(&record, set.table.value);
      });
    }
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.first->vid < b.first->vid; });
    for (const auto& [record, table] : records) {
      for (uint32_t i = 0; i < record->rows(); ++i) {
        apply_to_row(*record, record->row_id.value + i, table);
      }
    }
    if (collected.snapshot > snapshot_) snapshot_ = collected.snapshot;
    queue->recycle(std::move(collected.sets));
  }

  // A row that was loaded, and one whose load was taken back.
  void insert(uint32_t table, const propagation::LoadedRow& loaded) {
    RowText& row = tables_[table][loaded.row_id.value];
    EXPECT_TRUE(row.empty()) << "insert of a row that is there";
    row = text_of(layouts_[table], loaded.row);
  }
  bool erase(uint32_t table, base::RowId row_id) { return tables_[table].erase(row_id.value) != 0; }

  const TableText& table(uint32_t id) const { return tables_[id]; }
  base::Vid snapshot() const { return snapshot_; }
  // Since the last look: "insert", "update name,note", "delete", one a row that a record has.
  std::vector<std::string> take_log() { return std::exchange(log_, {}); }

 private:
  void apply_to_row(const propagation::UpdateRecord& record, uint64_t row_id, uint32_t table) {
    using propagation::UpdateType;
    const base::RowLayout& layout = layouts_[table];
    TableText& rows = tables_[table];
    const bool present = rows.contains(row_id);
    if (record.type == UpdateType::kInsert) {
      EXPECT_FALSE(present) << "insert of a row that is there";
      rows[row_id] = RowText(layout.columns.size());
      for (size_t i = 0; i < layout.columns.size(); ++i) {
        set_cell(record, row_id, table, i, record.body() + layout.columns[i].offset);
      }
      log_.push_back("insert");
      return;
    }
    EXPECT_TRUE(present) << "change of a row that is not there";
    if (record.type == UpdateType::kDelete) {
      rows.erase(row_id);
      log_.push_back("delete");
      return;
    }
    EXPECT_EQ(record.type, UpdateType::kUpdate);
    std::string line = "update";
    const std::byte* cell = record.cells();
    for (const base::ColumnId column : record.columns()) {
      set_cell(record, row_id, table, column.value, cell);
      line += " " + std::to_string(column.value);
      cell += layout.column(column).bytes;
    }
    log_.push_back(line);
  }

  void set_cell(const propagation::UpdateRecord& record, uint64_t row_id, uint32_t table,
                size_t column, const std::byte* cell) {
    const base::RowLayout& layout = layouts_[table];
    const base::ColumnLayout& cell_layout = layout.columns[column];
    std::vector<std::byte> row(layout.bytes);
    std::memcpy(row.data() + cell_layout.offset, cell, cell_layout.bytes);
    if (!cell_layout.type.is_inline() && !base::is_null_cell(cell_layout, row.data())) {
      const base::Text text(propagation::long_string(record, cell));
      std::memcpy(row.data() + cell_layout.offset, &text, sizeof text);
    }
    tables_[table][row_id][column] = base::to_string(base::load_value(cell_layout, row.data()));
  }

  std::vector<base::RowLayout> layouts_;
  std::vector<TableText> tables_;
  base::Vid snapshot_;
  std::vector<std::string> log_;
};

// The sink of a load into a TextReplica.
class LoadIntoTextReplica final : public propagation::LoadSink {
 public:
  LoadIntoTextReplica(TextReplica* replica, base::TableId table)
      : replica_(replica), table_(table.value) {}

  void take(std::span<const propagation::LoadedRow> rows) override {
    for (const propagation::LoadedRow& row : rows) replica_->insert(table_, row);
    taken_ += rows.size();
  }
  void discard(const propagation::RowIdRuns& loaded) override {
    EXPECT_GE(loaded.size(), taken_);
    uint64_t erased = 0;
    loaded.for_each([&](base::RowId row_id) { erased += replica_->erase(table_, row_id) ? 1 : 0; });
    EXPECT_EQ(erased, taken_);
    discarded_ = true;
  }
  uint64_t taken() const { return taken_; }
  bool discarded() const { return discarded_; }

 private:
  TextReplica* replica_;
  uint32_t table_;
  uint64_t taken_ = 0;
  bool discarded_ = false;
};

}  // namespace diptych::oltp::test
