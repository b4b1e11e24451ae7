#include "dispatcher/database.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/notice.h"
#include "dispatcher/backup.h"
#include "dispatcher/database_files.h"
#include "dispatcher/database_state.h"
#include "dispatcher/primary_restore.h"
#include "dispatcher/recovery_progress.h"
#include "dispatcher/replica_comparison.h"
#include "dispatcher/side_by_side.h"
#include "oltp/index.h"
#include "oltp/runs_procedures.h"
#include "storage/block_file.h"
#include "storage/file.h"
#include "storage/replica_files.h"

namespace diptych::dispatcher {
namespace {

// Of a client in a batch, where others wait: several calls, which take microseconds; one query.
constexpr size_t kTurnCalls = 8;
constexpr size_t kTurnQueries = 1;
constexpr uint32_t kPartitionsMax = 4096;

bool is_logged(const DatabaseOptions& options) {
  return !options.path.empty() && options.log != LogMode::kNone;
}

base::Error wrong_option(std::string_view what) {
  return {base::ErrorCode::kInvalidArgument, std::string(what)};
}

struct NumberOption {
  std::string_view name;
  uint64_t value;
  uint64_t min;
  uint64_t max;
};
constexpr uint64_t kNoMax = UINT64_MAX;

std::string allowed_values(const NumberOption& allowed) {
  if (allowed.max == kNoMax) return fmt::format("{} or more", allowed.min);
  if (allowed.min == 0) return fmt::format("at most {}", allowed.max);
  return fmt::format("{} to {}", allowed.min, allowed.max);
}

base::Result<void> check_numbers(const DatabaseOptions& options) {
  const base::PlacementOptions& placement = options.placement;
  const NumberOption numbers[] = {
      {"queue_requests", options.queue_requests, 1, kQueueMax},
      {"client_requests", options.client_requests, 1, kQueueMax},
      {"clients_max", options.clients_max, 1, kQueueMax},
      {"queue_queries", options.queue_queries, 1, kQueueMax},
      {"client_queries", options.client_queries, 1, kQueueMax},
      {"long_queries_max", options.long_queries_max, 1, kThreadsMax},
      {"batch_requests_max", options.batch_requests_max, 1, kNoMax},
      {"batch_queries_max", options.batch_queries_max, 1, kNoMax},
      {"partitions", options.partitions, 0, kPartitionsMax},
      {"placement.oltp_workers", placement.oltp_workers, 0, oltp::kWorkersMax},
      {"placement.olap_threads", placement.olap_threads, 0, kThreadsMax},
      {"operations_max", options.operations_max, 1, kNoMax},
      {"push_limit_ns", options.push_limit_ns, 1, kNoMax},
  };
  for (const NumberOption& number : numbers) {
    if (number.min <= number.value && number.value <= number.max) continue;
    return wrong_option(
        fmt::format("{} is {}: give {}", number.name, number.value, allowed_values(number)));
  }
  return {};
}

base::Result<void> check_options(const DatabaseOptions& options) {
  if (auto checked = check_numbers(options); !checked) return checked;
  if (!std::has_single_bit(options.block_rows) || options.block_rows < storage::kBlockRowsMin ||
      options.block_rows > storage::kBlockRowsMax) {
    return wrong_option(fmt::format("block_rows is {}: give a power of two from {} to {}",
                                    options.block_rows, storage::kBlockRowsMin,
                                    storage::kBlockRowsMax));
  }
  if (options.path.empty() && options.olap_memory_bytes_max != 0) {
    return wrong_option(
        "olap_memory_bytes_max is set, but a database in memory has no file that its columns could "
        "be read from: give a path");
  }
  if (!options.path.empty() && !options.export_updates) {
    return wrong_option(
        "export_updates is off, but a database at a path is saved from the replica: use one in "
        "memory");
  }
  return {};
}

// Spinning pays only where every thread of both sides, and a client, has a core of its own.
base::SpinPolicy spin_policy(const base::Topology& topology, const base::Placement& placement) {
  const auto roomy = [](const base::SidePlacement& side) {
    return side.threads <= side.cores.size();
  };
  const bool own_cores = roomy(placement.oltp) && roomy(placement.olap) &&
                         placement.oltp.threads + placement.olap.threads < topology.core_count();
  return own_cores ? base::SpinPolicy::kBriefly : base::SpinPolicy::kNever;
}

size_t given_or(size_t given, size_t otherwise) {
  return given != 0 ? given : otherwise;
}

uint64_t system_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

Database::State::State(const DatabaseOptions& database_options,
                       const base::Placement& computed_placement, base::SpinPolicy spin_policy,
                       const storage::StorageOptions& storage)
    : options(database_options),
      placement(computed_placement),
      spin(spin_policy),
      data_memory_bytes_max(
          given_or(database_options.data_memory_bytes_max, base::machine_memory_bytes() / 4 * 3)),
      replica(storage),
      applier(&replica, computed_placement.olap.node),
      executor(
          computed_placement.olap,
          given_or(database_options.query_memory_bytes_max, base::machine_memory_bytes() / 4),
          given_or(database_options.queries_memory_bytes_max, base::machine_memory_bytes() / 2)),
      engine(&catalog,
             oltp::EngineOptions{.placement = computed_placement.oltp,
                                 .export_updates = database_options.export_updates,
                                 .export_mode = database_options.export_mode,
                                 .batch_time_max_ns = database_options.push_limit_ns,
                                 .conflicts_max = database_options.conflicts_max,
                                 .operations_max = database_options.operations_max,
                                 .slow_run_ns = database_options.slow_procedure_ns != 0
                                                    ? database_options.slow_procedure_ns
                                                    : UINT64_MAX,
                                 .isolation = database_options.isolation,
                                 .note_inserted_rows = is_logged(database_options) &&
                                                       database_options.log == LogMode::kCommand,
                                 .spin = spin_policy,
                                 .background_cores = computed_placement.olap.cores,
                                 .before_push = note_updates_of(database_options)},
             &updates),
      log_replay(options, {.gate = &gate,
                           .clock = &clock,
                           .engine = &engine,
                           .procedures = &procedures,
                           .modules = &modules,
                           .identity = &identity}),
      checkpoints(options, placement.olap.cores,
                  {.replica = &replica, .clock = &clock, .ddl = &ddl, .identity = &identity}) {}

std::function<void(std::span<const propagation::SealedSet>)> Database::State::note_updates_of(
    const DatabaseOptions& database_options) {
  if (!is_logged(database_options) || database_options.log != LogMode::kPhysical) return {};
  return [this](std::span<const propagation::SealedSet> sets) {
    if (log != nullptr) log->note_updates(sets);
  };
}

// Saved empty, so that a disk that is full or read-only shows now.
base::Result<void> Database::State::create() {
  auto file = storage::BlockFile::create(options.path, options.faults.before_step);
  if (!file) return file.error();
  replica.keep_in(std::move(*file), options.olap_memory_bytes_max);
  const BatchGate::Exclusive held = gate.exclude();
  if (auto saved = checkpoints.save(); !saved) return saved;
  const auto manifest = storage::read_manifest(options.path);
  if (!manifest) return manifest.error();
  database_id = manifest->id;
  return {};
}

base::Result<void> Database::State::restore(const storage::Manifest& manifest) try {
  const BatchGate::Exclusive held = gate.exclude();
  // A process that died may have renamed the manifest and not made that durable: from here on pages
  // are free that the one before it needs.
  if (auto synced = storage::sync_directory(options.path); !synced) return synced;
  auto file = storage::BlockFile::open(options.path, options.faults.before_step);
  if (!file) return file.error();
  replica.keep_in(std::move(*file), options.olap_memory_bytes_max);
  for (size_t i = 0; i < manifest.ddl.size(); ++i) {
    if (manifest.ddl[i] == storage::kDroppedTable) {
      add_dropped_table();
      continue;
    }
    if (auto applied = apply_ddl(held, manifest.ddl[i], DdlSource::kManifest); !applied) {
      return base::Error(base::ErrorCode::kCorrupt,
                         fmt::format("{}/manifest.json: DDL statement {}: {}", options.path, i + 1,
                                     applied.error().to_string()));
    }
  }
  const SideBySide threads(all_cores());
  const auto for_each = [&](uint32_t count, const std::function<void(uint32_t)>& body) {
    threads.run(count, [&](uint32_t, size_t i) { body(static_cast<uint32_t>(i)); });
  };
  if (auto loaded = storage::load_replica(options.path, manifest, &replica, for_each); !loaded) {
    return loaded;
  }
  replica.set_snapshot(manifest.vid);
  if (auto restored = restore_engine(); !restored) return restored.error().within(options.path);
  updates.push({}, manifest.vid);
  clock.batch_ends(manifest.vid);
  static_cast<void>(clock.collect(&updates));
  catalogs.publish(catalog);
  checkpoints.found(manifest.vid, ddl.version());
  database_id = manifest.id;
  if (auto found = log_replay.find(manifest.vid, database_id); !found) return found;
  if (log_replay.is_done()) engine.release_free_slots();
  return {};
} catch (const storage::ChunkFailure& failure) {
  return failure.error();
}

base::Result<void> Database::State::restore_engine() {
  uint64_t rows = 0;
  for (const base::TableSchema& table : catalog.tables()) {
    rows += replica.table(table.id).live_rows();
  }
  RecoveryProgress progress(options.path, options.recovery_listener, "row", "put back", rows);
  auto restored = restore_primary(
      catalog, replica, &engine,
      {.cores = all_cores(), .progress = [&](uint64_t done) { progress.at(done); }});
  if (!restored) return restored;
  engine.finish_restore(replica.snapshot());
  progress.finish(rows);
  return restored;
}

std::vector<uint32_t> Database::State::all_cores() const {
  std::vector<uint32_t> cores = placement.oltp.cores;
  cores.insert(cores.end(), placement.olap.cores.begin(), placement.olap.cores.end());
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

void Database::State::start_log() {
  if (!is_logged(options)) return;
  log = std::make_unique<CommandLog>(
      CommandLogOptions{
          .directory = options.path,
          .database_id = database_id,
          .identity = identity,
          .content = options.log == LogMode::kPhysical ? LogContent::kUpdates : LogContent::kCalls,
          .file_bytes_max = options.log_file_bytes,
          .checkpoint_bytes = options.checkpoint_log_bytes,
          .spin = spin,
          .cores = placement.olap.cores,
          .faults = options.faults},
      &engine, &procedures,
      [this](std::span<oltp::Request* const> ended) { oltp_dispatcher->complete(ended); },
      [this] { olap_dispatcher->wish_checkpoint(); });
  if (log_replay.is_done()) log->set_position(engine.last_vid(), log_replay.position());
}

void Database::State::start_dispatchers() {
  if (options.slow_procedure_ns != 0) {
    slow_watch.emplace(options.slow_procedure_ns, &engine, &procedures);
  }
  olap_dispatcher = std::make_unique<OlapDispatcher>(
      OlapDispatcherOptions{.placement = placement.olap,
                            .spin = spin,
                            .limits = {.anyone_max = options.queue_queries,
                                       .client_max = options.client_queries,
                                       .clients_max = options.clients_max,
                                       .turn_max = kTurnQueries},
                            .batch_queries_max = options.batch_queries_max,
                            .apply_interval_ns = options.apply_interval_ns,
                            .log = log.get(),
                            .watch = query_watch.get(),
                            .long_query_ns = options.long_query_ns,
                            .long_query_rows = options.long_query_rows,
                            .long_queries_max = options.long_queries_max},
      OlapReplica{&replica, &applier, &executor}, &updates, &gate, &clock,
      [this](QueryJob* job, size_t statement, const olap::TableRows& rows) {
        prepare(job, statement, rows);
      },
      [this] {
        // What was replayed in part, or will never be to its end, is no state to be saved.
        if (log_replay.is_done()) checkpoints.run();
      });
  query_watch->tell_awaited_threads(
      [this] { return on_dispatcher_thread() || oltp::RunsProcedures::here(); });
  query_watch->when_stopped([olap = olap_dispatcher.get()] { olap->queries_were_stopped(); });
  query_watch->start();
  oltp_dispatcher = std::make_unique<OltpDispatcher>(
      OltpDispatcherOptions{
          .placement = placement.oltp,
          .spin = spin,
          .limits = {.anyone_max = options.queue_requests,
                     .client_max = options.client_requests,
                     .clients_max = options.clients_max,
                     .turn_max = kTurnCalls},
          .batch_requests_max = options.batch_requests_max,
          .pending_update_bytes_max =
              given_or(options.pending_update_bytes_max,
                       std::min(size_t{1} << 30, base::machine_memory_bytes() / 16)),
          .random_seed = options.random_seed != 0 ? options.random_seed : system_seed(),
          .time_origin = options.time_origin,
          .slow_watch = slow_watch ? &*slow_watch : nullptr,
          .log = log.get(),
          .data_room = [this] { return data_room(); }},
      &engine, &procedures, &updates, &gate, &clock,
      [olap = olap_dispatcher.get()] { olap->apply_now(); });
}

// Where something fails, what has been begun has ended before the error is given.
base::Result<std::unique_ptr<Database::State>> Database::State::make(
    const DatabaseOptions& options, const base::Placement& placement, base::SpinPolicy spin,
    const storage::StorageOptions& storage, const std::optional<DatabaseDirectory>& directory) try {
  auto state = std::make_unique<State>(options, placement, spin, storage);
  if (directory) {
    state->identity = directory->lock.identity();
    auto filled = directory->manifest ? state->restore(*directory->manifest) : state->create();
    if (!filled) return filled.error();
  }
  state->start_log();
  state->start_dispatchers();
  state->checkpoints.start(state->log.get(), state->olap_dispatcher.get());
  return state;
} catch (const std::system_error& refused) {
  return base::Error(
      base::ErrorCode::kOutOfMemory,
      fmt::format("a thread that the database needs cannot be started: {}; raise the limit of "
                  "processes (ulimit -u, or the container's of pids) or of memory (ulimit -v)",
                  refused.code().message()));
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;
}

BatchGate::Exclusive Database::State::stop_everything() {
  // relaxed: who misses it does its work before the gate is taken below. Others fail at once, so
  // that whoever loads without a pause does not hold up the dispatchers' last batches.
  closing_begun.store(true, std::memory_order_relaxed);
  backups.stop();
  log_replay.stop();
  stop_dispatchers();
  backups.await();
  return gate.exclude();
}

void Database::State::stop_dispatchers() {
  // Before the OLTP side is stopped: it may wait for room behind a query.
  olap_dispatcher->cancel_queries();
  if (log != nullptr) log->give_up_waiting();
  // The OLTP side first: while it ends what it has, it may wait for the OLAP side to make room.
  oltp_dispatcher->stop();
  // Its thread completes the last calls.
  if (log != nullptr) log->stop();
  olap_dispatcher->stop();
  query_watch->stop();
  checkpoints.close();
}

bool Database::State::on_dispatcher_thread() const {
  return oltp_dispatcher->runs_this_thread() || olap_dispatcher->runs_this_thread() ||
         query_watch->runs_this_thread() || (log != nullptr && log->runs_this_thread());
}

base::Result<void> Database::State::check_outside_procedure(std::string_view what) const {
  if (!opening_process.is_this_one()) [[unlikely]] {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("{} was called in a forked child of process {}, which has the "
                                   "database open: its threads, and its lock, are not the child's",
                                   what, opening_process.id()));
  }
  // relaxed: a thread sees what it stored itself, and no other one stores its id.
  const std::thread::id source = source_thread.load(std::memory_order_relaxed);
  if (source != std::thread::id() && source == std::this_thread::get_id()) [[unlikely]] {
    return base::Error(
        base::ErrorCode::kInvalidArgument,
        fmt::format("{} was called in the source of a load's rows, where it would wait for itself",
                    what));
  }
  if (RecoveryProgress::is_told_here()) [[unlikely]] {
    return base::Error(
        base::ErrorCode::kInvalidArgument,
        fmt::format("{} was called in the recovery_listener, where it would wait for itself",
                    what));
  }
  if (!oltp::RunsProcedures::here()) return {};
  return base::Error(
      base::ErrorCode::kInvalidArgument,
      fmt::format("{} was called in a procedure, which would wait for itself: all that a procedure "
                  "knows is in its arguments and the tables",
                  what));
}

base::Result<void> Database::State::check_may_wait(std::string_view what) const {
  if (auto outside = check_outside_procedure(what); !outside) return outside;
  if (!on_dispatcher_thread()) return {};
  return base::Error(
      base::ErrorCode::kInvalidArgument,
      fmt::format("{} was called in a completion, where it would wait for itself", what));
}

base::Result<void> Database::State::check_not_closing() const {
  // relaxed: as in stop_everything.
  if (closing_begun.load(std::memory_order_relaxed)) return base::ErrorCode::kClosed;
  return {};
}

base::Result<void> Database::State::check_open(const BatchGate::Exclusive&) const {
  if (auto open = check_not_closing(); !open) return open;
  if (phase != Phase::kOpen) return base::ErrorCode::kClosed;
  if (primary_failure) return *primary_failure;
  return {};
}

base::Result<void> Database::State::check_table(const BatchGate::Exclusive& gate_held,
                                                base::TableId table) const {
  if (auto open = check_open(gate_held); !open) return open;
  if (catalog.find_table(table) != nullptr) return {};
  return base::Error(base::ErrorCode::kInvalidArgument,
                     fmt::format("no table has the id {}", table.value));
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}

base::Result<std::unique_ptr<Database>> Database::open(const DatabaseOptions& given) try {
  if (auto checked = check_options(given); !checked) return checked.error();
  if (auto whole = check_path(given.path); !whole) return whole.error();
  DatabaseOptions options = given;
  options.apply_interval_ns = std::min(given.apply_interval_ns, kForeverNs);
  options.checkpoint_interval_ns = std::min(given.checkpoint_interval_ns, kForeverNs);
  options.long_query_ns = std::min(given.long_query_ns, kForeverNs);
  if (!given.path.empty()) {
    // The process may change its directory.
    std::error_code failed;
    options.path = std::filesystem::absolute(given.path, failed).string();
    if (failed) return storage::system_error("find", given.path, failed.value());
  }
  const base::Topology topology = base::Topology::detect();
  auto placement = base::place(topology, options.placement);
  if (!placement) return placement.error();
  placement->oltp.threads = std::min(placement->oltp.threads, oltp::kWorkersMax);
  if (options.export_mode == propagation::ExportMode::kRows && placement->oltp.threads > 1) {
    return wrong_option("export_mode is kRows: give the OLTP side one worker");
  }
  storage::StorageOptions storage{.partitions = options.partitions != 0
                                                    ? options.partitions
                                                    : std::max(2U, placement->olap.threads),
                                  .node = placement->olap.node,
                                  .blocks = options.blocks,
                                  .block_rows = options.block_rows,
                                  .settled = options.settled};
  std::optional<DatabaseDirectory> directory;
  if (!options.path.empty()) {
    if (auto checked = check_is_no_backup(options.path); !checked) return checked.error();
    auto opened = open_directory(options.path, options.mode);
    if (!opened) return opened.error();
    directory.emplace(std::move(*opened));
    if (directory->manifest) {
      storage.partitions = directory->manifest->partitions;
      storage.block_rows = directory->manifest->block_rows;
    }
  }
  auto state =
      State::make(options, *placement, spin_policy(topology, *placement), storage, directory);
  if (!state) {
    if (directory && directory->lock.identity().check()) {
      remove_made(options.path, directory->made);
    }
    return state.error();
  }
  if (directory) {
    (*state)->lock.emplace(std::move(directory->lock));
    (*state)->made = directory->made;
  }
  return std::unique_ptr<Database>(new Database(std::move(*state)));
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;  // no text, which would take memory
}

Database::~Database() {
  if (!state_->opening_process.is_this_one()) {
    static_cast<void>(state_.release());  // its threads are the parent's, as are its files
    return;
  }
  if (state_->phase == State::Phase::kStopped) return;  // close() has returned why
  DIPTYCH_CHECK(state_->check_may_wait("~Database"),
                "a Database is not destroyed in a procedure or in a completion of its own");
  auto closed = close();
  if (!closed && closed.code() != base::ErrorCode::kClosed) {
    base::notify("closing the database: {}", closed.error());
  }
}

Admission Database::State::admission_here(Admission wished) const {
  return on_dispatcher_thread() ? Admission::kRefuse : wished;
}

base::Result<void> Database::State::recovered_for_call() {
  auto ready = ensure_recovered();
  if (!ready) oltp_dispatcher->queues().note_refusal(ready.code());
  return ready;
}

base::Result<void> Database::State::submit(Request* request, CallQueue* queue,
                                           const CallOptions& call) {
  if (auto outside = check_outside_procedure("submit"); !outside) return outside;
  if (auto ready = recovered_for_call(); !ready) return ready;
  request->deadline_ns = call.timeout_ns == 0
                             ? 0  // which a request that is submitted again may not have
                             : base::steady_ns() + std::min(call.timeout_ns, kForeverNs);
  return oltp_dispatcher->submit(request, queue, admission_here(call.admission));
}

base::Result<void> Database::submit(Request* request, const CallOptions& options) {
  return state_->submit(request, state_->oltp_dispatcher->queues().of(options.priority), options);
}

base::Result<uint64_t> Database::row_count(base::TableId table) const {
  if (auto allowed = state_->check_may_wait("row_count"); !allowed) return allowed.error();
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  const BatchGate::Exclusive held = state_->gate.exclude(Stops::kOltp);
  if (auto found = state_->check_table(held, table); !found) return found.error();
  return state_->engine.row_count(table);
}

base::Result<ReplicaComparison> Database::compare_replicas() {
  if (auto allowed = state_->check_may_wait("compare_replicas"); !allowed) return allowed.error();
  if (!state_->options.export_updates) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "export_updates is off: the replicas differ by choice");
  }
  if (auto open = state_->check_not_closing(); !open) return open.error();
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  const BatchGate::Exclusive held = state_->gate.exclude();
  if (auto open = state_->check_open(held); !open) return open.error();
  state_->olap_dispatcher->bring_up_to_date();
  if (auto usable = state_->olap_dispatcher->check_replica(); !usable) return usable.error();
  return dispatcher::compare_replicas(state_->catalog, state_->engine, state_->replica,
                                      state_->applier);
}

const base::Placement& Database::placement() const {
  return state_->placement;
}

base::Result<void> Database::save() {
  if (auto allowed = state_->check_may_wait("save"); !allowed) return allowed;
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered;
  const BatchGate::Exclusive held = state_->gate.exclude();
  // One that is stopped has what its close could not save.
  if (state_->phase != State::Phase::kStopped) {
    if (auto open = state_->check_not_closing(); !open) return open;
  }
  return state_->checkpoints.save();
}

base::Result<void> Database::close() {
  if (auto allowed = state_->check_may_wait("close"); !allowed) return allowed;
  const std::lock_guard one_at_a_time(state_->closing);
  const BatchGate::Exclusive held = state_->stop_everything();
  if (state_->phase == State::Phase::kClosed) return base::ErrorCode::kClosed;
  state_->phase = State::Phase::kStopped;
  if (state_->log_replay.is_done()) {  // else what was not replayed stays in the log
    if (auto saved = state_->checkpoints.save(); !saved) return saved;
    if (state_->log != nullptr) state_->log->remove_files();
  }
  state_->phase = State::Phase::kClosed;
  state_->lock.reset();
  return {};
}

base::Result<void> Database::discard() {
  if (auto allowed = state_->check_may_wait("discard"); !allowed) return allowed;
  const std::lock_guard one_at_a_time(state_->closing);
  const BatchGate::Exclusive held = state_->stop_everything();
  if (state_->phase == State::Phase::kClosed) return base::ErrorCode::kClosed;
  state_->phase = State::Phase::kClosed;
  base::Result<void> in_place;
  if (state_->made != Made::kNothing) in_place = state_->identity.check();
  if (in_place) remove_made(state_->options.path, state_->made);
  state_->lock.reset();
  return in_place;
}

}  // namespace diptych::dispatcher
