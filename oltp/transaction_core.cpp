#include "oltp/transaction_core.h"

#include <algorithm>

#include "base/check.h"
#include "base/split_mix.h"
#include "oltp/worker.h"

namespace diptych::oltp {

const base::Error& TransactionCore::fail(base::Error failure) {
  if (!failed()) failure_ = std::make_unique<const base::Error>(std::move(failure));
  return *failure_;
}

const base::Error& TransactionCore::misuse(base::TableId table, std::string_view what) {
  const base::TableSchema& schema = *worker_->core_->table(table).schema;
  return fail(
      {base::ErrorCode::kInvalidArgument, fmt::format("table \"{}\": {}", schema.name, what)});
}

Write* TransactionCore::own_write(const RowHandle& handle) {
  if (failed()) return nullptr;
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

namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kPrefetchedRowBytes = 384;  // few rows are longer, and few reads want their end

void prefetch_version(const Version* head, size_t row_bytes) {
  const char* const at = reinterpret_cast<const char*>(head);
  const size_t bytes = sizeof(Version) + std::min(row_bytes, kPrefetchedRowBytes);
  for (size_t i = 0; i < bytes; i += kLineBytes) __builtin_prefetch(at + i);
}

}  // namespace

void TransactionCore::prefetch_rows(base::IndexId index_id, std::span<const base::Key> keys) const {
  const TableIndex& index = worker_->core_->index(index_id);
  const RowTable& rows = index.table->rows;
  // Each stage asks for what the next one reads, for all keys.
  for (const base::Key& key : keys) index.index->prefetch(key.bytes());
  const RowTable::Slot* slots[kPrefetchMax];
  size_t count = 0;
  const auto on_row = [&](base::RowId row_id) {
    slots[count] = &rows.slot(row_id);
    __builtin_prefetch(slots[count++]);
    return false;
  };
  for (const base::Key& key : keys) {
    if (count == kPrefetchMax) break;
    index.index->find(key.bytes(), CandidateVisitor(on_row));
  }
  for (size_t i = 0; i < count; ++i) {
    // acquire: as in visible_row; what is fetched may be another worker's.
    const Version* const head = slots[i]->load(std::memory_order_acquire);
    if (head == nullptr) continue;  // a row that was rolled back
    prefetch_version(head, index.table->layout.bytes);
  }
}

const std::byte* TransactionCore::visible_row(const TableIndex& index, base::RowId row_id) const {
  // acquire: pairs with the stores that publish versions.
  const Version* head = index.table->rows.slot(row_id).load(std::memory_order_acquire);
  const Version* version = visible_version(head, read_vid_, worker_->own_tag_);
  return version == nullptr ? nullptr : version->row();
}

base::Result<TransactionCore::Found> TransactionCore::find_unique(base::TableId table,
                                                                  base::IndexId index_id,
                                                                  const base::Key& key) {
  if (failed()) return *failure_;
  const TableIndex& index = worker_->core_->index(index_id);
  DIPTYCH_DCHECK(index.table->schema->id == table, "the index is the table's");
  if (!index.unique) {
    return misuse(table, fmt::format("get takes a unique index; \"{}\" is not", index.schema.name));
  }
  if (!key.ok()) return base::ErrorCode::kNotFound;
  Found found{{table, base::RowId()}, nullptr};
  const auto visit = [&](base::RowId row_id) {
    const std::byte* row = visible_row(index, row_id);
    if (row == nullptr) return true;
    // relaxed: see update_keys.
    if (!index.primary && index.rekeyed.load(std::memory_order_relaxed)) {
      base::Key present;
      index.encoder.encode(row, &present);
      if (present.bytes() != key.bytes()) return true;
    }
    found.handle.row_id = row_id;
    found.row = row;
    return false;
  };
  index.index->find(key.bytes(), CandidateVisitor(visit));
  if (found.row == nullptr) return base::ErrorCode::kNotFound;
  return found;
}

base::Result<const std::byte*> TransactionCore::claim_row(const RowHandle& handle) {
  if (failed()) return *failure_;
  Worker& worker = *worker_;
  Table& table = worker.core_->table(handle.table);
  RowTable::Slot& slot = table.rows.slot(handle.row_id);
  // acquire: pairs with the stores that publish versions.
  Version* head = slot.load(std::memory_order_acquire);
  constexpr std::string_view kStale = "a row handle is used in the transaction that got it";
  if (head == nullptr) return misuse(handle.table, kStale);
  // acquire: pairs with the release in commit (V1).
  const uint64_t begin = head->begin.load(std::memory_order_acquire);
  if (begin == worker.own_tag_) {
    if (head->kind != VersionKind::kRow) {
      return misuse(handle.table, "a row is not used after it was erased");
    }
    return static_cast<const std::byte*>(head->row());
  }
  if ((begin & kOwned) != 0 || begin > read_vid_.value) {
    return fail(base::ErrorCode::kConflict);
  }
  if (head->kind != VersionKind::kRow) return misuse(handle.table, kStale);
  Version* const version = worker.copy_version(table, head->row());
  // relaxed: published by the exchange below.
  version->begin.store(worker.own_tag_, std::memory_order_relaxed);
  version->previous = head;
  worker.add_write(&table, &slot, handle.row_id, version, head, WriteKind::kUpdate);
  if (worker.core_->concurrency == Concurrency::kSingle) {
    // release: not needed with one worker, and free on x86; keeps V1 in one form.
    slot.store(version, std::memory_order_release);
    return static_cast<const std::byte*>(version->row());
  }
  Version* expected = head;
  // release on success: who meets the version sees that it is owned. relaxed on failure: what is
  // there instead is not looked at.
  if (!slot.compare_exchange_strong(expected, version, std::memory_order_release,
                                    std::memory_order_relaxed)) {
    worker.column_words_.resize(worker.writes_.back().columns);
    worker.writes_.pop_back();
    worker.memory_.retire(version);
    return fail(base::ErrorCode::kConflict);
  }
  return static_cast<const std::byte*>(version->row());
}

std::byte* TransactionCore::writable_row(const RowHandle& handle,
                                         std::span<const base::ColumnId> columns) {
  Write* const write = own_write(handle);
  if (write == nullptr) return nullptr;
  for (const base::ColumnId column : columns) {
    if ((write->table->column_flags[column.value] & kPrimaryColumn) == 0) continue;
    misuse(handle.table, fmt::format("column {} of the primary key cannot be changed",
                                     write->table->schema->column(column).name));
    return nullptr;
  }
  const bool logs_keys =
      write->kind == WriteKind::kInsert && !write->keys_logged && write->table->indexes.size() > 1;
  if (logs_keys) worker_->log_keys(write);
  return write->version->row();
}

void TransactionCore::written(const RowHandle& handle, std::span<const base::ColumnId> columns) {
  Write& write = *worker_->find_write(handle);  // writable_row has found it
  uint8_t flags = 0;
  uint64_t* const words = worker_->column_words_.data() + write.columns;
  for (const base::ColumnId column : columns) {
    flags |= write.table->column_flags[column.value];
    words[column.value / 64] |= uint64_t{1} << (column.value % 64);
  }
  if (flags == 0) return;
  if ((flags & kBoundedStringColumn) != 0) {
    if (auto fits = write.table->check_strings(write.version->row(), columns); !fits) {
      fail(fits.error());
      return;
    }
  }
  if ((flags & kLongStringColumn) != 0) worker_->replace_version(&write);
  if ((flags & kIndexedColumn) == 0) return;
  if (auto moved = worker_->update_keys(write, columns, read_vid_); !moved) fail(moved.error());
}

base::Result<RowHandle> TransactionCore::insert_row(base::TableId table_id, const std::byte* row) {
  if (failed()) return *failure_;
  Worker& worker = *worker_;
  Table& table = worker.core_->table(table_id);
  if (auto fits = table.check_strings(row, table.bounded_strings); !fits) return fits.error();
  const base::RowId row_id = worker.tables_[table_id.value].slots.allocate(&table.rows);
  RowTable::Slot& slot = table.rows.slot(row_id);
  Version* const version = worker.copy_version(table, row);
  // relaxed: published by the store to the slot.
  version->begin.store(worker.own_tag_, std::memory_order_relaxed);
  version->previous = nullptr;
  worker.add_write(&table, &slot, row_id, version, nullptr, WriteKind::kInsert);
  // release: who finds the slot through an index sees that the version is owned.
  slot.store(version, std::memory_order_release);
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
  return RowHandle{table_id, row_id};
}

void TransactionCore::erase_row(const RowHandle& handle) {
  Write* const write = own_write(handle);
  if (write == nullptr) return;
  write->version->kind = VersionKind::kTombstone;
  write->kind = write->kind == WriteKind::kInsert ? WriteKind::kInsertErased : WriteKind::kErase;
}

base::Result<void> TransactionCore::scan_range(base::TableId table, base::IndexId index_id,
                                               const KeyRange& range, bool forward,
                                               const RowVisitor& visit) {
  if (failed()) return *failure_;
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
    if (index.unique) return scan_one(index, range, visit);
  }
  return scan_ordered(index, range, forward, visit);
}

base::Result<void> TransactionCore::scan_one(const TableIndex& index, const KeyRange& range,
                                             const RowVisitor& visit) {
  auto found = find_unique(index.table->schema->id, index.schema.id, range.lower);
  if (found) {
    visit(found->handle, found->row);
  } else if (found.code() != base::ErrorCode::kNotFound) {
    return found.error();
  }
  if (failed()) return *failure_;
  return {};
}

base::Result<void> TransactionCore::scan_ordered(const TableIndex& index, const KeyRange& range,
                                                 bool forward, const RowVisitor& visit) {
  const RowTable& rows = index.table->rows;
  const base::TableId table = index.table->schema->id;
  IndexCursor cursor(range.lower.bytes(), range.upper.bytes(), forward);
  for (index.index->next_group(&cursor); cursor.count != 0; index.index->next_group(&cursor)) {
    for (size_t i = 0; i < cursor.count; ++i) __builtin_prefetch(&rows.slot(cursor.rows[i]));
    for (size_t i = 0; i < cursor.count; ++i) {
      // acquire: as in visible_row.
      const Version* const head = rows.slot(cursor.rows[i]).load(std::memory_order_acquire);
      if (head == nullptr) continue;
      __builtin_prefetch(head);
      __builtin_prefetch(reinterpret_cast<const char*>(head) + kLineBytes);
    }
    for (size_t i = 0; i < cursor.count; ++i) {
      const std::byte* const row = visible_row(index, cursor.rows[i]);
      if (row == nullptr) continue;
      // relaxed: see update_keys.
      if (!index.primary && index.rekeyed.load(std::memory_order_relaxed)) {
        base::Key present;
        index.encoder.encode(row, &present);
        if (!cursor.has_key(i, present.bytes())) continue;
      }
      const bool go_on = visit(RowHandle{table, cursor.rows[i]}, row);
      if (failed()) return *failure_;
      if (!go_on) return {};
    }
  }
  return {};
}

}  // namespace diptych::oltp
