// TransactionCore: the untyped operations under Transaction (oltp/transaction.h), on row bytes in
// the table's RowLayout. Version control, write set, commit and rollback live here.
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
#include "oltp/row_reader.h"
#include "oltp/table.h"
#include "oltp/table_ref.h"

namespace diptych::oltp {

struct Write;
struct WriteShape;
class Worker;

// Where the new cells of a write go.
struct WritableRow {
  std::byte* row = nullptr;
  Write* write = nullptr;
  const WriteShape* shape = nullptr;  // null: there is nothing to close
};

// Where a row is. Valid until the transaction ends.
struct RowHandle {
  Table* table = nullptr;
  RowSlot* slot = nullptr;
  base::RowId row_id;
  uint32_t transaction = 0;  // the stamp of the one that got it
};

enum class Direction : uint8_t { kForward, kBackward };

struct ScanOptions {
  Direction direction = Direction::kForward;
  uint64_t limit = UINT64_MAX;  // visible rows at most
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
  // `operations_max`: then the transaction fails. `stamp`: no other one's of late; not 0. `planned`
  // stays until it ends.
  TransactionCore(Worker* worker, base::Vid read_vid, base::Timestamp now, uint64_t random_seed,
                  uint64_t operations_max, uint32_t stamp, PlannedRows planned);
  TransactionCore(const TransactionCore&) = delete;
  TransactionCore& operator=(const TransactionCore&) = delete;

  // The snapshot that reads see.
  base::Vid read_vid() const { return read_vid_; }
  // Time and randomness that a replay repeats: from the request, not from the machine.
  base::Timestamp now() const { return now_; }
  uint64_t random();

  struct Found {
    RowHandle handle;
    const std::byte* row;  // the visible version, until the next operation
  };

  // The untyped operations; see Transaction for what each guarantees.
  base::Result<Found> find_unique(base::IndexId index, const base::Key& key,
                                  const ColumnChoice& choice);
  // Empty. Of this transaction, and no longer (access_plan.h).
  AccessPlan make_plan() const;
  // The groups of the columns, none named: all; nothing is to be seen of the others.
  base::Result<const std::byte*> claim_row(const RowHandle& handle,
                                           std::span<const base::ColumnId> columns);
  // Null: the handle is one of this transaction's, of a table whose columns have these names
  // and types (base::columns_hash). Otherwise the transaction has failed, with this.
  const base::Error* check_handle(const RowHandle& handle, uint64_t columns_hash);

  // Of a hash index over numbers the whole way to the row is compiled into the procedure: with one
  // worker, or where the table has no column groups and reads are not recorded. Counts as an
  // operation. nullptr: find_unique is the way.
  const TableIndex* compiled_index(base::IndexId id) {
    if (!(alone_ || unrecorded_) || operations_left_ == 0 || id.value >= indexes_.size()) {
      return nullptr;
    }
    const TableIndex* const index = indexes_[id.value];
    if (index == nullptr || index->by_hash == nullptr) return nullptr;
    if (!alone_ && index->table->layout.group_count > 1) return nullptr;
    --operations_left_;
    return index;
  }
  bool is_alone() const { return alone_; }
  // With one worker: the next row of the plan, if that is of the index, is there and has the key;
  // else `row` is null. A unique index has no other such row.
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
  // The live row for which has_key(row bytes) holds; its `row` is null where there is none.
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
  // The same with several workers: the version that the snapshot sees. for_words(f) calls
  // f(WordSpan) for the words that are wanted, the key's among them.
  template <class ForWords, class HasKey>
  Found find_shared(const TableIndex& index, uint64_t hash, const ForWords& for_words,
                    const HasKey& has_key) const {
    Found found{{index.table, nullptr, {}, stamp_}, nullptr};
    index.by_hash->visit(hash, [&](base::RowId row_id) {
      RowSlot& slot = index.table->rows.slot(row_id);
      // acquire: as in read_version; one's own needs no order.
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

  // An update: the row for new values of the columns (its `row` is null if the transaction has
  // failed), and then that they are there. Long strings are copied from where they point.
  WritableRow open_row(const RowHandle& handle, std::span<const base::ColumnId> columns);
  void close_row(const WritableRow& open);
  // The transaction fails unless the table's columns have these names and types
  // (base::columns_hash); 0: the caller knows that the row is the table's.
  base::Result<RowHandle> insert_row(base::TableId table, const std::byte* row,
                                     uint64_t columns_hash = 0);
  void erase_row(const RowHandle& handle);
  base::Result<void> scan_range(base::IndexId index, const KeyRange& range,
                                const ScanOptions& options, const ColumnChoice& choice,
                                const RowVisitor& visit);

  bool failed() const { return failure_.has_value(); }

 protected:
  // A decimal has more digits than its column, of a table or of one by its id.
  const base::Error& misuse_of_precision(const Table& table, base::ColumnId column);
  const base::Error& misuse_of_precision(base::TableId table, base::ColumnId column);

  // While it lives, the procedure looks up other rows than those of its plan: a plan's on the way.
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

  // The transaction cannot commit, for the first such reason: kConflict, kAlreadyExists after an
  // update to a taken key, kInvalidArgument for what a procedure must not do. Every operation
  // then fails with it.
  const base::Error& fail(base::Error failure);
  // Begins and counts an operation. False: the transaction has failed, or fails now, since it has
  // done as many as it may.
  bool begin_operation(uint64_t count = 1) {
    if (operations_left_ < count) [[unlikely]] {
      run_out();
      return false;
    }
    operations_left_ -= count;
    return true;
  }
  void run_out();
  // A mistake of the procedure with a row of the table; one that names the table itself.
  const base::Error& misuse(const Table& table, std::string_view what);
  const base::Error& misuse(const base::Error& mistake);
  const base::Error& misuse_of_handle();
  const base::Error& misuse_of_unbound();
  void misuse_of_primary_key(const WriteShape& shape);
  const base::Error& misuse_of_unclaimed(const RowHandle& handle, const WriteShape* shape);
  // Of a serializable transaction: what it finds by the key, or that there is nothing.
  void record_lookup(const TableIndex& index, const base::Key& key, const ColumnChoice& choice,
                     const Found& found);
  // The shape's column groups are this transaction's, or, without a shape, some of the row: one of
  // their writes. nullptr, and the transaction has failed: they are not.
  Write* own_write(const RowHandle& handle, const WriteShape* shape);
  // An inserted row is erased: its entries go at once, so that rows which come and go under one key
  // do not lie in each other's way.
  void forget_inserted_keys(const Write& write);
  // False, and the transaction has failed.
  bool claim_group(const RowHandle& handle, uint32_t group);
  bool claim_groups(const RowHandle& handle, std::span<const base::ColumnId> columns);
  base::Result<void> scan_ordered(const TableIndex& index, const KeyRange& range,
                                  const ScanOptions& options, const ColumnChoice& choice,
                                  const RowVisitor& visit);
  base::Result<void> scan_one(const TableIndex& index, const KeyRange& range,
                              const ColumnChoice& choice, const RowVisitor& visit);
  // Whether the index's entries of a row are of its visible version.
  static bool is_exact(const TableIndex& index) {
    // relaxed: see update_keys.
    return !index.by_hash && (index.primary || !index.rekeyed.load(std::memory_order_relaxed));
  }
  // nullptr: the snapshot has no such row, or it has another key than `has_key` wants.
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
  bool unrecorded_;  // no read is validated at the end
  std::optional<base::Error> failure_;
  const TableIndex* taken_ = nullptr;  // where an insert met its key, the last that did
  uint64_t operations_left_;           // 0 once it has failed
  uint32_t stamp_;
};

}  // namespace diptych::oltp
