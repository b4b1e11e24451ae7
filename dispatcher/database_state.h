// Database::State: the parts of an open database, and who may touch which when.
//
//   kOpen -> [close] -> kStopped (no dispatcher runs) -> [saved] -> kClosed
//     │                     └── save failed: the data is in memory; close and save can be retried
//     └───► [discard] ───────────────────────────────────────────► kClosed
//
// Once either has begun, the database counts as closed for whoever wants to change or save it.
//
// What each member needs is said beside it: "gate" is an Exclusive (dispatcher/batch_gate.h), whose
// holder alone touches both replicas. The order of the members is the order of construction.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/schema.h"
#include "base/topology.h"
#include "dispatcher/backup_runs.h"
#include "dispatcher/batch_gate.h"
#include "dispatcher/catalog_history.h"
#include "dispatcher/checkpoints.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/database.h"
#include "dispatcher/database_files.h"
#include "dispatcher/freshness_clock.h"
#include "dispatcher/log_replay.h"
#include "dispatcher/module_registry.h"
#include "dispatcher/olap_dispatcher.h"
#include "dispatcher/oltp_dispatcher.h"
#include "dispatcher/opening_process.h"
#include "dispatcher/procedure_directory.h"
#include "dispatcher/query_watch.h"
#include "dispatcher/schema_statements.h"
#include "dispatcher/slow_procedure_watch.h"
#include "dispatcher/time_spent.h"
#include "olap/query.h"
#include "oltp/engine.h"
#include "propagation/applier.h"
#include "propagation/bulk_load.h"
#include "propagation/export/update_queue.h"
#include "storage/manifest.h"
#include "storage/table.h"

namespace diptych::dispatcher {

struct Database::State {
  enum class Phase : uint8_t { kOpen, kStopped, kClosed };

  State(const DatabaseOptions& options, const base::Placement& placement, base::SpinPolicy spin,
        const storage::StorageOptions& storage);

  // Of a database in memory (no directory), or at a path: filled, with its threads; the lock stays
  // the caller's. kOutOfMemory: the system gives no thread.
  static base::Result<std::unique_ptr<State>> make(
      const DatabaseOptions& options, const base::Placement& placement, base::SpinPolicy spin,
      const storage::StorageOptions& storage, const std::optional<DatabaseDirectory>& directory);
  // At the path: a new database, or everything from the manifest.
  base::Result<void> create();
  base::Result<void> restore(const storage::Manifest& manifest);
  std::vector<uint32_t> all_cores() const;  // of both sides
  void start_log();
  // For the engine: what a physical log gets of each batch; empty: there is none.
  std::function<void(std::span<const propagation::SealedSet>)> note_updates_of(
      const DatabaseOptions& database_options);
  void start_dispatchers();
  void stop_dispatchers();
  // Backups and the replay too. The caller holds `closing`.
  BatchGate::Exclusive stop_everything();
  // The gate, for a change that was asked for at that moment.
  base::Result<BatchGate::Exclusive> stop_for_change(uint64_t asked_ns,
                                                     const ChangeOptions& change);

  bool on_dispatcher_thread() const;
  // kInvalidArgument in a procedure, of which `what` might wait for the end; the same where it is
  // replayed, so that the replay does what the first run did.
  // The same in a load's source of rows, in a recovery_listener, and in a forked child.
  base::Result<void> check_outside_procedure(std::string_view what) const;
  // The same, or on a dispatcher's thread, which `what` would wait for.
  base::Result<void> check_may_wait(std::string_view what) const;
  // kClosed once close or discard has begun: for whoever is about to wait for the gate.
  base::Result<void> check_not_closing() const;
  // kClosed unless open. The caller holds the gate.
  base::Result<void> check_open(const BatchGate::Exclusive& gate_held) const;
  // Likewise, and kInvalidArgument where no table has the id.
  base::Result<void> check_table(const BatchGate::Exclusive& gate_held, base::TableId table) const;

  // Applies one DDL statement to the catalog, the engine and the replica. 42939: a new table or
  // view has a system table's name, which would hide that one; a database that has such a table
  // opens.
  enum class DdlSource : uint8_t { kScript, kManifest };
  enum class DdlEffect : uint8_t {
    kNone,
    kAdds,  // or a view's: the log of before is replayed with it as without it
    kChanges,
  };
  // `first_new`: the first table of the script's, which has no rows yet.
  base::Result<DdlEffect> apply_ddl(const BatchGate::Exclusive& gate_held,
                                    const std::string& statement, DdlSource source,
                                    base::TableId first_new = {});
  DdlEffect effect_of(const olap::DdlChange& change, base::TableId first_new) const;
  // The modules that would be bound otherwise after it. Errors: one would no longer load.
  base::Result<ModuleRegistry::Rebound> rebind_modules(const olap::DdlChange& change) const;
  base::Result<void> apply(const BatchGate::Exclusive& gate_held, std::string statement,
                           olap::DdlChange change, DdlSource source);
  // kUnsupported: with the statement, the DDL would be more than a manifest may have.
  base::Result<void> check_manifest_room(std::string_view statement, std::string_view table) const;
  base::Result<void> create_table(std::string statement, base::TableSchema schema,
                                  DdlSource source);
  base::Result<void> create_index(std::string statement, std::string_view table,
                                  base::IndexSchema index);
  void add_dropped_table();  // of a manifest
  base::Result<void> drop_tables(const BatchGate::Exclusive& gate_held,
                                 std::span<const std::string> names, DdlSource source);
  base::Result<void> drop_indexes(std::span<const std::string> names);
  base::Result<void> create_view(std::string statement, olap::CreateView change);
  base::Result<void> drop_views(std::span<const std::string> names);
  base::Result<void> truncate_tables(const BatchGate::Exclusive& gate_held,
                                     std::span<const std::string> names);

  // kWait is kRefuse on a dispatcher's thread.
  Admission admission_here(Admission wished) const;
  base::Result<void> submit(Request* request, CallQueue* queue, const CallOptions& call);
  base::Result<std::vector<base::Value>> call_by_name(CallQueue* queue, std::string_view procedure,
                                                      std::span<const base::Value> arguments,
                                                      const CallOptions& how);
  base::Result<void> recovered_for_call();  // what fails is counted as a refused call
  // Queries: as the face's, of a queue's owner.
  QueryQueue* query_queue(Priority priority) const {
    return olap_dispatcher->queues().of(priority);
  }
  QueryResults query_batch(QueryQueue* queue, std::span<const std::string> statements,
                           const QueryOptions& query);
  base::Result<RunningQuery> start_query(QueryQueue* queue, std::string_view sql,
                                         const QueryOptions& query);
  base::Result<QueryHandle> submit_query(QueryQueue* queue, std::string sql, QueryDone done,
                                         const QueryOptions& query);
  base::Result<void> submit(std::unique_ptr<QueryJob> job, QueryQueue* queue, Admission admission);
  // Compiles a job's statement; an error becomes its result.
  void prepare(QueryJob* job, size_t index, const olap::TableRows& rows) const;
  base::Result<void> check_may_query();
  base::Result<void> recovered_for_query();  // likewise, as a refused query
  Metrics metrics() const;
  size_t data_room() const;  // bytes until data_memory_bytes_max
  void report_durability(Metrics* metrics) const;
  // What queries can name besides the catalog's tables.
  std::vector<olap::SystemTable> system_tables() const;

  // Fills the engine, which is empty, from the replica as it is now. The caller holds the gate.
  base::Result<void> restore_engine();
  base::Result<RebuildReport> rebuild_primary(const BatchGate::Exclusive& gate_held);

  // Durability (database_durability.cpp).
  // Has the log replayed, if that is still to be done: before anything looks at the data.
  base::Result<void> ensure_recovered() {
    if (log_replay.is_done()) [[likely]]
      return {};
    return recover();
  }
  base::Result<void> recover();
  // Saves a change that the log does not have, or no more: where it fails, calls are refused until
  // another save succeeds. kAdds: the manifest alone has to have it.
  base::Result<void> save_unlogged(const BatchGate::Exclusive& gate_held,
                                   DdlEffect effect = DdlEffect::kChanges);
  // kIo where the log has failed for good: no transaction comes that could use what is changed, and
  // the disk would hardly take the save.
  base::Result<void> check_log() const {
    return log == nullptr ? base::Result<void>() : log->check();
  }
  // Before a procedure gets another body, which the log's calls must not meet.
  base::Result<void> save_before_replacing(const BatchGate::Exclusive& gate_held);
  // What is in memory may be neither in the log nor saved, and there is no memory to say more.
  base::Error lose_memory_unlogged(const BatchGate::Exclusive& gate_held);
  void suspend_log(const base::Error& error);  // the caller holds the gate
  base::Result<void> apply_script(const BatchGate::Exclusive& gate_held, std::string_view script,
                                  std::span<const std::string_view> statements);
  base::Result<LoadReport> load(const BatchGate::Exclusive& gate_held, base::TableId table,
                                const std::function<base::Result<oltp::RowBatch>()>& next);
  // Backup (database_backup.cpp).
  base::Result<BackupReport> backup(const std::string& directory, const BackupOptions& how);

  const DatabaseOptions options;
  const base::Placement placement;
  const base::SpinPolicy spin;
  const size_t data_memory_bytes_max;
  const OpeningProcess opening_process;
  std::optional<storage::DirectoryLock> lock;  // gate
  storage::DirectoryIdentity identity;         // the lock's; writer: open
  const std::vector<olap::SystemTable> known_system_tables = system_tables();

  BatchGate gate;
  base::Catalog catalog;    // written under the gate; read by engine and replica in batches
  CatalogHistory catalogs;  // what everyone else reads
  ProcedureDirectory procedures;
  // Gate; until the log is replayed, what holds that too, and may read it. Before the engine, which
  // goes first: it has what they define.
  ModuleRegistry modules;
  FreshnessClock clock;
  propagation::UpdateQueue updates;
  storage::Replica replica;
  propagation::Applier applier;
  olap::Executor executor;
  oltp::Engine engine;

  Phase phase = Phase::kOpen;                  // gate
  std::optional<base::Error> primary_failure;  // gate: it was lost, and could not be rebuilt
  Made made = Made::kNothing;                  // by open, at the path
  SchemaStatements ddl;                        // gate
  TimeSpent primary_rebuilds;
  uint64_t database_id = 0;  // the manifest's; writer: open

  LogReplay log_replay;
  BackupRuns backups;

  std::optional<SlowProcedureWatch> slow_watch;  // after the engine, before the dispatchers
  // Where a load asks its source for rows, which would wait for the load.
  std::atomic<std::thread::id> source_thread{};  // writer: load
  std::mutex loading;  // held by load_procedures and replace_definition, which take turns
  std::mutex closing;  // held by close, so that two of them take turns
  std::atomic<bool> closing_begun{false};  // writer: who holds that
  std::unique_ptr<CommandLog> log;         // null: nothing is logged
  // Shared with the handles of queries, which may outlive the database.
  const QueryWatchPtr query_watch = QueryWatch::make();
  std::unique_ptr<OlapDispatcher> olap_dispatcher;  // set by open, until the destruction
  std::unique_ptr<OltpDispatcher> oltp_dispatcher;  // likewise; goes first
  Checkpoints checkpoints;                          // goes before them
};

}  // namespace diptych::dispatcher
