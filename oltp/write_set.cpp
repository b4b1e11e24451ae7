// The worker's side of a transaction's writes: owned versions and their index entries.

#include <algorithm>

#include "base/check.h"
#include "oltp/worker.h"

namespace diptych::oltp {

Version* Worker::copy_version(const Table& table, const std::byte* row) {
  const size_t string_bytes = table.long_string_bytes(row);
  Version* const version = memory_.allocate(table.layout.bytes + string_bytes);
  version->kind = VersionKind::kRow;
  table.copy_row(row, version->row(), version->row() + table.layout.bytes);
  return version;
}

Write& Worker::add_write(Table* table, RowTable::Slot* slot, base::RowId row_id, Version* version,
                         Version* previous, WriteKind kind) {
  version->write_index = static_cast<uint32_t>(writes_.size());
  const auto columns = static_cast<uint32_t>(column_words_.size());
  column_words_.resize(column_words_.size() + table->column_words, 0);
  return writes_.emplace_back(Write{table, slot, row_id, version, previous, columns, kind, false});
}

Write* Worker::find_write(const RowHandle& handle) {
  Table& table = core_->table(handle.table);
  // acquire: pairs with the stores that publish versions; the check looks into whatever is there.
  Version* const head = table.rows.slot(handle.row_id).load(std::memory_order_acquire);
  // relaxed: an owned version is this thread's own (W1).
  const bool owned = head != nullptr && head->begin.load(std::memory_order_relaxed) == own_tag_;
  return owned && head->kind == VersionKind::kRow ? &writes_[head->write_index] : nullptr;
}

void Worker::replace_version(Write* write) {
  Version* const old = write->version;
  Version* const fresh = copy_version(*write->table, old->row());
  // relaxed: published by the store to the slot.
  fresh->begin.store(own_tag_, std::memory_order_relaxed);
  fresh->previous = write->previous;
  fresh->write_index = old->write_index;
  // release: who meets the version sees that it is owned, and what is under it.
  write->slot->store(fresh, std::memory_order_release);
  write->version = fresh;
  memory_.retire(old);
}

KeyVerdict Worker::key_verdict(const TableIndex& index, std::string_view key, base::RowId row_id,
                               base::Vid read_vid) const {
  // acquire: pairs with the stores that publish versions.
  const Version* head = index.table->rows.slot(row_id).load(std::memory_order_acquire);
  if (head == nullptr) return KeyVerdict::kFree;
  // acquire: pairs with the release in commit (V1).
  const uint64_t begin = head->begin.load(std::memory_order_acquire);
  if (begin != own_tag_ && ((begin & kOwned) != 0 || begin > read_vid.value)) {
    return KeyVerdict::kConflict;
  }
  if (head->kind == VersionKind::kTombstone) return KeyVerdict::kFree;
  base::Key present;
  index.encoder.encode(head->row(), &present);
  return present.bytes() == key ? KeyVerdict::kTaken : KeyVerdict::kFree;
}

IndexInsert Worker::insert_entry(TableIndex* index, const base::Key& key, base::RowId row_id,
                                 base::Vid read_vid) {
  if (!index->unique) return index->index->insert(key.bytes(), row_id, nullptr);
  const auto verdict = [&](base::RowId other) {
    return key_verdict(*index, key.bytes(), other, read_vid);
  };
  const UniquenessCheck check(verdict);
  return index->index->insert(key.bytes(), row_id, &check);
}

void Worker::log_keys(Write* write) {
  write->keys_logged = true;
  for (const auto& index : write->table->indexes) {
    if (index->primary) continue;
    base::Key key;
    index->encoder.encode(write->version->row(), &key);
    key_changes_.push_back({index.get(), write->row_id, std::string(key.bytes()), true});
  }
}

std::string_view Worker::current_key(const TableIndex& index, const Write& write,
                                     base::Key* key) const {
  for (size_t i = key_changes_.size(); i-- > 0;) {
    const KeyChange& change = key_changes_[i];
    if (change.index == &index && change.row_id == write.row_id) return change.key;
  }
  DIPTYCH_CHECK(write.previous != nullptr, "an inserted row's keys are logged before it changes");
  index.encoder.encode(write.previous->row(), key);
  return key->bytes();
}

base::Result<void> Worker::update_keys(const Write& write, std::span<const base::ColumnId> columns,
                                       base::Vid read_vid) {
  for (const auto& owned : write.table->indexes) {
    TableIndex& index = *owned;
    const auto covered = [&](base::ColumnId column) { return index.encoder.covers(column); };
    if (std::none_of(columns.begin(), columns.end(), covered)) continue;
    base::Key key;
    index.encoder.encode(write.version->row(), &key);
    if (!key.ok()) return index.key_too_long();
    base::Key old_key;
    const std::string old_bytes(current_key(index, write, &old_key));
    if (key.bytes() == old_bytes) continue;
    // relaxed: who meets the new entry, or the row's new version by the old entry, got there
    // through the index's lock or the commit's VID, and so sees this store too.
    index.rekeyed.store(true, std::memory_order_relaxed);
    const IndexInsert inserted = insert_entry(&index, key, write.row_id, read_vid);
    if (inserted == IndexInsert::kTaken) return index.key_taken(write.version->row());
    if (inserted == IndexInsert::kConflict) return base::ErrorCode::kConflict;
    key_changes_.push_back({&index, write.row_id, old_bytes, false});
    key_changes_.push_back(
        {&index, write.row_id, std::string(key.bytes()), inserted == IndexInsert::kInserted});
  }
  return {};
}

void Worker::erase_inserted_entries(const Write& write, size_t index_count) {
  for (size_t i = 0; i < index_count; ++i) {
    TableIndex& index = *write.table->indexes[i];
    if (!index.primary && write.keys_logged) continue;  // key_changes_ has them
    base::Key key;
    index.encoder.encode(write.version->row(), &key);
    index.index->erase(key.bytes(), write.row_id);
  }
}

void Worker::undo_insert(size_t index_count) {
  const Write& write = writes_.back();
  erase_inserted_entries(write, index_count);
  // release: the slot is dead; nobody was given its version.
  write.slot->store(nullptr, std::memory_order_release);
  dead_rows_.push_back({write.table, write.slot, write.row_id, nullptr});
  memory_.retire(write.version);
  column_words_.resize(write.columns);
  writes_.pop_back();
}

base::Result<base::RowId> Worker::load_row(Table* table, const std::byte* row, base::Vid vid) {
  if (auto fits = table->check_strings(row, table->bounded_strings); !fits) return fits.error();
  const base::RowId row_id = tables_[table->schema->id.value].slots.allocate(&table->rows);
  if (auto put = put_row(table, row_id, row, vid); !put) {
    tables_[table->schema->id.value].slots.retire(row_id);
    return put.error();
  }
  if (core_->options.export_updates) {
    updates_of(*table).append_insert(vid, row_id, table->layout, row);
  }
  return row_id;
}

base::Result<void> Worker::put_row(Table* table, base::RowId row_id, const std::byte* row,
                                   base::Vid vid) {
  RowTable::Slot& slot = table->rows.slot(row_id);
  Version* const version = copy_version(*table, row);
  version->previous = nullptr;
  // relaxed: the leader alone runs, between batches, here and below.
  version->begin.store(vid.value, std::memory_order_relaxed);
  slot.store(version, std::memory_order_relaxed);
  for (size_t i = 0; i < table->indexes.size(); ++i) {
    TableIndex& index = *table->indexes[i];
    base::Key key;
    index.encoder.encode(row, &key);
    const IndexInsert inserted =
        key.ok() ? insert_entry(&index, key, row_id, vid) : IndexInsert::kConflict;
    if (inserted == IndexInsert::kInserted) continue;
    take_row(table, row_id, version, i);
    return key.ok() ? index.key_taken(row) : index.key_too_long();
  }
  ++tables_[table->schema->id.value].row_count_change;
  return {};
}

void Worker::take_row(Table* table, base::RowId row_id, Version* version, size_t index_count) {
  for (size_t i = 0; i < index_count; ++i) {
    base::Key key;
    table->indexes[i]->encoder.encode(version->row(), &key);
    table->indexes[i]->index->erase(key.bytes(), row_id);
  }
  // relaxed: the leader alone runs, between batches.
  table->rows.slot(row_id).store(nullptr, std::memory_order_relaxed);
  memory_.retire(version);
}

void Worker::unload_row(Table* table, base::RowId row_id) {
  // relaxed: the leader alone runs, between batches.
  Version* const version = table->rows.slot(row_id).load(std::memory_order_relaxed);
  take_row(table, row_id, version, table->indexes.size());
  tables_[table->schema->id.value].slots.retire(row_id);
  --tables_[table->schema->id.value].row_count_change;
}

}  // namespace diptych::oltp
