// TransactionCore: the untyped operations under Transaction (oltp/transaction.h), on row bytes in
// the table's RowLayout. Version control, write set, commit and rollback live here.
//
// Threads    one worker. Created by the worker for one run of one procedure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/ids.h"
#include "base/key.h"
#include "base/result.h"
#include "base/types.h"
#include "oltp/row_reader.h"
#include "oltp/table_ref.h"

namespace diptych::oltp {

struct TableIndex;
struct Write;
class Worker;

// Where the new cells of a write go.
struct WritableRow {
  std::byte* row = nullptr;
  Write* write = nullptr;
};

// Where a row is. Valid until the transaction ends.
struct RowHandle {
  base::TableId table;
  uint32_t transaction = 0;  // the stamp of the one that got it
  base::RowId row_id;
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
  // `operations_max`: then the transaction fails. `stamp`: no other one's of late.
  TransactionCore(Worker* worker, base::Vid read_vid, base::Timestamp now, uint64_t random_seed,
                  uint64_t operations_max, uint32_t stamp)
      : read_vid_(read_vid),
        now_(now),
        random_state_(random_seed),
        worker_(worker),
        operations_left_(operations_max),
        stamp_(stamp) {}
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
  base::Result<Found> find_unique(base::TableId table, base::IndexId index, const base::Key& key,
                                  const ColumnChoice& choice);
  static constexpr size_t kFetchMax = 16;
  // Fetches the rows of up to kFetchMax keys, and what leads to them, so that their misses overlap;
  // of a hash index.
  void fetch(base::IndexId index, std::span<const base::Key> keys,
             const ColumnChoice& choice) const;
  base::Result<const std::byte*> claim_row(const RowHandle& handle);
  // Null: the handle is one of this transaction's, of a table whose columns have these names
  // (base::names_hash). Otherwise the transaction has failed, with this.
  const base::Error* check_handle(const RowHandle& handle, uint64_t names_hash);
  // An update: the row for new values of the columns (its `row` is null if the transaction has
  // failed), and then that they are there. Long strings are copied from where they point.
  WritableRow open_row(const RowHandle& handle, std::span<const base::ColumnId> columns);
  void close_row(const WritableRow& open, std::span<const base::ColumnId> columns);
  base::Result<RowHandle> insert_row(base::TableId table, const std::byte* row);
  void erase_row(const RowHandle& handle);
  base::Result<void> scan_range(base::TableId table, base::IndexId index, const KeyRange& range,
                                const ScanOptions& options, const ColumnChoice& choice,
                                const RowVisitor& visit);

 private:
  friend class Worker;

  // The transaction cannot commit, for the first such reason: kConflict, kAlreadyExists after an
  // update to a taken key, kInvalidArgument for what a procedure must not do. Every operation
  // then fails with it.
  const base::Error& fail(base::Error failure);
  bool failed() const { return failure_ != nullptr; }
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
  // A mistake of the procedure with a row of the table.
  const base::Error& misuse(base::TableId table, std::string_view what);
  // nullptr, and the transaction has failed: the row is not this transaction's to write.
  Write* own_write(const RowHandle& handle);
  base::Result<void> scan_ordered(const TableIndex& index, const KeyRange& range,
                                  const ScanOptions& options, const ColumnChoice& choice,
                                  const RowVisitor& visit);
  base::Result<void> scan_one(const TableIndex& index, const KeyRange& range,
                              const ColumnChoice& choice, const RowVisitor& visit);
  // nullptr: the snapshot has no such row, or it has another key than `has_key` wants.
  template <class HasKey>
  const std::byte* visible_row(const TableIndex& index, base::RowId row_id,
                               const ColumnChoice& choice, const HasKey& has_key) const;

  base::Vid read_vid_;
  base::Timestamp now_;
  uint64_t random_state_;
  Worker* worker_;
  std::unique_ptr<const base::Error> failure_;
  uint64_t operations_left_;  // 0 once it has failed
  uint32_t stamp_;
};

}  // namespace diptych::oltp
