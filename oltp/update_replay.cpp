#include "oltp/update_replay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/value.h"
#include "oltp/engine_state.h"

namespace diptych::oltp {
namespace {

using propagation::UpdateRecord;
using propagation::UpdateType;

base::Error does_not_fit(const Table& table, const UpdateRecord& record, std::string_view why) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("table \"{}\", the update of row {} under VID {}: {}", table.schema->name,
                      record.row_id.value, record.vid.value, why)};
}

// Of a long string's cell in the record; empty where it is null.
base::Text string_of(const UpdateRecord& record, const base::ColumnLayout& column,
                     const std::byte* cell) {
  const bool null = column.nullable && cell[column.null_offset - column.offset] != std::byte{0};
  return null ? base::Text() : base::Text(propagation::long_string(record, cell));
}

}  // namespace

base::Result<void> UpdateReplay::apply_record(Table* table, const UpdateRecord& record) {
  if (auto checked = propagation::check_record(record, table->layout); !checked) {
    return checked.error().within(fmt::format("table \"{}\"", table->schema->name));
  }
  if (record.row_id.value >= RowTable::kSlotsMax) {
    return does_not_fit(*table, record, "no row has such an id");
  }
  table->rows.cover(std::span(&record.row_id, 1));
  RowSlot& slot = table->rows.slot(record.row_id);
  // relaxed: the leader alone runs.
  const uint64_t word = slot.word.load(std::memory_order_relaxed);
  const bool inserts = record.type == UpdateType::kInsert;
  if (inserts ? word != 0 : (word & kLive) == 0) {
    return does_not_fit(*table, record,
                        inserts ? "there is a row already" : "there is no such row");
  }
  base::Result<void> applied;
  if (inserts) {
    applied = apply_insert(table, record, &slot);
  } else if (record.type == UpdateType::kDelete) {
    worker_->dead_rows_.push_back({table, &slot, record.row_id, true});
    --worker_->tables_[table->schema->id.value].row_count_change;
    slot.set_words(table->layout.group_count, erased_word(record.vid));
  } else {
    applied = apply_cells(table, record, &slot);
  }
  if (applied && core_->options.export_updates) worker_->updates_of(*table).append_copy(record);
  return applied;
}

base::Result<void> UpdateReplay::apply_insert(Table* table, const UpdateRecord& record,
                                              RowSlot* slot) {
  const base::RowLayout& layout = table->layout;
  row_.assign(record.body(), record.body() + layout.bytes);
  for (const base::ColumnId id : layout.long_strings) {
    const base::ColumnLayout& column = layout.column(id);
    const base::Text text = string_of(record, column, record.body() + column.offset);
    std::memcpy(row_.data() + column.offset, &text, sizeof text);
  }
  if (auto fits = table->check_strings(row_.data(), table->bounded_strings); !fits) {
    return does_not_fit(*table, record, fits.error().message);
  }
  worker_->fill_slot(*table, slot, row_.data());
  worker_->string_changes_.clear();
  slot->set_words(layout.group_count, live_word(record.vid));
  ++worker_->tables_[table->schema->id.value].row_count_change;
  for (const auto& index : table->indexes) {
    base::Key key;
    index->encoder.encode(slot->row(), &key);
    if (!key.ok()) return does_not_fit(*table, record, index->key_too_long().message);
    // Without a look at who has the key: who had it may give it up later in the transaction.
    index->index->insert(key.bytes(), record.row_id, nullptr);
  }
  return {};
}

base::Result<void> UpdateReplay::apply_cells(Table* table, const UpdateRecord& record,
                                             RowSlot* slot) {
  const base::RowLayout& layout = table->layout;
  columns_.assign(record.columns().begin(), record.columns().end());
  const std::byte* cell = record.cells();
  if (record.type == UpdateType::kReplace) {
    columns_.clear();
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      columns_.emplace_back(static_cast<uint16_t>(i));
    }
  }
  old_keys_.clear();
  for (const auto& index : table->indexes) {
    const auto covered = [&](base::ColumnId column) { return index->encoder.covers(column); };
    if (std::none_of(columns_.begin(), columns_.end(), covered)) continue;
    old_keys_.push_back({index.get(), {}});
    index->encoder.encode(slot->row(), &old_keys_.back().key);
  }
  for (const base::ColumnId id : columns_) {
    const base::ColumnLayout& column = layout.column(id);
    if (record.type == UpdateType::kReplace) cell = record.body() + column.offset;
    std::byte* const place = slot->row() + column.offset;
    if (column.type.is_inline()) {
      std::memcpy(place, cell, column.bytes);
    } else {
      base::Text before;
      std::memcpy(&before, place, sizeof before);
      std::memcpy(place, cell, column.bytes);
      const base::Text after = worker_->strings_.copy(string_of(record, column, cell).view());
      std::memcpy(place, &after, sizeof after);
      worker_->strings_.retire(before);
    }
    cell += column.bytes;
  }
  if (auto fits = table->check_strings(slot->row(), columns_); !fits) {
    return does_not_fit(*table, record, fits.error().message);
  }
  slot->set_words(layout.group_count, live_word(record.vid));
  return apply_keys(table, record, slot->row());
}

base::Result<void> UpdateReplay::apply_keys(Table* table, const UpdateRecord& record,
                                            const std::byte* row) {
  for (const OldKey& old : old_keys_) {
    base::Key key;
    old.index->encoder.encode(row, &key);
    if (!key.ok()) return does_not_fit(*table, record, old.index->key_too_long().message);
    if (key.bytes() == old.key.bytes()) continue;
    old.index->index->insert(key.bytes(), record.row_id, nullptr);
    // Dropped at the boundary, if the row does not have that key again by then.
    worker_->stale_keys_.push_back({old.index, record.row_id, std::string(old.key.bytes()), false});
  }
  return {};
}

base::Result<void> UpdateReplay::apply(base::TableId table,
                                       std::span<const propagation::RecordRun> runs) {
  records_.clear();
  size_t count = 0;
  for (const propagation::RecordRun& run : runs) {
    if (run.table != table) continue;
    ++count;
    propagation::for_each_record(run.records,
                                 [&](const UpdateRecord& record) { records_.push_back(&record); });
  }
  // A run is one worker's, in the order of its commits. A transaction is in one run of a table.
  if (count > 1) {
    std::stable_sort(records_.begin(), records_.end(),
                     [](const UpdateRecord* a, const UpdateRecord* b) { return a->vid < b->vid; });
  }
  for (const UpdateRecord* const record : records_) {
    if (auto applied = apply_record(&core_->table(table), *record); !applied) return applied;
  }
  return {};
}

base::Result<void> Engine::replay_updates(std::span<const propagation::RecordRun> runs,
                                          base::Vid last) {
  EngineCore& core = state_->core;
  base::Result<void> applied;
  for (const propagation::RecordRun& run : runs) {
    if (run.table.value < core.tables.size() || !applied) continue;
    applied =
        base::Error(base::ErrorCode::kCorrupt,
                    fmt::format("an update of table {}, which is not there", run.table.value));
  }
  UpdateReplay replay(&core, &state_->leader());
  for (uint32_t id = 0; id < core.tables.size() && applied; ++id) {
    applied = replay.apply(base::TableId(id), runs);
  }
  // release: pairs with the acquire at a transaction's begin (C1).
  if (applied) core.last_vid.store(last.value, std::memory_order_release);
  state_->reach_boundary();
  return applied;
}

}  // namespace diptych::oltp
