// TransactionCore: the untyped operations below Transaction (oltp/transaction.h), on row bytes in
// the table's RowLayout. It implements version control and fills the worker's write set.
//
// Threads    one worker. Created by the worker for one run of one procedure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/ids.h"
#include "base/key.h"
#include "base/result.h"
#include "base/types.h"
#include "oltp/access_plan.h"
#include "oltp/index.h"
#include "oltp/row_reader.h"
#include "oltp/table.h"
#include "oltp/table_ref.h"

namespace diptych::oltp {

struct Write;
struct WriteShape;
class Worker;

// The place for the new cells of a write.
struct WritableRow {
  std::byte* row = nullptr;
  Write* write = nullptr;
  const WriteShape* shape = nullptr;  // null: the write need not be closed
};

// The place of a row. Valid until the transaction ends.
struct RowHandle {
  Table* table = nullptr;
  RowSlot* slot = nullptr;
  base::RowId row_id;
  uint32_t transaction = 0;  // the stamp of the transaction that got it
};

struct ScanOptions {
  Direction direction = Direction::kForward;
  uint64_t limit = UINT64_MAX;  // the most visible rows to visit
};

// A callable (const RowHandle&, const std::byte* row) -> bool "go on", by reference.
class RowVisitor {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, RowVisitor>)
  explicit RowVisitor(const Callable& callable)
      : callable_(&callable),
        call_([](const void* target, const RowHandle& handle, const std::byte* row) {
          return (*static_cast<const Callable*>(target))(handle, row);
        }) {}
  bool operator()(const RowHandle& handle, const std::byte* row) const {
    return call_(callable_, handle, row);
  }

 private:
  const void* callable_;
  bool (*call_)(const void*, const RowHandle&, const std::byte*);
};

class TransactionCore {
 public:
  // A transaction with more than `operations_max` operations fails. `stamp` is not 0 and differs
  // from recent transactions'. `planned` outlives the transaction.
  TransactionCore(Worker* worker, base::Vid read_vid, base::Timestamp now, uint64_t random_seed,
                  uint64_t operations_max, uint32_t stamp, PlannedRows planned);
  TransactionCore(const TransactionCore&) = delete;
  TransactionCore& operator=(const TransactionCore&) = delete;

  // The version of the snapshot that reads see.
  base::Vid read_vid() const { return read_vid_; }
  // Time and randomness come from the request, not from the machine, so that a replay repeats them.
  base::Timestamp now() const { return now_; }
  uint64_t random();
  // A copy of the text that a reply may point at.
  base::Text keep(std::string_view text);

  struct Found {
    RowHandle handle;
    const std::byte* row;  // the visible version, until the next operation
  };

  // The untyped operations; Transaction documents their guarantees. If columns_hash is not 0, the
  // transaction fails unless the index is of a table whose columns have these names and types
  // (base::columns_hash), here and below.
  base::Result<Found> find_unique(base::IndexId index, const base::Key& key,
                                  const ColumnChoice& choice, uint64_t columns_hash = 0);
  // An empty plan, valid for this transaction (access_plan.h).
  AccessPlan make_plan() const;
  // Claims the groups of the columns (no columns: all). Cells of other groups must not be read.
  base::Result<const std::byte*> claim_row(const RowHandle& handle,
                                           std::span<const base::ColumnId> columns);
  // Returns null if the handle belongs to this transaction, and to a table whose columns have these
  // names and types (base::columns_hash). Otherwise the transaction fails with the returned error.
  const base::Error* check_handle(const RowHandle& handle, uint64_t columns_hash);

  // For a hash index over numbers, the whole search for a row is compiled into the procedure: with
  // one worker, or if the table has no column groups and reads are not recorded. Counts as an
  // operation. nullptr: use find_unique().
  const TableIndex* compiled_index(base::IndexId id, uint64_t columns_hash = 0) {
    if (!(alone_ || unrecorded_) || operations_left_ == 0 || id.value >= indexes_.size()) {
      return nullptr;
    }
    const TableIndex* const index = indexes_[id.value];
    if (index == nullptr || index->by_hash == nullptr) return nullptr;
    if (columns_hash != 0 && index->columns_hash != columns_hash) [[unlikely]]
      return nullptr;
    if (!alone_ && index->table->layout.group_count > 1) return nullptr;
    --operations_left_;
    return index;
  }
  bool is_alone() const { return alone_; }
  // With one worker: the next row of the plan, if it belongs to the index, exists and has the key;
  // otherwise `row` is null. A unique index has no other such row.
  template <class HasKey>
  Found find_planned(const TableIndex& index, const HasKey& has_key) {
    Found found{{index.table, nullptr, {}, stamp_}, nullptr};
    if (planned_.empty() || planned_.front().index != &index) return found;
    const PlannedRow& row = planned_.front();
    planned_ = planned_.subspan(1);
    if (row.slot == nullptr || !row.slot->is_there() || !has_key(row.slot->row())) return found;
    found = {{index.table, row.slot, row.row_id, stamp_}, row.slot->row()};
    return found;
  }
  // The live row for which has_key(row bytes) holds; `row` is null if there is none.
  template <class HasKey>
  Found find_alone(const TableIndex& index, uint64_t hash, const HasKey& has_key) const {
    Found found{{index.table, nullptr, {}, stamp_}, nullptr};
    index.by_hash->visit(hash, [&](base::RowId row_id) {
      RowSlot& slot = index.table->rows.slot(row_id);
      if (!slot.is_there() || !has_key(slot.row())) return true;
      found = {{index.table, &slot, row_id, stamp_}, slot.row()};
      return false;
    });
    return found;
  }
  // As find_alone(), with several workers: the version that the snapshot sees. for_words(f) calls
  // f(WordSpan) for the words that are needed, the key's included.
  template <class ForWords, class HasKey>
  Found find_shared(const TableIndex& index, uint64_t hash, const ForWords& for_words,
                    const HasKey& has_key) const {
    Found found{{index.table, nullptr, {}, stamp_}, nullptr};
    index.by_hash->visit(hash, [&](base::RowId row_id) {
      RowSlot& slot = index.table->rows.slot(row_id);
      // acquire: as in read_version; an own row needs no order.
      const uint64_t word = slot.word.load(std::memory_order_acquire);
      if (RowSlot::is_owned_by(word, worker_id_)) {
        found.row = RowSlot::undo_of(word)->erased ? nullptr : slot.row();
      } else {
        uint64_t* const copy = reader_->room_for(index.table->layout.bytes);
        const bool there = read_version(slot, read_vid_, copy, for_words);
        found.row = there ? reinterpret_cast<const std::byte*>(copy) : nullptr;
      }
      if (found.row != nullptr && !has_key(found.row)) found.row = nullptr;
      if (found.row == nullptr) return true;
      found.handle.slot = &slot;
      found.handle.row_id = row_id;
      return false;
    });
    return found;
  }

  // An update: open_row() gives the row for new values of the columns (`row` is null if the
  // transaction has failed), and close_row() ends the write. It copies long strings.
  WritableRow open_row(const RowHandle& handle, std::span<const base::ColumnId> columns);
  void close_row(const WritableRow& open);
  // Inserts a row. The transaction fails unless the table's columns have these names and types
  // (base::columns_hash); 0 skips the check.
  base::Result<RowHandle> insert_row(base::TableId table, const std::byte* row,
                                     uint64_t columns_hash = 0);
  void erase_row(const RowHandle& handle);
  base::Result<void> scan_range(base::IndexId index, const KeyRange& range,
                                const ScanOptions& options, const ColumnChoice& choice,
                                const RowVisitor& visit, uint64_t columns_hash = 0);
  static constexpr uint32_t kScansOpenMax = 128;  // each has a cursor on the worker's stack

  bool failed() const { return failure_.has_value(); }

 protected:
  // The error of a look-up that finds no row. It gets a text if the call ends with it.
  base::ErrorCode not_found(const TableIndex& index) {
    missed_ = &index;
    return base::ErrorCode::kNotFound;
  }
  // Fail the transaction because a decimal has more digits than its column.
  const base::Error& misuse_of_precision(const Table& table, base::ColumnId column);
  const base::Error& misuse_of_precision(base::TableId table, base::ColumnId column);

  // While it lives, look-ups use the rows of a plan that was made during the run, instead of those
  // of the request's plan.
  class PlannedRowsOnTheWay {
   public:
    explicit PlannedRowsOnTheWay(TransactionCore* txn) : txn_(txn), before_(txn->planned_) {}
    ~PlannedRowsOnTheWay() { txn_->planned_ = before_; }
    PlannedRowsOnTheWay(const PlannedRowsOnTheWay&) = delete;
    PlannedRowsOnTheWay& operator=(const PlannedRowsOnTheWay&) = delete;
    void follow(const AccessPlan& plan) { txn_->planned_ = plan.rows(); }

   private:
    TransactionCore* txn_;
    PlannedRows before_;
  };

 private:
  friend class Worker;

  // Fails the transaction; the first failure counts: kConflict, kAlreadyExists after an update to a
  // taken key, or kInvalidArgument for a mistake of the procedure. Every operation then fails.
  const base::Error& fail(base::Error failure);
  // The index that an error of the procedure without a text is about, as far as is known.
  const TableIndex* asked_index(base::ErrorCode code) const;
  // Begins and counts operations. Returns false if the transaction has failed, or fails now because
  // it exceeds its limit.
  bool begin_operation(uint64_t count = 1) {
    if (operations_left_ < count) [[unlikely]] {
      run_out();
      return false;
    }
    operations_left_ -= count;
    return true;
  }
  void run_out();
  // The plan's next row, if it belongs to the index and was found; otherwise null.
  const PlannedRow* next_planned(const TableIndex& index) {
    if (planned_.empty() || planned_.front().index != &index) return nullptr;
    const PlannedRow& row = planned_.front();
    planned_ = planned_.subspan(1);
    return row.slot != nullptr ? &row : nullptr;
  }
  class OpenScan;
  struct ScanStart;
  // Fail the transaction for a mistake with a row of the table, or for one that names the table.
  const base::Error& misuse(const Table& table, std::string_view what);
  const base::Error& misuse(const base::Error& mistake);
  const base::Error& misuse_of_handle();
  const base::Error& misuse_of_absent(base::TableId table);
  const base::Error& misuse_of_absent(base::IndexId index);
  const base::Error& misuse_of_index(const TableIndex& index);
  const base::Error& misuse_of_nesting();
  void misuse_of_primary_key(const WriteShape& shape);
  const base::Error& misuse_of_unclaimed(const RowHandle& handle, const WriteShape* shape);
  // Records, for a serializable transaction, the result of a look-up by key.
  void record_lookup(const TableIndex& index, const base::Key& key, const ColumnChoice& choice,
                     const Found& found);
  // A write of the shape's column groups or, without a shape, of any group of the row. If this
  // transaction does not own them, it fails, and the result is nullptr.
  Write* own_write(const RowHandle& handle, const WriteShape* shape);
  // Removes the entries of an inserted row that is erased at once, so that rows which come and go
  // under one key do not block each other.
  void forget_inserted_keys(const Write& write);
  // These return false if the transaction has failed.
  bool claim_group(const RowHandle& handle, uint32_t group);
  bool claim_groups(const RowHandle& handle, std::span<const base::ColumnId> columns);
  base::Result<void> scan_ordered(const TableIndex& index, const KeyRange& range,
                                  const ScanOptions& options, const ColumnChoice& choice,
                                  const RowVisitor& visit);
  base::Result<void> scan_one(const TableIndex& index, const KeyRange& range,
                              const ColumnChoice& choice, const RowVisitor& visit);
  // True if the index's entries of a row belong to its visible version.
  static bool is_exact(const TableIndex& index) {
    // relaxed: see update_keys.
    return !index.by_hash && (index.primary || !index.rekeyed.load(std::memory_order_relaxed));
  }
  bool owns(const RowSlot& slot) const {
    // acquire: reads another worker's Undo.
    return RowSlot::is_owned_by(slot.word.load(std::memory_order_acquire), worker_id_);
  }
  // nullptr if the snapshot has no such row, or if has_key() rejects it.
  template <class HasKey>
  const std::byte* visible_row(const TableIndex& index, const RowSlot& slot,
                               const ColumnChoice& choice, const HasKey& has_key) const;

  base::Vid read_vid_;
  base::Timestamp now_;
  uint64_t random_state_;
  Worker* worker_;
  std::span<TableIndex* const> indexes_;  // [IndexId]
  PlannedRows planned_;
  RowReader* reader_;  // the worker's
  base::WorkerId worker_id_;
  bool alone_;       // no other worker runs
  bool unrecorded_;  // reads are not validated at the end
  std::optional<base::Error> failure_;
  const TableIndex* taken_ = nullptr;   // the index in which the last insert found its key taken
  const TableIndex* missed_ = nullptr;  // in which the last look-up since an insert found no row
  uint64_t operations_left_;            // 0 once it has failed
  uint32_t stamp_;
  uint32_t scans_open_ = 0;  // each but the first began in a visit of the one before
};

}  // namespace diptych::oltp
