// Engine: the OLTP replica: tables, indexes, procedures and workers, one batch at a time.
//
//   idle -> [run_batch] -> workers run their shares -> [all done] -> boundary:
//        versions and dead slots reclaimed, update sets sealed and pushed
//        -> [run_batch returns] idle
//
// Threads    the leader (one thread at a time: the OLTP dispatcher's) calls all functions here. It
//            is worker 0 and runs its share itself, so one worker means no hand-over. Further
//            workers have their own pinned threads, which sleep between batches.
// When full  workers take no further requests of their share after `batch_time_max_ns`; the rest
//            are returned as not run.
//
// Invariants
//   E1  At a boundary no transaction runs, every row has one version, and every committed update
//       with VID <= last_vid() has been pushed to the update queue (if export is on).
//   E2  Commit VIDs are dense and in commit order.

#pragma once

#include <functional>
#include <memory>
#include <span>
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
  bool export_updates = true;     // false: no replica is kept up to date
  // Whole rows need a single worker, because another one may be writing the row's other groups.
  propagation::ExportMode export_mode = propagation::ExportMode::kColumns;
  uint64_t batch_time_max_ns = 5'000'000;  // the push limit
  uint32_t conflicts_max = 1000;           // repeated runs of a request before it gets kConflict
  uint64_t operations_max = 10'000'000;    // operations and scanned rows of a transaction
  uint64_t slow_run_ns = UINT64_MAX;       // the BatchReport lists runs that take longer
  IsolationLevel isolation = IsolationLevel::kSnapshot;  // for procedures without their own level
  bool note_inserted_rows = false;  // records inserted_rows(), which a log of calls needs
  // How workers wait for each other: spin briefly only if all threads of the machine have cores.
  base::SpinPolicy spin = base::SpinPolicy::kNever;
  // Cores whose threads prepare the pages of new memory ahead of the workers; empty: workers do it.
  std::vector<uint32_t> background_cores;
  // The leader calls it at a boundary with the sets that it is about to push, so that a log of
  // updates can write them.
  std::function<void(std::span<const propagation::SealedSet>)> before_push;
};

// Of a procedure's body, or of its access or partition function.
struct SlowRun {
  base::ProcedureId procedure;
  uint64_t ns = 0;
};

struct BatchReport {
  bool has_run = false;         // false: no requests, or the replica is lost and `again` has all
  uint64_t committed = 0;       // with and without writes
  uint64_t aborted = 0;         // by the procedure or by an error
  uint64_t conflicts = 0;       // runs that ended in a conflict and were repeated
  std::vector<Request*> again;  // unfinished requests, which go first in the next batch
  std::vector<SlowRun> slow;
};

struct EngineMetrics {
  uint64_t batches = 0;
  uint64_t committed = 0;
  uint64_t aborted = 0;
  uint64_t conflicts = 0;
  // Memory, in bytes.
  size_t row_bytes = 0;     // slots that were ever taken; of huge pages a table may have 2 MiB more
  size_t string_bytes = 0;  // long strings of rows
  size_t undo_bytes = 0;    // older versions
  size_t index_bytes = 0;

  size_t memory_bytes() const { return row_bytes + string_bytes + undo_bytes + index_bytes; }
};

// By request: its slots, as Engine::inserted_rows returned them.
using InsertedOfRequests = std::span<const std::span<const base::RowId>>;

class TableRestore;  // oltp/table_restore.h

class Engine {
 public:
  Engine(const base::Catalog* catalog, const EngineOptions& options,
         propagation::UpdateQueue* queue);
  ~Engine();

  // Adds a table that the catalog got. Between batches.
  void add_table(base::TableId table);
  // Drops a table with its rows and indexes: whoever uses it then is refused, as one that was never
  // bound is. Between batches.
  void drop_table(base::TableId table);
  // Takes all of a table's rows, as one transaction of which nothing is exported. Returns its VID.
  // Between batches.
  base::Vid truncate_table(base::TableId table);
  // Adds an index that the catalog got. Between batches. kAlreadyExists: the index is unique and
  // rows have equal keys (the message names them). kInvalidArgument: a row's key is too long.
  // kOutOfMemory.
  base::Result<void> add_index(base::TableId table, base::IndexId index);
  // Drops an index other than the primary key's; likewise.
  void drop_index(base::TableId table, base::IndexId index);

  // What rows, their strings and indexes may still take, in bytes; SIZE_MAX at first, and after
  // clear(). What would take more fails with kOutOfMemory: at 0 inserts that find no slot, and
  // texts that find no block, of rows that have gone; loads and new indexes that are larger than
  // the room. A batch is not measured before its end. Between batches.
  void set_room(size_t bytes);

  // Ids are dense, in the order of registration. The caller keeps names distinct.
  base::ProcedureId register_procedure(ProcedureDefinition definition);
  // For callers that register several procedures, all or nothing: after make_room_for_procedures(),
  // the second overload does not throw.
  void make_room_for_procedures(size_t more);
  base::ProcedureId register_procedure(std::unique_ptr<ProcedureDefinition> definition);
  // Gives the id a new definition, with buffers of the same sizes, from the next batch on, and
  // destroys the old one. Between batches. Does not throw.
  void replace_procedure(base::ProcedureId id, ProcedureDefinition definition);

  // Runs the requests, whose buffers fit their procedures. Sets outcome, read_vid and commit_vid of
  // all requests except those in report.again. If some have conflicted often in earlier batches,
  // only these run, on one worker, so that they make progress; report.again has the others.
  BatchReport run_batch(std::span<Request* const> requests);

  // The slots that the transaction took for rows, in the order of its inserts, including inserts
  // that were refused or erased again. A replay needs them besides the call. Valid until the next
  // batch; only with note_inserted_rows.
  std::span<const base::RowId> inserted_rows(const Request& request) const;

  // Runs again all calls that committed in one batch, in the order of their commit VIDs. Each
  // request has its original procedure, arguments, now, random_seed, read_vid and commit_vid: it
  // reads the same snapshot, its rows get the same RowIDs, and it gets the same VID. The order
  // makes conflicts impossible; one thread runs them. kCorrupt: a call behaved differently than
  // before, or read older data than its batch began with; the engine must then be discarded.
  base::Result<void> replay_batch(std::span<Request* const> requests, InsertedOfRequests inserted);
  // Replays the updates that batches have exported, instead of their calls; no procedure runs. All
  // workers take part, and the updates are pushed as those of one batch. The caller has checked
  // them (check_records). kCorrupt: they do not fit the existing rows.
  base::Result<void> replay_updates(std::span<const propagation::BatchRuns> batches);

  // Inserts all rows that `next` returns (an empty batch is the end) as one transaction, or none.
  // Errors: those of `next`; kAlreadyExists, which names the row (counted from 1) and the key;
  // kOutOfMemory. What `next` or `sink` throws goes on to the caller. `sink` gets the rows in place
  // of update records; nullptr: no replica gets them.
  base::Result<base::Vid> load(base::TableId table,
                               const std::function<base::Result<RowBatch>()>& next,
                               propagation::LoadSink* sink);

  // Treats the replica's memory as lost from now on, as after a crash of its workers. A running
  // batch ends before the workers' next transactions, has no effect, and returns all its requests;
  // so does each further batch until clear(). Any thread.
  void lose();
  // Empties tables and indexes; procedures stay, and the newest VID is the one pushed last. The
  // steps of opening a database follow: restore_table and so on. Between batches.
  void clear();

  // Restores the rows of an empty table under their RowIDs, from `lanes` threads, when a database
  // is opened (table_restore.h). Then finish_restore sets the VID, replay_batch may follow, and
  // release_free_slots comes before all other operations.
  std::unique_ptr<TableRestore> restore_table(base::TableId table, uint64_t rows_max,
                                              uint32_t lanes);
  void finish_restore(base::Vid vid);
  void release_free_slots();

  // Visits the newest version of every live row. A row stays in place until the next batch. Between
  // batches.
  void for_each_row(base::TableId table,
                    const std::function<void(base::RowId, const std::byte* row)>& visit) const;
  uint64_t row_count(base::TableId table) const;
  // Stops the program if an index is damaged, or does not have exactly the table's rows. Between
  // batches.
  void check_indexes() const;

  base::Vid last_vid() const;
  EngineMetrics metrics() const;  // any thread
  // The procedures that workers are running. Any thread.
  std::vector<RunningProcedure> running() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace diptych::oltp
