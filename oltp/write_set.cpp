// The worker's side of a transaction's writes: owned rows, what they were, and their index entries.

#include <algorithm>
#include <cstring>

#include "base/value.h"
#include "oltp/worker.h"

namespace diptych::oltp {

const std::byte* Worker::visible_row(const Table& table, const RowSlot& slot, base::Vid read_vid,
                                     const ColumnChoice& choice) const {
  // acquire: pairs with the releases of claims and commits.
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  const bool own = is_own(word);
  if (own && RowSlot::undo_of(word)->erased) return nullptr;
  if (is_single()) return own || (word & kLive) != 0 ? slot.row() : nullptr;
  if (table.layout.group_count > 1) {
    return reader_.read_groups(table.layout, slot, read_vid, choice, id_);
  }
  return own ? slot.row() : reader_.read(table.layout, slot, read_vid, choice);
}

Write* Worker::find_writes(const RowHandle& handle, const WriteShape& shape) {
  Write* found = nullptr;
  for (const WriteShape* const part : shape.parts) {
    found = write_of(*handle.slot, part->group);
    if (found == nullptr) return nullptr;
  }
  return found;
}

Write* Worker::find_any_write(const RowHandle& handle) {
  Write* found = nullptr;
  for (uint32_t group = 0; group < handle.table->layout.group_count && found == nullptr; ++group) {
    found = write_of(*handle.slot, group);
  }
  return found;
}

Write* Worker::erase_groups(const RowHandle& handle) {
  Write* const row = write_of(*handle.slot, 0);
  for (uint32_t group = 1; group < handle.table->layout.group_count; ++group) {
    Write* const write = write_of(*handle.slot, group);
    if (write == row) continue;  // it is an insert
    write->undo->erased = true;
    write->kind = WriteKind::kErasedGroup;
  }
  return row;
}

void Worker::fill_slot(const Table& table, RowSlot* slot, const std::byte* row) {
  std::memcpy(slot->row(), row, table.layout.bytes);
  // Memory may run out, and who takes the row back reads its cells.
  const auto set = [&](const base::ColumnLayout& column, base::Text text) {
    std::memcpy(slot->row() + column.offset, &text, sizeof text);
  };
  for (const base::ColumnId id : table.layout.long_strings) set(table.layout.column(id), {});
  for (const base::ColumnId id : table.layout.long_strings) {
    const base::ColumnLayout& column = table.layout.column(id);
    string_changes_.emplace_back();
    if (base::is_null_cell(column, row)) continue;
    string_changes_.back().after = strings_.copy(base::load_string(column, row));
    set(column, string_changes_.back().after);
  }
}

WritableRow Worker::open_row(Write* write, const WriteShape& shape) {
  RowSlot& slot = *write->slot;
  if ((shape.flags & kIndexedColumn) != 0) keep_old_keys(write, shape);
  if ((shape.flags & kLongStringColumn) != 0) keep_old_strings(*write, shape);
  // Nobody reads the bytes of an inserted row (V5), or what one worker alone is at.
  if (write->kind == WriteKind::kInsert) return {slot.row(), write, &shape};
  if (shape.parts.empty()) note_shape(write, shape);
  for (const WriteShape* const part : shape.parts) note_shape(write_of(slot, part->group), *part);
  if (is_single()) return {slot.row(), write, &shape};
  staged_row_.resize(std::max<size_t>(staged_row_.size(), (write->table->layout.bytes + 7) / 8));
  auto* const staged = reinterpret_cast<std::byte*>(staged_row_.data());
  for (const WordSpan span : shape.words) {
    std::memcpy(staged + size_t{8} * span.first, slot.row() + size_t{8} * span.first,
                size_t{8} * span.count);
  }
  return {staged, write, &shape};
}

// Images of words that have one already do no harm: the oldest is what counts.
void Worker::add_shape(Write* write, const WriteShape& shape) {
  if (write->shape->has_all_of(shape)) return;
  const WriteShape& joined = shapes_.joined(*write->shape, shape);
  keep_own_images(*write, joined.is_widened ? joined : shape);
  write->shape = &joined;
}

base::Result<void> Worker::close_row(const WritableRow& open, base::Vid read_vid) {
  Write& write = *open.write;
  const WriteShape& shape = *open.shape;
  if ((shape.flags & kBoundedStringColumn) != 0) {
    if (auto fits = write.table->check_strings(open.row, shape.columns); !fits) return fits;
  }
  if ((shape.flags & kLongStringColumn) != 0) {
    auto fits = write.table->check_long_strings(open.row, shape.columns, write.slot->row());
    if (!fits) return fits;
    copy_new_strings(open);
  }
  if (open.row != write.slot->row()) {
    const auto* const staged = reinterpret_cast<const uint64_t*>(open.row);
    for (const WordSpan span : shape.words) write.slot->show(span, staged + span.first);
  }
  if ((shape.flags & kIndexedColumn) != 0) return update_keys(write, read_vid);
  return {};
}

void Worker::keep_old_strings(const Write& write, const WriteShape& shape) {
  for (const base::ColumnId id : shape.columns) {
    if ((write.table->column_flags[id.value] & kLongStringColumn) == 0) continue;
    StringChange change;
    std::memcpy(&change.before, write.slot->row() + write.table->layout.column(id).offset,
                sizeof change.before);
    string_changes_.push_back(change);
  }
}

void Worker::copy_new_strings(const WritableRow& open) {
  const Table& table = *open.write->table;
  const std::vector<base::ColumnId>& columns = open.shape->columns;
  const auto is_long = [&](base::ColumnId id) {
    return (table.column_flags[id.value] & kLongStringColumn) != 0;
  };
  // keep_old_strings has noted as many of them, in this order.
  auto change = string_changes_.end() - std::count_if(columns.begin(), columns.end(), is_long);
  for (const base::ColumnId id : columns) {
    if (!is_long(id)) continue;
    const base::ColumnLayout& column = table.layout.column(id);
    if (!base::is_null_cell(column, open.row)) {
      change->after = strings_.copy(base::load_string(column, open.row));
    }
    std::memcpy(open.row + column.offset, &change->after, sizeof change->after);
    ++change;
  }
}

KeyVerdict Worker::key_verdict(const TableIndex& index, std::string_view key, base::RowId row_id,
                               base::Vid read_vid) const {
  const RowSlot& slot = index.table->rows.slot(row_id);
  // acquire: pairs with the releases of claims and commits.
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  // A replayed transaction met the row before that change: its snapshot decides, as it did then.
  if (!is_own(word) && !replays_ && RowSlot::is_changed(word, read_vid)) {
    return KeyVerdict::kConflict;
  }
  const std::byte* const row =
      visible_row(*index.table, slot, read_vid, {false, {}, index.schema.columns});
  if (row == nullptr) return KeyVerdict::kFree;
  return index.encoder.matches(row, key) ? KeyVerdict::kTaken : KeyVerdict::kFree;
}

// Where memory runs out in the middle of it the index is not whole: the process ends, and the log
// brings it back.
IndexInsert Worker::insert_entry(TableIndex* index, const base::Key& key, base::RowId row_id,
                                 base::Vid read_vid) noexcept {
  empty_ranges_.make_room(*index, key.bytes(), row_id);
  if (!index->unique) return index->index->insert(key.bytes(), row_id, nullptr);
  const auto verdict = [&](base::RowId other) {
    return key_verdict(*index, key.bytes(), other, read_vid);
  };
  const UniquenessCheck check(verdict);
  return index->index->insert(key.bytes(), row_id, &check);
}

void Worker::log_keys(Write* write) {
  for (const auto& index : write->table->indexes) {
    if (index->primary) continue;
    base::Key key;
    index->encoder.encode(write->slot->row(), &key);
    key_changes_.push_back({index.get(), write->row_id, std::string(key.bytes()), true});
  }
  write->keys_logged = true;
}

void Worker::keep_old_keys(Write* write, const WriteShape& shape) {
  if (write->kind == WriteKind::kInsert && !write->keys_logged) log_keys(write);
  old_keys_.clear();
  for (const auto& index : write->table->indexes) {
    const auto covered = [&](base::ColumnId column) { return index->encoder.covers(column); };
    if (std::none_of(shape.columns.begin(), shape.columns.end(), covered)) continue;
    old_keys_.push_back({index.get(), {}});
    index->encoder.encode(write->slot->row(), &old_keys_.back().key);
  }
}

base::Result<void> Worker::update_keys(const Write& write, base::Vid read_vid) {
  tables_.touch(*write.table);
  const std::byte* const row = write.slot->row();
  for (const OldKey& old : old_keys_) {
    TableIndex& index = *old.index;
    base::Key key;
    index.encoder.encode(row, &key);
    if (!key.ok()) return index.key_too_long();
    if (key.bytes() == old.key.bytes()) continue;
    // Memory may run out before the entry is there, and not between it and its note.
    if (key_changes_.capacity() < key_changes_.size() + 2) {
      key_changes_.reserve(2 * key_changes_.size() + 2);
    }
    KeyChange changes[] = {{&index, write.row_id, std::string(old.key.bytes()), false},
                           {&index, write.row_id, std::string(key.bytes()), false}};
    // relaxed: who meets the new entry, or the row's new version by the old entry, got there
    // through the index or the commit's VID, and so sees this store too.
    index.rekeyed.store(true, std::memory_order_relaxed);
    if (!is_single()) reader_.room_for(write.table->layout.bytes);  // insert_entry reads who has it
    const IndexInsert inserted = insert_entry(&index, key, write.row_id, read_vid);
    if (inserted == IndexInsert::kTaken) return index.key_taken(row);
    if (inserted == IndexInsert::kConflict) return base::ErrorCode::kConflict;
    changes[1].inserted = inserted == IndexInsert::kInserted;
    for (KeyChange& change : changes) key_changes_.push_back(std::move(change));
  }
  return {};
}

// As insert_entry.
void Worker::erase_inserted_entries(const Write& write, size_t index_count) noexcept {
  for (size_t i = 0; i < index_count; ++i) {
    TableIndex& index = *write.table->indexes[i];
    if (!index.primary && write.keys_logged) continue;  // key_changes_ has them
    base::Key key;
    index.encoder.encode(write.slot->row(), &key);
    index.index->erase(key.bytes(), write.row_id);
  }
}

void Worker::undo_insert(size_t index_count) noexcept {
  Write& write = writes_.back();
  erase_inserted_entries(write, index_count);
  write.undo->erased = true;
  write.kind = WriteKind::kInsertErased;
  // They go however the transaction ends.
  for (size_t i = write.strings; i < string_changes_.size(); ++i) {
    string_changes_[i].before = string_changes_[i].after;
  }
}

base::Result<base::RowId> Worker::load_row(Table* table, const std::byte* row, base::Vid vid) {
  if (auto fits = table->check_strings(row, table->bounded_strings); !fits) return fits.error();
  if (auto fits = table->check_long_strings(row); !fits) return fits.error();
  if (auto fits = table->check_decimals(row); !fits) return fits.error();
  // It may grow: who loads looks at the room.
  const base::RowId row_id = *tables_.touch(*table).slots.allocate(&table->rows, true);
  if (auto put = put_row(table, row_id, row, vid); !put) {
    tables_.touch(*table).slots.retire(row_id);
    return put.error();
  }
  return row_id;
}

base::Result<void> Worker::put_row(Table* table, base::RowId row_id, const std::byte* row,
                                   base::Vid vid) {
  RowSlot& slot = table->rows.slot(row_id);
  fill_slot(*table, &slot, row);
  string_changes_.clear();
  slot.set_words(table->layout.group_count, live_word(vid));
  for (size_t i = 0; i < table->indexes.size(); ++i) {
    TableIndex& index = *table->indexes[i];
    base::Key key;
    index.encoder.encode(row, &key);
    const IndexInsert inserted =
        key.ok() ? insert_entry(&index, key, row_id, vid) : IndexInsert::kConflict;
    if (inserted == IndexInsert::kInserted) continue;
    take_row(table, row_id, i);
    return key.ok() ? index.key_taken(row) : index.key_too_long();
  }
  ++tables_.touch(*table).row_count_change;
  return {};
}

void Worker::take_row(Table* table, base::RowId row_id, size_t index_count) {
  RowSlot& slot = table->rows.slot(row_id);
  for (size_t i = 0; i < index_count; ++i) {
    base::Key key;
    table->indexes[i]->encoder.encode(slot.row(), &key);
    table->indexes[i]->index->erase(key.bytes(), row_id);
  }
  retire_strings(*table, slot.row());
  slot.set_words(table->layout.group_count, 0);
}

void Worker::unload_row(Table* table, base::RowId row_id) {
  take_row(table, row_id, table->indexes.size());
  tables_.touch(*table).slots.retire(row_id);
  --tables_.touch(*table).row_count_change;
}

}  // namespace diptych::oltp
