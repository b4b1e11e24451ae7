#include "oltp/table_replay.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/alignment.h"
#include "oltp/row_fetch.h"

namespace diptych::oltp {
namespace {

using propagation::UpdateRecord;
using propagation::UpdateType;

base::Error does_not_fit(const Table& table, base::RowId row_id, base::Vid vid,
                         std::string_view why) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("table \"{}\", the update of row {} under VID {}: {}", table.schema->name,
                      row_id.value, vid.value, why)};
}

bool is_live(const RowSlot& slot) {
  // relaxed: nobody else is at the table.
  return (slot.word.load(std::memory_order_relaxed) & kLive) != 0;
}

// Calls visit(RowId) for the record's rows, until it gives an error.
template <class Visit>
base::Result<void> for_each_row(const UpdateRecord& record, const Visit& visit) {
  for (uint32_t i = 0; i < record.rows(); ++i) {
    if (auto visited = visit(base::RowId(record.row_id.value + i)); !visited) return visited;
  }
  return {};
}

// Of a long string's cell in the record; empty where it is null.
base::Text string_of(const UpdateRecord& record, const base::ColumnLayout& column,
                     const std::byte* cell) {
  const bool null = column.nullable && cell[column.null_offset - column.offset] != std::byte{0};
  return null ? base::Text() : base::Text(propagation::long_string(record, cell));
}

// Of a row's slot, those that have these bytes of the row; beyond the 64th, none.
SlotLines lines_of_bytes(size_t offset, size_t bytes) {
  const size_t first = std::min<size_t>((sizeof(RowSlot) + offset) / base::kLineBytes, 63);
  const size_t last =
      std::min<size_t>((sizeof(RowSlot) + offset + bytes - 1) / base::kLineBytes, 63);
  return (~SlotLines{0} >> (63 - (last - first))) << first;
}

}  // namespace

TableReplay::TableReplay(EngineCore* core, Table* table, Worker* worker)
    : core_(core), table_(table), worker_(worker) {
  for (const auto& index : table->indexes) {
    const auto covered = [&](base::ColumnId column) { return index->encoder.covers(column); };
    const auto& strings = table->layout.long_strings;
    if (index->by_hash != nullptr && std::none_of(strings.begin(), strings.end(), covered)) {
      fetched_indexes_.push_back(index.get());
    }
  }
}

void TableReplay::fetch(const UpdateRecord& record) const {
  const base::RowLayout& layout = table_->layout;
  SlotLines lines = 1;  // the version's word
  if (record.type == UpdateType::kUpdate) {
    for (const base::ColumnId id : record.columns()) {
      lines |= lines_of_bytes(layout.column(id).offset, layout.column(id).bytes);
    }
  } else {
    lines |= lines_of_bytes(0, layout.bytes);
  }
  lines = lines_in(*table_, lines);
  for (uint32_t i = 0; i < std::min(record.rows(), kRowsFetched); ++i) {
    fetch_lines(*table_, table_->rows.slot(base::RowId(record.row_id.value + i)), lines);
  }
  if (record.type != UpdateType::kInsert) return;
  for (const TableIndex* const index : fetched_indexes_) {
    base::Key key;
    index->encoder.encode(record.body(), &key);
    if (!key.ok()) continue;
    HashIndex::fetch(index->by_hash->place_of(key_hash(key.bytes())));
  }
}

base::Result<void> TableReplay::apply_record(const UpdateRecord& record) {
  auto applied =
      for_each_row(record, [&](base::RowId row_id) { return apply_to_row(record, row_id); });
  if (applied && core_->options.export_updates) worker_->updates_of(*table_).append_copy(record);
  return applied;
}

base::Result<void> TableReplay::apply_to_row(const UpdateRecord& record, base::RowId row_id) {
  RowSlot& slot = table_->rows.slot(row_id);
  // relaxed: nobody else is at the table.
  const uint64_t word = slot.word.load(std::memory_order_relaxed);
  const bool inserts = record.type == UpdateType::kInsert;
  if (inserts ? word != 0 : (word & kLive) == 0) {
    return does_not_fit(*table_, row_id, record.vid,
                        inserts ? "there is a row already" : "there is no such row");
  }
  if (inserts) return apply_insert(record, &slot);
  if (record.type != UpdateType::kDelete) return apply_cells(record, row_id, &slot);
  apply_delete(row_id, record.vid, &slot);
  return {};
}

void TableReplay::apply_delete(base::RowId row_id, base::Vid vid, RowSlot* slot) {
  worker_->retire_strings(*table_, slot->row());
  worker_->dead_.add_row(table_, slot, row_id, true);
  --worker_->tables_.touch(*table_).row_count_change;
  slot->set_words(table_->layout.group_count, erased_word(vid));
}

base::Result<void> TableReplay::apply_insert(const UpdateRecord& record, RowSlot* slot) {
  const base::RowLayout& layout = table_->layout;
  row_.assign(record.body(), record.body() + layout.bytes);
  for (const base::ColumnId id : layout.long_strings) {
    const base::ColumnLayout& column = layout.column(id);
    const base::Text text = string_of(record, column, record.body() + column.offset);
    std::memcpy(row_.data() + column.offset, &text, sizeof text);
  }
  if (auto fits = table_->check_strings(row_.data(), table_->bounded_strings); !fits) {
    return does_not_fit(*table_, record.row_id, record.vid, fits.error().message);
  }
  worker_->fill_slot(*table_, slot, row_.data());
  worker_->string_changes_.clear();
  slot->set_words(layout.group_count, live_word(record.vid));
  ++worker_->tables_.touch(*table_).row_count_change;
  for (const auto& index : table_->indexes) {
    base::Key key;
    index->encoder.encode(slot->row(), &key);
    if (!key.ok()) {
      return does_not_fit(*table_, record.row_id, record.vid, index->key_too_long().message);
    }
    insert_key(index.get(), key, record.row_id);
  }
  return {};
}

base::Result<void> TableReplay::apply_cells(const UpdateRecord& record, base::RowId row_id,
                                            RowSlot* slot) {
  const base::RowLayout& layout = table_->layout;
  columns_.assign(record.columns().begin(), record.columns().end());
  const std::byte* cell = record.cells();
  if (record.type == UpdateType::kReplace) {
    columns_.clear();
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      columns_.emplace_back(static_cast<uint16_t>(i));
    }
  }
  old_keys_.clear();
  for (const auto& index : table_->indexes) {
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
  if (auto fits = table_->check_strings(slot->row(), columns_); !fits) {
    return does_not_fit(*table_, row_id, record.vid, fits.error().message);
  }
  slot->set_words(layout.group_count, live_word(record.vid));
  return apply_keys(row_id, record.vid, slot->row());
}

base::Result<void> TableReplay::apply_keys(base::RowId row_id, base::Vid vid,
                                           const std::byte* row) {
  for (const OldKey& old : old_keys_) {
    base::Key key;
    old.index->encoder.encode(row, &key);
    if (!key.ok()) return does_not_fit(*table_, row_id, vid, old.index->key_too_long().message);
    if (key.bytes() == old.key.bytes()) continue;
    insert_key(old.index, key, row_id);
    // Dropped at the boundary, if the row does not have that key again by then.
    worker_->dead_.add_key({old.index, row_id, std::string(old.key.bytes()), false});
  }
  return {};
}

void TableReplay::insert_key(TableIndex* index, const base::Key& key, base::RowId row_id) {
  if (!index->unique) {
    index->index->insert(key.bytes(), row_id, nullptr);
    return;
  }
  const auto note = [&](base::RowId other) {
    const RowSlot& slot = table_->rows.slot(other);
    if (is_live(slot) && index->encoder.matches(slot.row(), key.bytes())) {
      shared_keys_.push_back({index, row_id, other});
    }
    return KeyVerdict::kFree;
  };
  const UniquenessCheck check(note);
  index->index->insert(key.bytes(), row_id, &check);
}

base::Result<void> TableReplay::check_shared_keys(base::Vid vid) {
  for (const SharedKey& shared : shared_keys_) {
    const RowSlot& slot = table_->rows.slot(shared.row_id);
    const bool both_live = is_live(slot) && is_live(table_->rows.slot(shared.other));
    if (!both_live || !shared.index->share_key(shared.row_id, shared.other)) continue;
    return does_not_fit(*table_, shared.row_id, vid,
                        fmt::format("{} by row {}", shared.index->key_taken(slot.row()).message,
                                    shared.other.value));
  }
  shared_keys_.clear();
  return {};
}

base::Result<void> TableReplay::gather(const propagation::BatchRuns& batch) {
  const size_t begin = records_.size();
  size_t count = 0;
  for (const propagation::RecordRun& run : batch.runs) {
    if (run.table != table_->schema->id) continue;
    ++count;
    propagation::for_each_record(run.records,
                                 [&](const UpdateRecord& record) { records_.push_back(&record); });
  }
  const auto first = records_.begin() + static_cast<std::ptrdiff_t>(begin);
  // A run is one worker's, in the order of its commits. A transaction is in one run of a table.
  if (count > 1) {
    std::stable_sort(first, records_.end(),
                     [](const UpdateRecord* a, const UpdateRecord* b) { return a->vid < b->vid; });
  }
  for (auto each = first; each != records_.end(); ++each) {
    const UpdateRecord& record = **each;
    if (auto checked = propagation::check_record(record, table_->layout); !checked) {
      return checked.error().within(fmt::format("table \"{}\"", table_->schema->name));
    }
    auto covered = for_each_row(record, [&](base::RowId row_id) -> base::Result<void> {
      if (row_id.value >= RowTable::kSlotsMax) {
        return does_not_fit(*table_, row_id, record.vid, "no row has such an id");
      }
      table_->rows.cover_one(row_id);
      return {};
    });
    if (!covered) return covered;
  }
  if (records_.size() != begin) batch_ends_.push_back(records_.size());
  return {};
}

base::Result<void> TableReplay::apply(std::span<const propagation::BatchRuns> batches) {
  worker_->touch(*table_);
  for (const propagation::BatchRuns& batch : batches) {
    if (auto gathered = gather(batch); !gathered) return gathered;
  }
  for (size_t i = 0; i < std::min(kRecordsAhead, records_.size()); ++i) fetch(*records_[i]);
  size_t next = 0;
  for (const size_t end : batch_ends_) {
    for (; next < end; ++next) {
      if (next + kRecordsAhead < records_.size()) fetch(*records_[next + kRecordsAhead]);
      const base::Vid vid = records_[next]->vid;
      if (auto applied = apply_record(*records_[next]); !applied) return applied;
      if (next + 1 != end && records_[next + 1]->vid == vid) continue;
      if (auto unique = check_shared_keys(vid); !unique) return unique;
    }
    worker_->drop_dead_entries();
    worker_->bury_dead_rows();
  }
  return {};
}

}  // namespace diptych::oltp
