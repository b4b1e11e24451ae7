// Engine: the OLTP replica: tables, indexes, procedures and workers, one batch at a time.
//
//   idle -> [run_batch] -> workers run their shares -> [all done] -> boundary:
//        versions and dead slots reclaimed, update sets sealed and pushed
//        -> [run_batch returns] idle
//
// Threads    the leader (one thread at a time: the OLTP dispatcher's) calls everything here; it is
//            worker 0 and runs its share itself, so one worker means no hand-over at all. Further
//            workers have threads of their own, pinned, asleep between batches.
// When full  a batch stops taking requests of its share after `batch_time_max_ns`; the rest come
//            back as not run.
//
// Invariants
//   E1  At a boundary no transaction runs, every row has one version, and every committed update
//       with VID <= last_vid() has been pushed to the update queue (if export is on).
//   E2  Commit VIDs are dense and in commit order.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/parker.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "base/schema.h"
#include "base/topology.h"
#include "oltp/isolation.h"
#include "oltp/procedure.h"
#include "oltp/request.h"
#include "oltp/row_batch.h"
#include "oltp/run_mark.h"
#include "propagation/export/export_mode.h"
#include "propagation/export/load_sink.h"
#include "propagation/export/record_run.h"
#include "propagation/export/update_queue.h"

namespace diptych::oltp {

struct EngineOptions {
  base::SidePlacement placement;  // at most kWorkersMax threads (index.h)
  bool export_updates = true;     // off: no replica is kept up to date
  // Whole rows with one worker only: of a row's other column groups, another may be at work.
  propagation::ExportMode export_mode = propagation::ExportMode::kColumns;
  uint64_t batch_time_max_ns = 5'000'000;  // the push limit
  uint32_t conflicts_max = 1000;           // then the caller gets kConflict
  uint64_t operations_max = 10'000'000;    // of a transaction, and rows that its scans look at
  uint64_t slow_run_ns = UINT64_MAX;       // runs that take longer are in the BatchReport
  IsolationLevel isolation = IsolationLevel::kSnapshot;  // of procedures that do not say it
  bool note_inserted_rows = false;  // for inserted_rows(): who logs calls needs them
  // Of workers that wait for each other: brief where all threads of the machine have cores.
  base::SpinPolicy spin = base::SpinPolicy::kNever;
  // Where the pages of new memory are made ready, ahead of the workers; empty: by themselves.
  std::vector<uint32_t> background_cores;
  // Called by the leader at a boundary with what it is about to push: for who logs updates.
  std::function<void(std::span<const propagation::SealedSet>)> before_push;
};

struct SlowRun {
  base::ProcedureId procedure;
  uint64_t ns = 0;
};

struct BatchReport {
  bool has_run = false;         // else there was nothing, or the replica is lost: `again` has all
  uint64_t committed = 0;       // with and without writes
  uint64_t aborted = 0;         // by the procedure or by an error
  uint64_t conflicts = 0;       // runs that ended in a conflict and were repeated
  std::vector<Request*> again;  // not finished: put them into the next batch, first
  std::vector<SlowRun> slow;
};

struct EngineMetrics {
  uint64_t batches = 0;
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t conflicts = 0;
  // Memory, in bytes.
  size_t row_bytes = 0;
  size_t string_bytes = 0;  // long strings of rows
  size_t undo_bytes = 0;    // older versions
  size_t index_bytes = 0;

  size_t memory_bytes() const { return row_bytes + string_bytes + undo_bytes + index_bytes; }
};

// By request: its slots, as Engine::inserted_rows gave them.
using InsertedOfRequests = std::span<const std::span<const base::RowId>>;

class TableRestore;  // oltp/table_restore.h

class Engine {
 public:
  Engine(const base::Catalog* catalog, const EngineOptions& options,
         propagation::UpdateQueue* queue);
  ~Engine();

  // Between batches: the catalog got a table or an index.
  void add_table(base::TableId table);
  // kAlreadyExists: a unique index and rows with equal keys (named in the message).
  // kInvalidArgument: a row's key is longer than a key may be. kOutOfMemory.
  base::Result<void> add_index(base::TableId table, base::IndexId index);

  // Ids are dense, in the order of registration. Names are the caller's to keep apart.
  base::ProcedureId register_procedure(ProcedureDefinition definition);
  // The same for who does more with it, all or nothing: with room made, it does not throw.
  void make_room_for_procedures(size_t more);
  base::ProcedureId register_procedure(std::unique_ptr<ProcedureDefinition> definition);
  // Between batches: from the next one on, the id means this one, with buffers of the same sizes.
  // The old one is destroyed here. Does not throw.
  void replace_procedure(base::ProcedureId id, ProcedureDefinition definition);

  // Runs the requests, whose buffers fit their procedures; sets outcome, read_vid and commit_vid of
  // all but report.again.
  BatchReport run_batch(std::span<Request* const> requests);

  // The slots that the transaction took for rows, in the order of its inserts, those included that
  // were refused or erased again: what a replay needs besides the call. Valid until the next batch;
  // only with note_inserted_rows.
  std::span<const base::RowId> inserted_rows(const Request& request) const;

  // Runs calls again that committed in one batch, all that did, in the order of their commit VIDs.
  // Of a request, procedure, arguments, now, random_seed, read_vid and commit_vid are as they were:
  // it reads the snapshot that it read, its rows get the RowIDs that they had, and it gets its VID.
  // The order makes conflicts impossible; one thread runs them. kCorrupt: a call did something else
  // than it once did, or read older data than its batch began with; the engine must then be
  // discarded.
  base::Result<void> replay_batch(std::span<Request* const> requests, InsertedOfRequests inserted);
  // The same from the updates that some batches have exported, in place of their calls: no
  // procedure runs. All workers take part, and the updates are pushed as one batch's. They were
  // checked (check_records). kCorrupt: they do not fit what is there.
  base::Result<void> replay_updates(std::span<const propagation::BatchRuns> batches);

  // Inserts all rows that `next` gives (it returns an empty batch at the end) as one transaction,
  // or none: an error of `next`'s own; kAlreadyExists names the row (counted from 1) and the key;
  // kOutOfMemory.
  // `sink` gets the rows, in place of update records; nullptr: no replica does.
  base::Result<base::Vid> load(base::TableId table,
                               const std::function<base::Result<RowBatch>()>& next,
                               propagation::LoadSink* sink);

  // The replica's memory counts as lost from now on, as after a crash of its workers: a batch that
  // runs ends before their next transactions, with nothing that it did, and gives all its requests
  // back, as each further one does until restart_empty. Any thread.
  void lose();
  // Between batches: tables and indexes are empty, procedures stay; the newest VID is the one that
  // was pushed last. What opens a database follows: restore_table and so on.
  void restart_empty();

  // For opening a database: puts back the rows of a table, which is empty, under their RowIDs; from
  // so many threads (table_restore.h). Afterwards finish_restore sets the VID, replay_batch may
  // follow, and release_free_slots comes before anything else.
  std::unique_ptr<TableRestore> restore_table(base::TableId table, uint64_t rows_max,
                                              uint32_t lanes);
  void finish_restore(base::Vid vid);
  void release_free_slots();

  // Between batches: every live row, newest version. A row stays where it is until the next batch.
  void for_each_row(base::TableId table,
                    const std::function<void(base::RowId, const std::byte* row)>& visit) const;
  uint64_t row_count(base::TableId table) const;
  // Between batches: stops where an index is not whole or has not just the table's rows.
  void check_indexes() const;

  base::Vid last_vid() const;
  EngineMetrics metrics() const;  // any thread
  // What workers run at the moment. Any thread.
  std::vector<RunningProcedure> running() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace diptych::oltp
