// Worker: runs transactions one after the other, with its own write set, undo memory, string
// memory, slots and update sets.
//
//   begin -> operations (transaction_core.cpp) -> commit or roll_back -> ... -> finish_batch
//
// Threads    one thread during a batch; the leader at boundaries (finish_batch, take_updates).
//
// Invariants
//   W1  writes_ has every row that the running transaction owns, at its Undo's write_index: once
//       for each owned column group, or once as a whole if it inserted the row. After commit or
//       roll_back the worker owns no row; words may name Undos that are rolled back.
//   W2  Memory that a batch supersedes is retired, and reclaimed only by finish_batch: pointers to
//       strings, undo records and slots stay valid for the batch.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "base/key.h"
#include "base/result.h"
#include "base/types.h"
#include "oltp/access_plan.h"
#include "oltp/dead_entries.h"
#include "oltp/empty_ranges.h"
#include "oltp/engine_core.h"
#include "oltp/read_set.h"
#include "oltp/request.h"
#include "oltp/row_reader.h"
#include "oltp/row_table.h"
#include "oltp/run_mark.h"
#include "oltp/string_memory.h"
#include "oltp/table.h"
#include "oltp/transaction.h"
#include "oltp/worker_tables.h"
#include "oltp/write.h"
#include "oltp/write_shape.h"
#include "propagation/export/update_set.h"

namespace diptych::oltp {

// One worker's results in one batch.
struct WorkerReport {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t conflicts = 0;
  std::vector<Request*> unrun, conflicted;  // conflicted: in every run
  std::vector<SlowRun> slow;
};

// Calls the procedure, and keeps the texts of its reply; an exception becomes an error.
base::Result<void> call_body(const ProcedureDefinition& procedure, Transaction& txn,
                             Request* request);

class Worker {
 public:
  Worker(EngineCore* core, base::WorkerId id);

  // Replays the requests (Engine::replay_batch). Only the leader calls it.
  base::Result<void> replay(std::span<Request* const> requests, InsertedOfRequests inserted);
  std::span<const base::RowId> inserted_rows(const InsertedRows& rows) const {
    return std::span(inserted_rows_).subspan(rows.first, rows.count);
  }

  void run_share(std::span<Request* const> requests, uint64_t deadline_ns);
  // The request's hint, if it has one (batch_order.h); marked and timed as in run_timed.
  std::optional<uint64_t> partition_of(const Request& request, uint64_t* now_ns);
  WorkerReport& report() { return report_; }
  const RunMark& mark() const { return mark_; }  // any thread
  const std::string& running_name() const { return running_->name; }
  StringMemory& strings() { return strings_; }  // between batches
  size_t undo_bytes() const { return undo_.allocated_bytes(); }

  void add_table();                        // by the leader, after the core got a table
  void change_indexes();                   // by the leader, after a table got or lost an index
  void forget_table(base::TableId table);  // likewise, before it is dropped
  // The row's long strings are free from the boundary on.
  void retire_strings(const Table& table, const std::byte* row);

  // The boundary. The leader calls forget_rolled_back_owners() for all workers, then
  // drop_dead_entries() for all, then finish_batch() for all.
  void forget_rolled_back_owners();
  void drop_dead_entries();  // by the workers' threads in parallel, or by the leader
  size_t dead_entries() const { return dead_.count(); }
  void bury_dead_rows();  // makes their slots reusable
  void finish_batch();
  std::span<const base::TableId> touched_tables() const { return tables_.touched(); }
  void touch(const Table& table) { tables_.touch(table); }
  void forget_touched_tables() { tables_.forget_touched(); }  // the boundary's last step
  void forget_free_slots();                                   // before RowTable::free_dead_slots()
  void forget_rows();  // drops all state of rows (Engine::clear)
  // Appends the sealed, non-empty update sets.
  void take_updates(std::vector<propagation::SealedSet>* sets);

  // Loading, by the leader between batches (engine_load.cpp).
  base::Result<base::RowId> load_row(Table* table, const std::byte* row, base::Vid vid);
  base::Result<void> put_row(Table* table, base::RowId row_id, const std::byte* row, base::Vid vid);
  void unload_row(Table* table, base::RowId row_id);

 private:
  friend class TransactionCore;
  friend class TableReplay;

  struct RolledBackRow {
    RowSlot* slot;
    const Undo* undo;
  };

  // How far ahead of the running request plans are made, and rows are fetched.
  static constexpr size_t kPlansAhead = 8;
  static constexpr size_t kRowsAhead = 4;
  using Share = std::span<Request* const>;
  AccessPlan* plan_of(size_t position) { return &plans_[position % kPlansAhead]; }
  // now_ns: null in a replay, which nobody watches.
  void plan_access(Share requests, size_t position, uint64_t* now_ns);

  // Between transactions. False: they are few. `oldest_read`: of all later transactions, if known.
  bool drop_many_dead_entries(std::optional<base::Vid> oldest_read = {});
  base::Vid begin_snapshot();  // returns the VID to read
  enum class RunEnd : uint8_t { kEnded, kConflict };
  // Calls run(), marked and timed. *now_ns is the time before it, and is set to the time after it.
  template <class Run>
  void run_timed(base::ProcedureId procedure, uint64_t* now_ns, const Run& run);
  void run_or_defer(Request* request, PlannedRows planned, uint64_t* now_ns);
  RunEnd run(Request* request, PlannedRows planned);
  void retry_deferred(uint64_t deadline_ns);  // what has conflicted, in this batch
  bool give_up(Request* request);

  // False if the reads of a serializable transaction have changed (read_set.h); it is rolled back.
  bool commit(Transaction* txn, Request* request);
  bool changes_anything() const;
  // Appends the update records with the VID, which may be raised later. False if the transaction
  // changes nothing.
  bool export_writes(uint64_t vid);
  // nullptr if the write has no record of its own.
  propagation::UpdateRecord* export_write(const Write& write, base::Vid vid);
  void take_back_exports();  // for a transaction that gets no VID after all
  // Makes the write visible as of the VID; releases a row that was claimed and not written.
  void publish(const Write& write, base::Vid vid);
  void stamp(const Write& write, uint32_t group, uint64_t word) {
    RowVersion& version = write.slot->group(group);
    if (!is_single()) return version.commit(write.undo, word);
    // relaxed: one worker.
    version.word.store(word, std::memory_order_relaxed);
  }
  // Kills an inserted row that nobody will see; its entries are gone, or the caller erases them.
  void kill_inserted(const Write& write);
  // The columns written in all groups of the row, which make one record. nullptr if there are none,
  // or if an earlier write's record has them.
  const WriteShape* shape_of_record(const Write& write) {
    if (write.shape == nullptr || write.table->layout.group_count == 1) return write.shape;
    return shape_of_groups(write);
  }
  const WriteShape* shape_of_groups(const Write& write);
  void roll_back();
  void restore_row(const Write& write);
  void clear_run();

  base::Result<void> replay_one(Request* request, std::span<const base::RowId> inserted,
                                PlannedRows planned);
  // A slot for a new row (nullopt: the table may not grow); in a replay its old one, if it is free.
  std::optional<base::RowId> take_slot(Table* table) {
    if (replays_) [[unlikely]]
      return take_replayed_slot(table);
    const auto row_id = tables_.touch(*table).slots.allocate(&table->rows, core_->may_grow());
    if (core_->options.note_inserted_rows && row_id) inserted_rows_.push_back(*row_id);
    return row_id;
  }
  std::optional<base::RowId> take_replayed_slot(Table* table);

  bool is_single() const { return core_->concurrency == Concurrency::kSingle; }
  bool is_own(uint64_t word) const { return RowSlot::is_owned_by(word, id_); }
  // The row as the running transaction sees it: in place if nobody else can be writing it,
  // otherwise a copy that is valid until the next call. nullptr if there is none.
  const std::byte* visible_row(const Table& table, const RowSlot& slot, base::Vid read_vid,
                               const ColumnChoice& choice) const;

  // Operations on the write set.
  Undo* make_undo(uint64_t replaced, const Undo* older, uint32_t group) {
    return new (undo_.allocate(sizeof(Undo)))
        Undo{replaced,
             is_single() ? replaced : RowSlot::without_owner(replaced),
             older,
             nullptr,
             static_cast<uint32_t>(writes_.size()),
             id_,
             static_cast<uint8_t>(group),
             false,
             false};
  }
  Write& add_write(Table* table, RowSlot* slot, base::RowId row_id, Undo* undo, WriteKind kind) {
    return writes_.emplace_back(Write{table, slot, row_id, undo, nullptr,
                                      static_cast<uint32_t>(string_changes_.size()), kind, false,
                                      false});
  }
  void drop_newest_write() { writes_.pop_back(); }
  // nullptr if the running transaction does not own the row's group, or has erased the row.
  Write* write_of(const RowSlot& slot, uint32_t group) {
    // acquire: reads another worker's Undo.
    const uint64_t word = slot.group(group).word.load(std::memory_order_acquire);
    if (!is_own(word) || RowSlot::undo_of(word)->erased) return nullptr;
    return &writes_[RowSlot::undo_of(word)->write_index];
  }
  // One of the writes of the shape's groups; nullptr if the transaction does not own all groups.
  Write* find_write(const RowHandle& handle, const WriteShape& shape) {
    return shape.parts.empty() ? write_of(*handle.slot, shape.group) : find_writes(handle, shape);
  }
  Write* find_writes(const RowHandle& handle, const WriteShape& shape);
  // The write of any group of the row; nullptr if the transaction owns none.
  Write* find_any_write(const RowHandle& handle);
  // Prepares the erasing of a row that is owned as a whole; returns group 0's write.
  Write* erase_groups(const RowHandle& handle);
  // Copies the row into the slot, with copies of its long strings.
  void fill_slot(const Table& table, RowSlot* slot, const std::byte* row);
  // As open_row() and close_row(), for a single worker and plain columns: keeps their images.
  void open_plain(Write* write, const WriteShape& shape) {
    if (write->kind == WriteKind::kUpdate) note_shape(write, shape);
  }
  // Opens the row for new cells, after saving the images, strings and keys of the present ones.
  WritableRow open_row(Write* write, const WriteShape& shape);
  // Ends a write: copies the new cells' long strings, moves the row in the indexes, and shows it.
  // kInvalidArgument (too long a string or key), kConflict, kAlreadyExists fail the transaction.
  base::Result<void> close_row(const WritableRow& open, base::Vid read_vid);
  void keep_own_images(const Write& write, const WriteShape& shape) {
    std::byte* memory = undo_.allocate(shape.image_bytes);
    for (const WordSpan span : shape.words) {
      keep_image(*write.slot, span, new (memory) BeforeImage, write.undo);
      memory += sizeof(BeforeImage) + size_t{8} * span.count;
    }
  }
  // Called before the group's columns change: notes them for the record, and saves the images of
  // their words. So all words of the write's shape have images.
  void note_shape(Write* write, const WriteShape& shape) {
    if (write->shape == &shape) return;
    if (write->shape != nullptr) return add_shape(write, shape);
    keep_own_images(*write, shape);
    write->shape = &shape;
  }
  void add_shape(Write* write, const WriteShape& shape);
  void keep_old_keys(Write* write, const WriteShape& shape);
  void keep_old_strings(const Write& write, const WriteShape& shape);
  void copy_new_strings(const WritableRow& open);
  KeyVerdict key_verdict(const TableIndex& index, std::string_view key, base::RowId row_id,
                         base::Vid read_vid) const;
  IndexInsert insert_entry(TableIndex* index, const base::Key& key, base::RowId row_id,
                           base::Vid read_vid) noexcept;
  void log_keys(Write* write);
  // Moves the row in the indexes whose keys are in old_keys_.
  base::Result<void> update_keys(const Write& write, base::Vid read_vid);
  // Erases an inserted row's entries from the first indexes.
  void erase_inserted_entries(const Write& write, size_t index_count) noexcept;
  // Undoes the newest write, an insert that reached only the first indexes.
  void undo_insert(size_t index_count) noexcept;
  void take_row(Table* table, base::RowId row_id, size_t index_count);
  propagation::UpdateSet& updates_of(const Table& table) {
    std::unique_ptr<propagation::UpdateSet>& updates = tables_[table].updates;
    if (updates == nullptr) [[unlikely]]
      tables_.touch(table).updates = core_->queue->take_empty();
    return *updates;
  }

  EngineCore* core_;
  base::WorkerId id_;
  StringMemory strings_;
  base::Arena undo_;
  mutable RowReader reader_;
  WorkerTables tables_;
  WriteShapes shapes_;

  RunMark mark_;
  uint32_t stamp_;  // of the newest transaction; stamps of two workers differ

  // The running transaction's.
  const ProcedureDefinition* running_ = nullptr;
  ReadSet reads_;
  EmptyRanges empty_ranges_;
  std::vector<Write> writes_;
  std::vector<KeyChange> key_changes_;
  std::vector<StringChange> string_changes_;
  std::vector<propagation::UpdateRecord*> records_;  // appended; their VIDs are not final
  std::vector<uint64_t> staged_row_;                 // of a write between open and close
  std::vector<OldKey> old_keys_;                     // likewise
  bool replays_ = false;
  std::span<const base::RowId> replayed_rows_;  // in a replay: rows still to be inserted

  // The batch's.
  std::vector<base::RowId> inserted_rows_;  // of committed transactions and the running one
  DeadEntries dead_;
  std::vector<RolledBackRow> rolled_back_;
  std::vector<Request*> deferred_;
  std::vector<AccessPlan> plans_;  // of the requests ahead, in a ring
  WorkerReport report_;
};

}  // namespace diptych::oltp
