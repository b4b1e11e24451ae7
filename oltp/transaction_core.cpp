#include "oltp/transaction_core.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/split_mix.h"
#include "oltp/row_fetch.h"
#include "oltp/worker.h"

namespace diptych::oltp {

const base::Error& TransactionCore::fail(base::Error failure) {
  if (!failed()) failure_ = std::make_unique<const base::Error>(std::move(failure));
  operations_left_ = 0;
  return *failure_;
}

void TransactionCore::run_out() {
  if (failed()) return;
  fail(
      {base::ErrorCode::kInvalidArgument,
       fmt::format("procedure \"{}\" did more than {} operations on rows in one transaction, which "
                   "is the limit (operations_max)",
                   worker_->running_name(), worker_->core_->options.operations_max)});
}

const base::Error& TransactionCore::misuse(base::TableId table, std::string_view what) {
  const base::TableSchema& schema = *worker_->core_->table(table).schema;
  return fail(
      {base::ErrorCode::kInvalidArgument, fmt::format("procedure \"{}\", table \"{}\": {}",
                                                      worker_->running_name(), schema.name, what)});
}

const base::Error* TransactionCore::check_handle(const RowHandle& handle, uint64_t names_hash) {
  if (handle.transaction != stamp_) {
    return &fail({base::ErrorCode::kInvalidArgument,
                  fmt::format("procedure \"{}\": a row handle is used in the transaction that got "
                              "it, and this one has not got it",
                              worker_->running_name())});
  }
  if (worker_->core_->table(handle.table).names_hash == names_hash) return nullptr;
  return &misuse(handle.table, "a row handle is used with its own table's struct, not another's");
}

Write* TransactionCore::own_write(const RowHandle& handle) {
  if (!begin_operation()) return nullptr;
  Write* const write = worker_->find_write(handle);
  if (write == nullptr) {
    misuse(handle.table,
           "a row is written after this transaction has claimed or inserted it, and before it "
           "erases it");
  }
  return write;
}

uint64_t TransactionCore::random() {
  return base::split_mix(random_state_ += base::kSplitMixStep);
}

template <class HasKey>
const std::byte* TransactionCore::visible_row(const TableIndex& index, base::RowId row_id,
                                              const ColumnChoice& choice,
                                              const HasKey& has_key) const {
  const RowSlot& slot = index.table->rows.slot(row_id);
  // relaxed: see update_keys.
  const bool exact =
      !index.by_hash && (index.primary || !index.rekeyed.load(std::memory_order_relaxed));
  if (exact) return worker_->visible_row(*index.table, slot, read_vid_, choice);
  ColumnChoice with_key = choice;
  with_key.also = index.schema.columns;
  const std::byte* const row = worker_->visible_row(*index.table, slot, read_vid_, with_key);
  return row != nullptr && has_key(row) ? row : nullptr;
}

base::Result<TransactionCore::Found> TransactionCore::find_unique(base::TableId table,
                                                                  base::IndexId index_id,
                                                                  const base::Key& key,
                                                                  const ColumnChoice& choice) {
  if (!begin_operation()) return *failure_;
  const TableIndex& index = worker_->core_->index(index_id);
  DIPTYCH_DCHECK(index.table->schema->id == table, "the index is the table's");
  if (!index.unique) {
    return misuse(table, fmt::format("get takes a unique index; \"{}\" is not", index.schema.name));
  }
  if (!key.ok()) return base::ErrorCode::kNotFound;
  Found found{{table, stamp_, base::RowId()}, nullptr};
  const auto has_key = [&](const std::byte* row) {
    return index.encoder.matches(row, key.bytes());
  };
  const auto visit = [&](base::RowId row_id) {
    found.handle.row_id = row_id;
    found.row = visible_row(index, row_id, choice, has_key);
    return found.row == nullptr;
  };
  if (index.by_hash != nullptr) {
    index.by_hash->visit(HashIndex::hash_of(key.bytes()), visit);
  } else {
    index.index->find(key.bytes(), CandidateVisitor(visit));
  }
  if (found.row == nullptr) return base::ErrorCode::kNotFound;
  return found;
}

void TransactionCore::fetch(base::IndexId id, std::span<const base::Key> keys,
                            const ColumnChoice& choice) const {
  const TableIndex& index = worker_->core_->index(id);
  if (index.by_hash == nullptr || keys.size() > kFetchMax) return;
  // Each stage asks for what the next one reads, for all keys.
  uint64_t hashes[kFetchMax];
  for (size_t i = 0; i < keys.size(); ++i) {
    hashes[i] = HashIndex::hash_of(keys[i].bytes());
    index.by_hash->fetch_bucket(hashes[i]);
  }
  const uint64_t lines = lines_of(index.table->layout, choice.columns);
  for (size_t i = 0; i < keys.size(); ++i) {
    index.by_hash->visit(hashes[i], [&](base::RowId row_id) {
      fetch_lines(index.table->rows.slot(row_id), lines);
      return true;
    });
  }
}

base::Result<const std::byte*> TransactionCore::claim_row(const RowHandle& handle) {
  if (!begin_operation()) return *failure_;
  Worker& worker = *worker_;
  Table& table = worker.core_->table(handle.table);
  RowSlot& slot = table.rows.slot(handle.row_id);
  // acquire: pairs with the releases of claims and commits.
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  if (worker.is_own(word)) {
    if (RowSlot::undo_of(word)->erased) {
      return misuse(handle.table, "a row is not used after it was erased");
    }
    return static_cast<const std::byte*>(slot.row());
  }
  const uint64_t before = RowSlot::settled(word);
  if ((before & kOwned) != 0 || (before & kVidMask) > read_vid_.value) {
    return fail(base::ErrorCode::kConflict);
  }
  if ((before & kLive) == 0) {
    return misuse(handle.table, "a row handle is used in the transaction that got it");
  }
  // relaxed: it is older than the word.
  Undo* const undo = worker.make_undo(word, slot.older.load(std::memory_order_relaxed));
  worker.add_write(&table, &slot, handle.row_id, undo, WriteKind::kUpdate);
  if (worker.is_single()) {
    // relaxed: nobody else looks.
    slot.word.store(RowSlot::owned_word(undo), std::memory_order_relaxed);
    return static_cast<const std::byte*>(slot.row());
  }
  if (!slot.claim(undo)) {
    worker.drop_newest_write();
    return fail(base::ErrorCode::kConflict);
  }
  return static_cast<const std::byte*>(slot.row());
}

WritableRow TransactionCore::open_row(const RowHandle& handle,
                                      std::span<const base::ColumnId> columns) {
  Write* const write = own_write(handle);
  if (write == nullptr) return {};
  for (const base::ColumnId column : columns) {
    if ((write->table->column_flags[column.value] & kPrimaryColumn) == 0) continue;
    misuse(handle.table, fmt::format("column {} of the primary key cannot be changed",
                                     write->table->schema->column(column).name));
    return {};
  }
  return worker_->open_row(write, columns);
}

void TransactionCore::close_row(const WritableRow& open, std::span<const base::ColumnId> columns) {
  if (auto closed = worker_->close_row(open, columns, read_vid_); !closed) fail(closed.error());
}

base::Result<RowHandle> TransactionCore::insert_row(base::TableId table_id, const std::byte* row) {
  if (!begin_operation()) return *failure_;
  Worker& worker = *worker_;
  Table& table = worker.core_->table(table_id);
  if (auto fits = table.check_strings(row, table.bounded_strings); !fits) return fits.error();
  const base::RowId row_id = worker.tables_[table_id.value].slots.allocate(&table.rows);
  RowSlot& slot = table.rows.slot(row_id);
  Undo* const undo = worker.make_undo(0, nullptr);
  worker.add_write(&table, &slot, row_id, undo, WriteKind::kInsert);
  worker.fill_slot(table, &slot, row);
  // release: who finds the slot through an index finds the Undo whole.
  slot.word.store(RowSlot::owned_word(undo), std::memory_order_release);
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    TableIndex& index = *table.indexes[i];
    base::Key key;
    index.encoder.encode(row, &key);
    if (!key.ok()) {
      worker.undo_insert(i);
      return index.key_too_long();
    }
    const IndexInsert inserted = worker.insert_entry(&index, key, row_id, read_vid_);
    if (inserted == IndexInsert::kInserted) continue;
    DIPTYCH_CHECK(inserted != IndexInsert::kPresent, "a free slot has no index entries (R1)");
    worker.undo_insert(i);
    if (inserted == IndexInsert::kTaken) return base::ErrorCode::kAlreadyExists;
    return fail(base::ErrorCode::kConflict);
  }
  return RowHandle{table_id, stamp_, row_id};
}

void TransactionCore::erase_row(const RowHandle& handle) {
  Write* const write = own_write(handle);
  if (write == nullptr) return;
  write->undo->erased = true;
  for (const base::ColumnId id : write->table->layout.long_strings) {
    StringChange change;
    std::memcpy(&change.before, write->slot->row() + write->table->layout.column(id).offset,
                sizeof change.before);
    worker_->string_changes_.push_back(change);
  }
  write->kind = write->kind == WriteKind::kInsert ? WriteKind::kInsertErased : WriteKind::kErase;
}

base::Result<void> TransactionCore::scan_range(base::TableId table, base::IndexId index_id,
                                               const KeyRange& range, const ScanOptions& options,
                                               const ColumnChoice& choice,
                                               const RowVisitor& visit) {
  if (!begin_operation()) return *failure_;
  TableIndex& index = worker_->core_->index(index_id);
  DIPTYCH_DCHECK(index.table->schema->id == table, "the index is the table's");
  static_cast<void>(table);
  if (!range.lower.ok() || !range.upper.ok()) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("a bound of a scan of index \"{}\" does not fit its column, "
                                   "or {} bytes in all",
                                   index.schema.name, base::kKeyBytesMax));
  }
  if (index.schema.kind == base::IndexKind::kHash) {
    if (!range.exact) {
      return base::Error(base::ErrorCode::kInvalidArgument,
                         fmt::format("index \"{}\" is a hash index: a scan needs the whole key",
                                     index.schema.name));
    }
    if (index.unique) return scan_one(index, range, choice, visit);
  }
  return scan_ordered(index, range, options, choice, visit);
}

base::Result<void> TransactionCore::scan_one(const TableIndex& index, const KeyRange& range,
                                             const ColumnChoice& choice, const RowVisitor& visit) {
  auto found = find_unique(index.table->schema->id, index.schema.id, range.lower, choice);
  if (found) {
    visit(found->handle, found->row);
  } else if (found.code() != base::ErrorCode::kNotFound) {
    return found.error();
  }
  if (failed()) return *failure_;
  return {};
}

base::Result<void> TransactionCore::scan_ordered(const TableIndex& index, const KeyRange& range,
                                                 const ScanOptions& options,
                                                 const ColumnChoice& choice,
                                                 const RowVisitor& visit) {
  const RowTable& rows = index.table->rows;
  const base::TableId table = index.table->schema->id;
  IndexCursor cursor(range.lower.bytes(), range.upper.bytes(),
                     options.direction == Direction::kForward, options.limit);
  for (index.index->next_group(&cursor); cursor.count != 0; index.index->next_group(&cursor)) {
    if (!begin_operation(cursor.count)) return *failure_;
    for (size_t i = 0; i < cursor.count; ++i) {
      const char* const slot = reinterpret_cast<const char*>(&rows.slot(cursor.rows[i]));
      __builtin_prefetch(slot);
      __builtin_prefetch(slot + kLineBytes);
    }
    for (size_t i = 0; i < cursor.count; ++i) {
      const auto has_key = [&](const std::byte* row) {
        base::Key present;
        index.encoder.encode(row, &present);
        return cursor.has_key(i, present.bytes());
      };
      const std::byte* const row = visible_row(index, cursor.rows[i], choice, has_key);
      if (row == nullptr) continue;
      const bool go_on = visit(RowHandle{table, stamp_, cursor.rows[i]}, row);
      if (failed()) return *failure_;
      if (!go_on) return {};
    }
  }
  return {};
}

}  // namespace diptych::oltp
