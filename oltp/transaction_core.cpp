#include "oltp/transaction_core.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/alignment.h"
#include "base/check.h"
#include "base/split_mix.h"
#include "oltp/worker.h"

namespace diptych::oltp {
namespace {

// Of a ref whose table or index is not there.
base::Error absent(const std::string& procedure, std::string_view what,
                   const std::vector<std::string>& names, uint32_t id) {
  const bool was_there = id < names.size() && !names[id].empty();
  return {base::ErrorCode::kInvalidArgument,
          was_there ? fmt::format("procedure \"{}\" uses {} \"{}\", which was dropped: a ref is "
                                  "bound to one {}, and to no later one of the same name",
                                  procedure, what, names[id], what)
                    : fmt::format("procedure \"{}\" uses a TableRef or IndexRef that was never "
                                  "bound: bind_table and bind_index give them out",
                                  procedure)};
}

}  // namespace

TransactionCore::TransactionCore(Worker* worker, base::Vid read_vid, base::Timestamp now,
                                 uint64_t random_seed, uint64_t operations_max, uint32_t stamp,
                                 PlannedRows planned)
    : read_vid_(read_vid),
      now_(now),
      random_state_(random_seed),
      worker_(worker),
      indexes_(worker->core_->indexes),
      planned_(planned),
      reader_(&worker->reader_),
      worker_id_(worker->id_),
      alone_(worker->is_single()),
      unrecorded_(!worker->reads_.is_recorded()),
      operations_left_(operations_max),
      stamp_(stamp) {}

const base::Error& TransactionCore::fail(base::Error failure) {
  if (!failed()) failure_ = std::move(failure);
  operations_left_ = 0;
  return *failure_;
}

const TableIndex* TransactionCore::asked_index(base::ErrorCode code) const {
  if (code == base::ErrorCode::kNotFound) return missed_;
  return code == base::ErrorCode::kAlreadyExists ? taken_ : nullptr;
}

void TransactionCore::run_out() {
  if (failed()) return;
  fail(
      {base::ErrorCode::kInvalidArgument,
       fmt::format("procedure \"{}\" did more than {} operations on rows in one transaction, which "
                   "is the limit (operations_max)",
                   worker_->running_name(), worker_->core_->options.operations_max)});
}

const base::Error& TransactionCore::misuse(const Table& table, std::string_view what) {
  return fail({base::ErrorCode::kInvalidArgument,
               fmt::format("procedure \"{}\", table \"{}\": {}", worker_->running_name(),
                           table.schema->name, what)});
}

const base::Error& TransactionCore::misuse(const base::Error& mistake) {
  return fail(mistake.within(fmt::format("procedure \"{}\"", worker_->running_name())));
}

const base::Error& TransactionCore::misuse_of_precision(const Table& table, base::ColumnId column) {
  return misuse(table.decimal_too_wide(column));
}

const base::Error& TransactionCore::misuse_of_precision(base::TableId id, base::ColumnId column) {
  const Table* const table = worker_->core_->find_table(id);
  return table != nullptr ? misuse_of_precision(*table, column) : misuse_of_absent(id);
}

const base::Error& TransactionCore::misuse_of_absent(base::TableId table) {
  return fail(absent(worker_->running_name(), "table", worker_->core_->table_names, table.value));
}

const base::Error& TransactionCore::misuse_of_absent(base::IndexId index) {
  return fail(absent(worker_->running_name(), "index", worker_->core_->index_names, index.value));
}

const base::Error& TransactionCore::misuse_of_handle() {
  return fail({base::ErrorCode::kInvalidArgument,
               fmt::format("procedure \"{}\": a row handle is used in the transaction that got it, "
                           "and this one has not got it",
                           worker_->running_name())});
}

const base::Error* TransactionCore::check_handle(const RowHandle& handle, uint64_t columns_hash) {
  if (handle.transaction != stamp_) return &misuse_of_handle();
  if (handle.table->columns_hash == columns_hash) return nullptr;
  return &misuse(*handle.table, "a row handle is used with its own table's struct, not another's");
}

const base::Error& TransactionCore::misuse_of_index(const TableIndex& index) {
  return misuse(*index.table, fmt::format("index \"{}\" is used with another table's struct; is "
                                          "the IndexRef another database's?",
                                          index.schema.name));
}

const base::Error& TransactionCore::misuse_of_nesting() {
  return fail({base::ErrorCode::kInvalidArgument,
               fmt::format("procedure \"{}\" has more than {} scans open within each other",
                           worker_->running_name(), kScansOpenMax)});
}

class TransactionCore::OpenScan {
 public:
  explicit OpenScan(TransactionCore* txn) : txn_(txn) { ++txn_->scans_open_; }
  ~OpenScan() { --txn_->scans_open_; }
  OpenScan(const OpenScan&) = delete;
  OpenScan& operator=(const OpenScan&) = delete;

 private:
  TransactionCore* txn_;
};

inline Write* TransactionCore::own_write(const RowHandle& handle, const WriteShape* shape) {
  if (!begin_operation()) return nullptr;
  if (handle.transaction != stamp_) {
    misuse_of_handle();
    return nullptr;
  }
  Write* const write =
      shape == nullptr ? worker_->find_any_write(handle) : worker_->find_write(handle, *shape);
  if (write == nullptr) misuse_of_unclaimed(handle, shape);
  return write;
}

const base::Error& TransactionCore::misuse_of_unclaimed(const RowHandle& handle,
                                                        const WriteShape* shape) {
  // Where the row is this transaction's, it is a column that is not.
  const bool own = shape != nullptr && worker_->find_any_write(handle) != nullptr;
  const Table& table = *handle.table;
  for (size_t i = 0; own && i < shape->columns.size(); ++i) {
    const base::ColumnId id = shape->columns[i];
    if (worker_->write_of(*handle.slot, table.layout.column(id).group) != nullptr) continue;
    return misuse(table,
                  fmt::format("column {} is written after this transaction has claimed its column "
                              "group; the claim names other columns",
                              table.schema->column(id).name));
  }
  // acquire: may read another worker's Undo.
  const uint64_t word = handle.slot->group(0).word.load(std::memory_order_acquire);
  return misuse(table, worker_->is_own(word) && RowSlot::undo_of(word)->erased
                           ? "a row is written after this transaction has erased it"
                           : "a row is written that this transaction has neither claimed nor "
                             "inserted");
}

uint64_t TransactionCore::random() {
  return base::split_mix(random_state_ += base::kSplitMixStep);
}

base::Text TransactionCore::keep(std::string_view text) {
  return worker_->undo_.copy(text);
}

template <class HasKey>
const std::byte* TransactionCore::visible_row(const TableIndex& index, const RowSlot& slot,
                                              const ColumnChoice& choice,
                                              const HasKey& has_key) const {
  if (is_exact(index)) {
    if (alone_) return slot.is_there() ? slot.row() : nullptr;
    return worker_->visible_row(*index.table, slot, read_vid_, choice);
  }
  ColumnChoice with_key = choice;
  with_key.also = index.schema.columns;
  const std::byte* const row = worker_->visible_row(*index.table, slot, read_vid_, with_key);
  return row != nullptr && has_key(row) ? row : nullptr;
}

base::Result<TransactionCore::Found> TransactionCore::find_unique(base::IndexId index_id,
                                                                  const base::Key& key,
                                                                  const ColumnChoice& choice,
                                                                  uint64_t columns_hash) {
  if (!begin_operation()) return *failure_;
  const TableIndex* const found_index = worker_->core_->find_index(index_id);
  if (found_index == nullptr) return misuse_of_absent(index_id);
  const TableIndex& index = *found_index;
  if (columns_hash != 0 && index.columns_hash != columns_hash) return misuse_of_index(index);
  if (!index.unique) {
    return misuse(*index.table,
                  fmt::format("get takes a unique index; \"{}\" is not", index.schema.name));
  }
  if (!key.ok()) return not_found(index);
  Found found{{index.table, nullptr, base::RowId(), stamp_}, nullptr};
  const auto has_key = [&](const std::byte* row) {
    return index.encoder.matches(row, key.bytes());
  };
  const auto visit = [&](base::RowId row_id) {
    found.handle.row_id = row_id;
    found.handle.slot = &index.table->rows.slot(row_id);
    found.row = visible_row(index, *found.handle.slot, choice, has_key);
    return found.row == nullptr;
  };
  if (index.by_hash != nullptr) {
    index.by_hash->visit(key_hash(key.bytes()), visit);
  } else {
    if (const PlannedRow* const planned = next_planned(index)) {  // of whatever key
      ColumnChoice with_key = choice;
      with_key.also = index.schema.columns;
      found.handle = {index.table, planned->slot, planned->row_id, stamp_};
      found.row = worker_->visible_row(*index.table, *planned->slot, read_vid_, with_key);
      if (found.row != nullptr && !has_key(found.row)) found.row = nullptr;
    }
    if (found.row == nullptr) index.index->find(key.bytes(), CandidateVisitor(visit));
  }
  if (worker_->reads_.is_recorded()) record_lookup(index, key, choice, found);
  if (found.row == nullptr) return not_found(index);
  return found;
}

void TransactionCore::record_lookup(const TableIndex& index, const base::Key& key,
                                    const ColumnChoice& choice, const Found& found) {
  if (found.row == nullptr) return worker_->reads_.add_key(index, key.bytes());
  worker_->reads_.add_row(*found.handle.slot, groups_of(index.table->layout, choice));
}

AccessPlan TransactionCore::make_plan() const {
  return AccessPlan(worker_->core_);
}

[[gnu::always_inline]] inline bool TransactionCore::claim_group(const RowHandle& handle,
                                                                uint32_t group) {
  Worker& worker = *worker_;
  Table* const table = handle.table;
  RowVersion& version = handle.slot->group(group);
  if (alone_) {
    // relaxed: nobody else looks, here and below.
    const uint64_t here = version.word.load(std::memory_order_relaxed);
    if ((here & (kOwned | kLive)) == kLive) [[likely]] {
      // Nobody goes back to the commit before.
      Undo* const undo = worker.make_undo(here, nullptr, group);
      worker.add_write(table, handle.slot, handle.row_id, undo, WriteKind::kUpdate);
      // relaxed: as above.
      version.word.store(RowSlot::owned_word(undo), std::memory_order_relaxed);
      return true;
    }
  }
  // acquire: pairs with the releases of claims and commits.
  const uint64_t word = version.word.load(std::memory_order_acquire);
  if (worker.is_own(word)) {
    if (!RowSlot::undo_of(word)->erased) return true;
    misuse(*table, "a row is not used after it was erased");
    return false;
  }
  if (RowSlot::is_changed(word, read_vid_)) {
    fail(base::ErrorCode::kConflict);
    return false;
  }
  if ((RowSlot::without_owner(word) & kLive) == 0) {
    misuse(*table, "a row handle is used in the transaction that got it");
    return false;
  }
  // relaxed: it is older than the word.
  Undo* const undo = worker.make_undo(word, version.older.load(std::memory_order_relaxed), group);
  worker.add_write(table, handle.slot, handle.row_id, undo, WriteKind::kUpdate);
  if (version.claim(undo)) return true;
  worker.drop_newest_write();
  fail(base::ErrorCode::kConflict);
  return false;
}

base::Result<const std::byte*> TransactionCore::claim_row(const RowHandle& handle,
                                                          std::span<const base::ColumnId> columns) {
  if (!begin_operation()) return *failure_;
  if (handle.transaction != stamp_) return misuse_of_handle();
  const bool claimed = handle.table->layout.group_count == 1 ? claim_group(handle, 0)
                                                             : claim_groups(handle, columns);
  if (!claimed) return *failure_;
  return static_cast<const std::byte*>(handle.slot->row());
}

bool TransactionCore::claim_groups(const RowHandle& handle,
                                   std::span<const base::ColumnId> columns) {
  const base::RowLayout& layout = handle.table->layout;
  const GroupMask groups = groups_of(layout, {columns.empty(), columns, {}});
  for (uint32_t group = 0; group < layout.group_count; ++group) {
    if ((groups >> group & 1) != 0 && !claim_group(handle, group)) return false;
  }
  return true;
}

WritableRow TransactionCore::open_row(const RowHandle& handle,
                                      std::span<const base::ColumnId> columns) try {
  if (handle.transaction != stamp_) {
    misuse_of_handle();
    return {};
  }
  const WriteShape& shape = worker_->shapes_.of(*handle.table, columns);
  Write* const write = own_write(handle, &shape);
  if (write == nullptr) return {};
  if (alone_ && shape.is_plain) {
    worker_->open_plain(write, shape);
    return {write->slot->row(), write, nullptr};
  }
  if ((shape.flags & kPrimaryColumn) != 0) {
    misuse_of_primary_key(shape);
    return {};
  }
  return worker_->open_row(write, shape);
} catch (const std::bad_alloc&) {
  fail(base::ErrorCode::kOutOfMemory);  // whatever the procedure makes of it
  throw;
}

void TransactionCore::misuse_of_primary_key(const WriteShape& shape) {
  const auto is_primary = [&](base::ColumnId id) {
    return (shape.table->column_flags[id.value] & kPrimaryColumn) != 0;
  };
  const auto column = std::find_if(shape.columns.begin(), shape.columns.end(), is_primary);
  misuse(*shape.table, fmt::format("column {} of the primary key cannot be changed",
                                   shape.table->schema->column(*column).name));
}

void TransactionCore::close_row(const WritableRow& open) try {
  auto closed = worker_->close_row(open, read_vid_);
  if (closed) return;
  switch (closed.code()) {
    case base::ErrorCode::kInvalidArgument: misuse(closed.error()); return;
    case base::ErrorCode::kAlreadyExists:  // in the words of an insert that is refused (worker.cpp)
      fail(closed.error().within(fmt::format("in procedure \"{}\"", worker_->running_name())));
      return;
    default: fail(closed.error());
  }
} catch (const std::bad_alloc&) {
  fail(base::ErrorCode::kOutOfMemory);  // whatever the procedure makes of it
  throw;
}

base::Result<RowHandle> TransactionCore::insert_row(base::TableId table_id, const std::byte* row,
                                                    uint64_t columns_hash) try {
  if (!begin_operation()) return *failure_;
  Worker& worker = *worker_;
  Table* const found = worker.core_->find_table(table_id);
  if (found == nullptr) return misuse_of_absent(table_id);
  Table& table = *found;
  missed_ = nullptr;
  if (columns_hash != 0 && table.columns_hash != columns_hash) {
    return misuse(table,
                  "a row of another struct is inserted; is the TableRef another database's?");
  }
  if (auto fits = table.check_strings(row, table.bounded_strings); !fits) {
    return misuse(fits.error());
  }
  if (auto fits = table.check_long_strings(row); !fits) return misuse(fits.error());
  if (!alone_) reader_->room_for(table.layout.bytes);  // insert_entry reads who has a key
  const std::optional<base::RowId> taken = worker.take_slot(&table);
  if (!taken) {
    return worker.replays_ ? misuse(table, "inserts other rows than when it was logged")
                           : fail(base::ErrorCode::kOutOfMemory);
  }
  const base::RowId row_id = *taken;
  RowSlot& slot = table.rows.slot(row_id);
  Undo* const undo = worker.make_undo(0, nullptr, 0);
  worker.add_write(&table, &slot, row_id, undo, WriteKind::kInsert);
  worker.fill_slot(table, &slot, row);
  slot.set_words(table.layout.group_count, RowSlot::owned_word(undo));
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    TableIndex& index = *table.indexes[i];
    base::Key key;
    index.encoder.encode(row, &key);
    if (!key.ok()) {
      worker.undo_insert(i);
      return misuse(index.key_too_long());
    }
    const IndexInsert inserted = worker.insert_entry(&index, key, row_id, read_vid_);
    if (inserted == IndexInsert::kInserted) continue;
    DIPTYCH_CHECK(inserted != IndexInsert::kPresent, "a free slot has no index entries (R1)");
    worker.undo_insert(i);
    if (inserted == IndexInsert::kTaken) {
      // The procedure learns that there is such a row, and may commit all the same.
      if (worker.reads_.is_recorded()) worker.reads_.add_key(index, key.bytes());
      taken_ = &index;
      return base::ErrorCode::kAlreadyExists;
    }
    return fail(base::ErrorCode::kConflict);
  }
  return RowHandle{&table, &slot, row_id, stamp_};
} catch (const std::bad_alloc&) {
  fail(base::ErrorCode::kOutOfMemory);  // whatever the procedure makes of it
  throw;
}

void TransactionCore::erase_row(const RowHandle& handle) try {
  Write* write = own_write(handle, nullptr);
  if (write == nullptr) return;
  if (write->table->layout.group_count > 1) {
    if (!claim_row(handle, {})) return;  // a conflict
    write = worker_->erase_groups(handle);
  }
  write->undo->erased = true;
  for (const base::ColumnId id : write->table->layout.long_strings) {
    StringChange change;
    std::memcpy(&change.before, write->slot->row() + write->table->layout.column(id).offset,
                sizeof change.before);
    worker_->string_changes_.push_back(change);
  }
  if (write->kind != WriteKind::kInsert) {
    write->kind = WriteKind::kErase;
    return;
  }
  forget_inserted_keys(*write);
  write->kind = WriteKind::kInsertErased;
} catch (const std::bad_alloc&) {
  fail(base::ErrorCode::kOutOfMemory);  // whatever the procedure makes of it
  throw;
}

void TransactionCore::forget_inserted_keys(const Write& write) {
  const auto& indexes = write.table->indexes;
  for (size_t i = 0; worker_->reads_.is_recorded() && i < indexes.size(); ++i) {
    if (!indexes[i]->unique) continue;
    // It had no row when this one came, and others may insert it from now on.
    base::Key key;
    indexes[i]->encoder.encode(write.slot->row(), &key);
    worker_->reads_.add_key(*indexes[i], key.bytes());
  }
  worker_->erase_inserted_entries(write, indexes.size());
}

base::Result<void> TransactionCore::scan_range(base::IndexId index_id, const KeyRange& range,
                                               const ScanOptions& options,
                                               const ColumnChoice& choice, const RowVisitor& visit,
                                               uint64_t columns_hash) {
  if (!begin_operation()) return *failure_;
  TableIndex* const found = worker_->core_->find_index(index_id);
  if (found == nullptr) return misuse_of_absent(index_id);
  TableIndex& index = *found;
  if (columns_hash != 0 && index.columns_hash != columns_hash) return misuse_of_index(index);
  if (scans_open_ == kScansOpenMax) return misuse_of_nesting();
  const OpenScan open(this);
  if (!range.lower.ok() || !range.upper.ok()) {
    return misuse(*index.table,
                  fmt::format("a bound of a scan of index \"{}\" does not fit its column, or {} "
                              "bytes in all",
                              index.schema.name, base::kKeyBytesMax));
  }
  const bool by_hash = index.schema.kind == base::IndexKind::kHash;
  if (by_hash && !range.exact) {
    return misuse(
        *index.table,
        fmt::format("index \"{}\" is a hash index: a scan needs the whole key", index.schema.name));
  }
  if (options.limit == 0) return {};
  if (by_hash && index.unique) return scan_one(index, range, choice, visit);
  return scan_ordered(index, range, options, choice, visit);
}

base::Result<void> TransactionCore::scan_one(const TableIndex& index, const KeyRange& range,
                                             const ColumnChoice& choice, const RowVisitor& visit) {
  auto found = find_unique(index.schema.id, range.lower, choice);
  if (found) {
    visit(found->handle, found->row);
  } else if (found.code() != base::ErrorCode::kNotFound) {
    return found.error();
  }
  if (failed()) return *failure_;
  return {};
}

// Where an ordered scan begins: at its own bound or, if the transaction knows that it sees no row
// from there on, behind those entries.
struct TransactionCore::ScanStart {
  ScanStart(EmptyRanges* ranges, const TableIndex& index, const KeyRange& range,
            Direction direction)
      : bound(direction == Direction::kForward ? range.lower.bytes() : range.upper.bytes()),
        lower(range.lower.bytes()),
        upper(range.upper.bytes()),
        empty(ranges->find(index, direction, bound)) {
    if (empty == nullptr) return;
    end_key = empty->end_key;
    row = empty->end_row;
    (direction == Direction::kForward ? lower : upper) = end_key;
  }

  // Of what is passed over, the scans that found it empty have recorded all.
  void cut_read(size_t range_read, Direction direction, ReadSet* reads) const {
    const bool forward = direction == Direction::kForward;
    reads->cut_range(range_read, end_key, forward ? Direction::kBackward : Direction::kForward);
  }

  std::string_view bound;
  std::string_view lower;
  std::string_view upper;
  EmptyRange* empty;  // valid until a row is visited
  std::string end_key;
  uint64_t row = 0;
};

base::Result<void> TransactionCore::scan_ordered(const TableIndex& index, const KeyRange& range,
                                                 const ScanOptions& options,
                                                 const ColumnChoice& choice,
                                                 const RowVisitor& visit) {
  const RowTable& rows = index.table->rows;
  RowSlot* slots[IndexCursor::kGroupMax];
  ReadSet& reads = worker_->reads_;
  ScanStart start(&worker_->empty_ranges_, index, range, options.direction);
  size_t range_read = 0;
  if (reads.is_recorded()) {
    range_read = reads.add_range(index, range.lower.bytes(), range.upper.bytes(),
                                 groups_of(index.table->layout, choice));
    if (start.empty != nullptr) start.cut_read(range_read, options.direction, &reads);
  }
  // A procedure may re-key rows on the way: an index that is not primary may stop being exact.
  const CursorKeys keys = alone_ && index.primary ? CursorKeys::kLast : CursorKeys::kAll;
  IndexCursor cursor(start.lower, start.upper, options.direction, options.limit, keys);
  cursor.begin_row = start.row;
  bool visited = false;
  bool passed_own = false;  // entries that this transaction has made dead
  for (index.index->next_group(&cursor); cursor.count != 0; index.index->next_group(&cursor)) {
    if (!begin_operation(cursor.count)) return *failure_;
    // Of candidates that nobody sees, a group counts as one.
    uint64_t uncounted = 0;
    for (size_t i = 0; i < cursor.count; ++i) {
      slots[i] = &rows.slot(cursor.rows[i]);
      __builtin_prefetch(slots[i]);
      __builtin_prefetch(reinterpret_cast<const char*>(slots[i]) + base::kLineBytes);
    }
    for (size_t i = 0; i < cursor.count; ++i) {
      const auto has_key = [&](const std::byte* row) {
        base::Key present;
        index.encoder.encode(row, &present);
        return cursor.has_key(i, present.bytes());
      };
      const std::byte* const row = visible_row(index, *slots[i], choice, has_key);
      if (row == nullptr) {
        if (uncounted + 1 < cursor.count) ++uncounted;
        if (!visited && !passed_own) passed_own = owns(*slots[i]);
        continue;
      }
      visited = true;
      const bool go_on = visit(RowHandle{index.table, slots[i], cursor.rows[i], stamp_}, row);
      if (failed()) return *failure_;
      if (go_on) continue;
      operations_left_ += uncounted + (cursor.count - i - 1);
      if (reads.is_recorded()) {
        reads.cut_range(range_read, cursor.key(i), cursor.direction);
        if (start.empty != nullptr) reads.drop_covered(range_read);
      }
      return {};
    }
    operations_left_ += uncounted;
    if (!visited && passed_own) {
      start.empty = worker_->empty_ranges_.note(index, start.bound, cursor, start.empty);
    }
  }
  return {};
}

}  // namespace diptych::oltp
