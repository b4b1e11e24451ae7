// Worker: runs transactions: one after the other, with write set, version memory, slots and update
// sets of its own.
//
//   begin -> operations (transaction_core.cpp) -> commit or roll_back -> ... -> finish_batch
//
// Threads    one thread during a batch; the leader at boundaries (finish_batch, take_updates).
//
// Invariants
//   W1  Every version that the running transaction owns is the head of its slot and is in writes_,
//       at its write_index. After commit or roll_back the worker owns none.
//   W2  What a batch supersedes or kills is retired, and reclaimed only by finish_batch: pointers
//       into rows and slots stay valid for the batch.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "oltp/engine_core.h"
#include "oltp/request.h"
#include "oltp/row_table.h"
#include "oltp/table.h"
#include "oltp/transaction.h"
#include "oltp/version_memory.h"
#include "propagation/export/update_set.h"

namespace diptych::oltp {

enum class WriteKind : uint8_t { kUpdate, kInsert, kErase, kInsertErased };

// A row that the running transaction owns.
struct Write {
  Table* table;
  RowTable::Slot* slot;
  base::RowId row_id;
  Version* version;   // the owned head
  Version* previous;  // the committed version under it; null for an insert
  uint32_t columns;   // where its bitmap of written columns begins in column_words_
  WriteKind kind;
  bool keys_logged;  // of an inserted row: key_changes_ has its keys as inserted
};

// A row's index entry that the transaction wrote or made obsolete.
struct KeyChange {
  TableIndex* index;
  base::RowId row_id;
  std::string key;
  bool inserted;  // by this transaction: a rollback erases it
};

// What one worker did in one batch.
struct WorkerReport {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t conflicts = 0;
  std::vector<Request*> again;
};

class Worker {
 public:
  Worker(EngineCore* core, base::WorkerId id);

  // Runs every stride-th request from `first` on.
  void run_share(std::span<Request* const> requests, size_t first, size_t stride,
                 uint64_t deadline_ns);
  WorkerReport& report() { return report_; }

  void add_table();  // the leader: the core has one more

  // The boundary, by the leader, for each worker in turn: first drop_dead_entries of all, then
  // finish_batch of all.
  void drop_dead_entries();
  void finish_batch();
  // Appends the sealed, non-empty update sets.
  void take_updates(std::vector<propagation::SealedSet>* sets);

  // Loading, by the leader between batches (engine_load.cpp).
  base::Result<base::RowId> load_row(Table* table, const std::byte* row, base::Vid vid);
  base::Result<void> put_row(Table* table, base::RowId row_id, const std::byte* row, base::Vid vid);
  void unload_row(Table* table, base::RowId row_id);
  void discard_updates(base::TableId table);

 private:
  friend class TransactionCore;

  struct TableState {
    SlotAllocator slots;
    std::unique_ptr<propagation::UpdateSet> updates;
    int64_t row_count_change = 0;
  };
  struct DeadRow {
    Table* table;
    RowTable::Slot* slot;
    base::RowId row_id;
    Version* tombstone;  // null: only the slot is left
  };

  enum class RunEnd : uint8_t { kEnded, kConflict };
  RunEnd run(Request* request);
  // Runs it again after a conflict, in this batch or the next.
  void retry_deferred(uint64_t deadline_ns);
  bool give_up(Request* request);

  void commit(Transaction* txn, Request* request);
  // After the stamps: exports the write and retires what it replaced.
  void settle(const Write& write, base::Vid vid);
  void roll_back();
  void clear_run();

  // Operations on the write set.
  Version* copy_version(const Table& table, const std::byte* row);
  Write& add_write(Table* table, RowTable::Slot* slot, base::RowId row_id, Version* version,
                   Version* previous, WriteKind kind);
  // nullptr: the running transaction does not own the row, or has erased it.
  Write* find_write(const RowHandle& handle);
  void replace_version(Write* write);
  KeyVerdict key_verdict(const TableIndex& index, std::string_view key, base::RowId row_id,
                         base::Vid read_vid) const;
  IndexInsert insert_entry(TableIndex* index, const base::Key& key, base::RowId row_id,
                           base::Vid read_vid);
  void log_keys(Write* write);
  // Moves the row in the indexes that have a column of `columns`.
  // kConflict, kAlreadyExists, kInvalidArgument (the key is too long).
  base::Result<void> update_keys(const Write& write, std::span<const base::ColumnId> columns,
                                 base::Vid read_vid);
  // The row's key in the index before the present update; the view may point into `key`.
  std::string_view current_key(const TableIndex& index, const Write& write, base::Key* key) const;
  // Of an inserted row, from the first indexes.
  void erase_inserted_entries(const Write& write, size_t index_count);
  // Takes back the newest write, an insert that reached only the first indexes.
  void undo_insert(size_t index_count);
  void take_row(Table* table, base::RowId row_id, Version* version, size_t index_count);
  propagation::UpdateSet& updates_of(const Table& table);

  EngineCore* core_;
  base::WorkerId id_;
  uint64_t own_tag_;
  VersionMemory memory_;
  std::vector<TableState> tables_;  // [TableId]

  // The running transaction's.
  std::vector<Write> writes_;
  std::vector<uint64_t> column_words_;
  std::vector<KeyChange> key_changes_;
  std::vector<base::ColumnId> columns_;  // of the write that is being exported

  // The batch's.
  std::vector<DeadRow> dead_rows_;
  std::vector<KeyChange> stale_keys_;
  std::vector<Request*> deferred_;
  WorkerReport report_;
};

}  // namespace diptych::oltp
