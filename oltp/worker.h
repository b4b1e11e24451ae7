// Worker: runs transactions: one after the other, with write set, undo, string memory, slots and
// update sets of its own.
//
//   begin -> operations (transaction_core.cpp) -> commit or roll_back -> ... -> finish_batch
//
// Threads    one thread during a batch; the leader at boundaries (finish_batch, take_updates).
//
// Invariants
//   W1  Every row that the running transaction owns is in writes_, at its Undo's write_index: once
//       for each column group that it owns, but once as a whole where it has inserted it. After
//       commit or roll_back the worker owns none; words may name Undos that are rolled back.
//   W2  What a batch supersedes or kills is retired, and reclaimed only by finish_batch: pointers
//       to strings, undo records and slots stay valid for the batch.

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
#include "oltp/engine_core.h"
#include "oltp/read_set.h"
#include "oltp/request.h"
#include "oltp/row_reader.h"
#include "oltp/row_table.h"
#include "oltp/run_mark.h"
#include "oltp/string_memory.h"
#include "oltp/table.h"
#include "oltp/transaction.h"
#include "oltp/write.h"
#include "oltp/write_shape.h"
#include "propagation/export/update_set.h"

namespace diptych::oltp {

// What one worker did in one batch.
struct WorkerReport {
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t conflicts = 0;
  std::vector<Request*> unrun, conflicted;  // the latter in each run
  std::vector<SlowRun> slow;
};

// What the procedure throws is an error, too.
base::Result<void> call_body(const ProcedureDefinition& procedure, Transaction& txn,
                             const Request& request);

class Worker {
 public:
  Worker(EngineCore* core, base::WorkerId id);

  // Runs them again (Engine::replay_batch). The leader alone.
  base::Result<void> replay(std::span<Request* const> requests, InsertedOfRequests inserted);
  std::span<const base::RowId> inserted_rows(const InsertedRows& rows) const {
    return std::span(inserted_rows_).subspan(rows.first, rows.count);
  }

  void run_share(std::span<Request* const> requests, uint64_t deadline_ns);
  WorkerReport& report() { return report_; }
  const RunMark& mark() const { return mark_; }  // any thread
  const std::string& running_name() const { return running_->name; }
  size_t undo_bytes() const { return undo_.allocated_bytes(); }

  void add_table();       // the leader: the core has one more
  void change_indexes();  // the leader: a table has one more

  // The boundary, by the leader, for each worker in turn: first settle_rolled_back of all, then
  // drop_dead_entries of all, then finish_batch of all.
  void settle_rolled_back();
  void drop_dead_entries();  // any workers at once, each on its own thread, or the leader
  size_t rows_with_dead_entries() const;
  void bury_dead_rows();  // their slots may be used again
  void finish_batch();
  void forget_free_slots();  // before RowTable::free_dead_slots
  void forget_rows();        // and all that it did: there are none (Engine::restart_empty)
  // Appends the sealed, non-empty update sets.
  void take_updates(std::vector<propagation::SealedSet>* sets);

  // Loading, by the leader between batches (engine_load.cpp).
  base::Result<base::RowId> load_row(Table* table, const std::byte* row, base::Vid vid);
  base::Result<void> put_row(Table* table, base::RowId row_id, const std::byte* row, base::Vid vid);
  void unload_row(Table* table, base::RowId row_id);

 private:
  friend class TransactionCore;
  friend class TableReplay;

  struct TableState {
    SlotAllocator slots;
    std::unique_ptr<propagation::UpdateSet> updates;
    int64_t row_count_change = 0;
  };
  struct DeadRow {
    Table* table;
    RowSlot* slot;
    base::RowId row_id;
    bool has_entries;  // in the indexes, by the key that its bytes have
  };
  struct RolledBackRow {
    RowSlot* slot;
    const Undo* undo;
  };

  // Requests ahead of the one that runs: whose plans are made, and whose rows are fetched.
  static constexpr size_t kPlansAhead = 8;
  static constexpr size_t kRowsAhead = 4;
  using Share = std::span<Request* const>;
  void plan_access(Share requests, size_t position, AccessPlan* plan) const;

  // With one worker, between transactions: so that scans do not pass all. False: they are few.
  bool drop_many_dead_entries();
  enum class RunEnd : uint8_t { kEnded, kConflict };
  // The clock is at *now_ns, before and after.
  RunEnd run_timed(Request* request, PlannedRows planned, uint64_t* now_ns);
  RunEnd run(Request* request, PlannedRows planned);
  // Runs it again after a conflict, in this batch or the next.
  void retry_deferred(uint64_t deadline_ns);
  bool give_up(Request* request);

  // False: what a serializable transaction read has changed (read_set.h). It is then rolled back.
  bool commit(Transaction* txn, Request* request);
  bool changes_anything() const;
  // Appends the update records, which get the VID; it may be raised later on. False: the
  // transaction changes nothing.
  bool export_writes(uint64_t vid);
  // nullptr: the write has no record of its own.
  propagation::UpdateRecord* export_write(const Write& write, base::Vid vid);
  void take_back_exports();  // of a transaction that gets no VID after all
  // Shows the write to others, as of the VID; lets go a row that was claimed and not written.
  void publish(const Write& write, base::Vid vid);
  void stamp(const Write& write, uint32_t group, uint64_t word) {
    RowVersion& version = write.slot->group(group);
    if (!is_single()) return version.commit(write.undo, word);
    // relaxed: one worker.
    version.word.store(word, std::memory_order_relaxed);
  }
  // An inserted row that nobody will ever see; its entries are gone or the caller's to erase.
  void kill_inserted(const Write& write);
  // The columns that were written in any group of the row, so that they make one record. nullptr:
  // none were, or they are in the record of an earlier write.
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
  // A new row's slot; of a replay, the one that it had. Nothing: it had none, or there is a row.
  std::optional<base::RowId> take_slot(Table* table) {
    if (replays_) [[unlikely]]
      return take_replayed_slot(table);
    const base::RowId row_id = tables_[table->schema->id.value].slots.allocate(&table->rows);
    if (core_->options.note_inserted_rows) inserted_rows_.push_back(row_id);
    return row_id;
  }
  std::optional<base::RowId> take_replayed_slot(Table* table);

  bool is_single() const { return core_->concurrency == Concurrency::kSingle; }
  bool is_lost() const {
    // relaxed: the batch ends a little sooner or later.
    return core_->lost.load(std::memory_order_relaxed);
  }
  bool is_own(uint64_t word) const { return RowSlot::is_owned_by(word, id_); }
  // The row as the running transaction sees it: in place where nobody else can be at it, else a
  // copy that stays until the next call. nullptr: there is none.
  const std::byte* visible_row(const Table& table, const RowSlot& slot, base::Vid read_vid,
                               const ColumnChoice& choice) const;

  // Operations on the write set.
  Undo* make_undo(uint64_t replaced, const Undo* older, uint32_t group) {
    return new (undo_.allocate(sizeof(Undo)))
        Undo{replaced,
             is_single() ? replaced : RowSlot::settled(replaced),
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
  // nullptr: the running transaction does not own the row's group, or has erased the row.
  Write* write_of(const RowSlot& slot, uint32_t group) {
    // acquire: another worker's Undo is looked into.
    const uint64_t word = slot.group(group).word.load(std::memory_order_acquire);
    if (!is_own(word) || RowSlot::undo_of(word)->erased) return nullptr;
    return &writes_[RowSlot::undo_of(word)->write_index];
  }
  // One of the writes of the shape's groups; nullptr: it does not own all of them.
  Write* find_write(const RowHandle& handle, const WriteShape& shape) {
    return shape.parts.empty() ? write_of(*handle.slot, shape.group) : find_writes(handle, shape);
  }
  Write* find_writes(const RowHandle& handle, const WriteShape& shape);
  // Of any group of the row; nullptr: it owns none.
  Write* find_any_write(const RowHandle& handle);
  // The whole row is owned and will be erased; gives group 0's write.
  Write* erase_groups(const RowHandle& handle);
  // Copies the row into the slot, with copies of its long strings.
  void fill_slot(const Table& table, RowSlot* slot, const std::byte* row);
  // As open_row and close_row where one worker is at plain columns: keeps their images.
  void open_plain(Write* write, const WriteShape& shape) {
    if (write->kind == WriteKind::kUpdate) note_shape(write, shape);
  }
  // The row for new cells of the columns: images, strings and keys of the present ones are kept.
  WritableRow open_row(Write* write, const WriteShape& shape);
  // The new cells are in the row: copies their long strings, moves it in the indexes, shows it.
  // kInvalidArgument (too long a string or key), kConflict, kAlreadyExists: the transaction fails.
  base::Result<void> close_row(const WritableRow& open, base::Vid read_vid);
  void keep_own_images(const Write& write, const WriteShape& shape) {
    std::byte* memory = undo_.allocate(shape.image_bytes);
    for (const WordSpan span : shape.words) {
      keep_image(*write.slot, span, new (memory) BeforeImage, write.undo);
      memory += sizeof(BeforeImage) + size_t{8} * span.count;
    }
  }
  // Before the group's columns change: that they will be in the record, and the images of their
  // words, which those have then that are in the write's shape.
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
  // Of an inserted row, from the first indexes.
  void erase_inserted_entries(const Write& write, size_t index_count) noexcept;
  // The newest write, an insert that reached only the first indexes, counts as erased again.
  void undo_insert(size_t index_count) noexcept;
  void take_row(Table* table, base::RowId row_id, size_t index_count);
  propagation::UpdateSet& updates_of(const Table& table) {
    std::unique_ptr<propagation::UpdateSet>& updates = tables_[table.schema->id.value].updates;
    if (updates == nullptr) [[unlikely]]
      updates = core_->queue->take_empty();
    return *updates;
  }

  EngineCore* core_;
  base::WorkerId id_;
  StringMemory strings_;
  base::Arena undo_;
  mutable RowReader reader_;
  std::vector<TableState> tables_;  // [TableId]
  WriteShapes shapes_;

  RunMark mark_;
  uint32_t stamp_;  // of the newest transaction; those of two workers differ

  // The running transaction's.
  const ProcedureDefinition* running_ = nullptr;
  ReadSet reads_;
  std::vector<Write> writes_;
  std::vector<KeyChange> key_changes_;
  std::vector<StringChange> string_changes_;
  std::vector<propagation::UpdateRecord*> records_;  // appended, their VIDs not final
  std::vector<uint64_t> staged_row_;                 // of the write between open and close
  std::vector<OldKey> old_keys_;                     // likewise
  bool replays_ = false;
  std::span<const base::RowId> replayed_rows_;  // that it will still insert, where it is replayed

  // The batch's.
  std::vector<base::RowId> inserted_rows_;  // of those that committed, and of the running one
  std::vector<DeadRow> dead_rows_;
  size_t rows_without_entries_ = 0;  // the first of dead_rows_
  std::vector<RolledBackRow> rolled_back_;
  std::vector<KeyChange> stale_keys_;
  std::vector<Request*> deferred_;
  std::vector<AccessPlan> plans_;  // of the requests ahead, in a ring
  WorkerReport report_;
};

}  // namespace diptych::oltp
