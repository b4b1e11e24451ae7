// Durability: the log that is found and replayed, and the replica that is saved as a checkpoint.
//
//   find_log ──► [nothing after the manifest] ─────────────────────────────► recovered
//       └──────► recovery ──ensure_recovered──► check ──► replay ──► recovered
//                    ▲                             └ a procedure is missing: again
//                    └ close: log and manifest stay as they are

#include <exception>
#include <future>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/notice.h"
#include "dispatcher/database_state.h"
#include "dispatcher/recovery_progress.h"
#include "storage/replica_files.h"
#include "storage/replica_snapshot.h"

namespace diptych::dispatcher {
namespace {

LogPosition position_after(const LogContents& contents) {
  LogPosition position{contents.next_sequence, contents.next_number, contents.bytes, {}};
  for (const LogFileFound& file : contents.files) {
    position.files.push_back({file.header.number, file.header.start});
  }
  return position;
}

}  // namespace

base::Result<void> Database::State::find_log(base::Vid manifest_vid) {
  auto contents = scan_log(options.path, manifest_vid, database_id);
  if (!contents) return contents.error();
  log_position = position_after(*contents);
  if (contents->torn) {
    recovery_report.torn_tail =
        fmt::format("{}: byte {}", contents->torn->path, contents->torn->offset);
    base::notify(
        "{}: the log ends here, within a group that was not written to its end, so that nobody was "
        "told of it, or was damaged since; it is cut off",
        recovery_report.torn_tail);
  }
  recovery_report.vid = contents->last;
  if (contents->transactions == 0) {
    return settle_log(options.path, *contents, options.faults.before_step);
  }
  recovery = std::make_unique<Recovery>(options.path, manifest_vid, std::move(*contents));
  // relaxed: nobody else has the database yet.
  recovered.store(false, std::memory_order_relaxed);
  return {};
}

base::Result<void> Database::State::ensure_recovered() {
  // acquire: pairs with the release in recover; the data is as replay left it.
  if (recovered.load(std::memory_order_acquire)) [[likely]]
    return {};
  return recover();
}

base::Result<void> Database::State::recover() {
  const std::lock_guard one_at_a_time(recovering);
  // relaxed: written under the lock.
  if (recovered.load(std::memory_order_relaxed)) return {};
  if (recovery_failure) return *recovery_failure;
  {
    const BatchGate::Exclusive held = gate.exclude();
    if (auto open = check_open(held); !open) return open;
  }
  if (auto checked = recovery->check(procedures, modules); !checked) return checked;
  const uint64_t begin_ns = base::steady_ns();
  base::Result<void> replayed;
  try {
    replayed = replay();
    if (replayed) {
      replayed = settle_log(options.path, recovery->contents(), options.faults.before_step);
    }
    if (replayed) engine.release_free_slots();
  } catch (const std::bad_alloc&) {  // a part has been replayed, and cannot be twice
    replayed = base::Error(base::ErrorCode::kOutOfMemory,
                           "there is no memory left; nothing is lost: open the database anew");
  }
  // Whoever closes the database leaves the rest in the log.
  // acquire: as in replay.
  if (!replayed && replay_stops.load(std::memory_order_acquire)) return base::ErrorCode::kClosed;
  if (!replayed) {
    recovery_failure = replayed.error().within("the log cannot be replayed");
    return *recovery_failure;
  }
  if (log != nullptr) log->set_position(engine.last_vid(), log_position);
  // Else processes that crash soon would leave each other ever more to replay.
  const bool checkpoint = log != nullptr && log->wants_checkpoint();
  recovery_report.transactions = recovery->contents().transactions;
  recovery_report.log_bytes = recovery->contents().bytes;
  recovery_report.seconds = static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
  recoveries.add(begin_ns);
  // relaxed: a figure to look at.
  recovered_transactions.store(recovery_report.transactions, std::memory_order_relaxed);
  recovery.reset();
  // release: pairs with the acquire in ensure_recovered.
  recovered.store(true, std::memory_order_release);
  if (checkpoint) olap_dispatcher->wish_checkpoint();  // which looks whether it is recovered
  return {};
}

void Database::State::end_replay() {
  // release: pairs with the acquire in replay.
  replay_stops.store(true, std::memory_order_release);
  const std::lock_guard ended(recovering);
}

base::Result<void> Database::State::replay() {
  RecoveryProgress progress(options.path, options.recovery_listener, "transaction",
                            "of the log replayed", recovery->contents().transactions,
                            RecoveryProgress::Closing::kAlways);
  const base::Vid begin = engine.last_vid();
  const auto in_batch = [&](const auto& body) -> base::Result<void> {
    oltp_dispatcher->wait_for_room();
    // acquire: pairs with the release in end_replay, which waits for this.
    if (replay_stops.load(std::memory_order_acquire)) return base::ErrorCode::kClosed;
    {
      const BatchGate::Passage passage = gate.pass(Side::kOltp);
      clock.batch_begins(base::steady_ns());
      auto replayed = body();
      clock.batch_ends(engine.last_vid());
      if (!replayed) return replayed;
    }
    progress.at(engine.last_vid().value - begin.value);
    return {};
  };
  auto replayed = recovery->replay(
      procedures,
      [&](std::span<oltp::Request* const> requests, oltp::InsertedOfRequests inserted) {
        return in_batch([&] { return engine.replay_batch(requests, inserted); });
      },
      [&](std::span<const propagation::BatchRuns> batches) {
        return in_batch([&] { return engine.replay_updates(batches); });
      });
  if (replayed) progress.finish(engine.last_vid().value - begin.value);
  return replayed;
}

// What was acknowledged was pushed before, so the replica has it once it is up to date; a batch
// that was lost was neither pushed, nor logged, nor acknowledged.
base::Result<RebuildReport> Database::State::rebuild_primary(const BatchGate::Exclusive& held) {
  // After one that had no memory: there may be some by now.
  const bool is_again = primary_failure && primary_failure->code == base::ErrorCode::kOutOfMemory;
  if (auto open = check_open(held); !open && !(is_again && phase == Phase::kOpen)) {
    return open.error();
  }
  const uint64_t begin_ns = base::steady_ns();
  const auto lose = [&](const base::Error& error) {
    primary_failure = error;
    oltp_dispatcher->lose_engine(error);
  };
  // Until it is whole nobody meets it, whatever is thrown. Without a text, which would take memory.
  lose(base::ErrorCode::kOutOfMemory);
  base::Result<void> rebuilt;
  try {
    olap_dispatcher->bring_up_to_date();
    rebuilt = check_replica();
    if (rebuilt) {
      engine.restart_empty();
      rebuilt = restore_engine();
    }
  } catch (const storage::ChunkFailure& failure) {
    rebuilt = failure.error();
  } catch (const std::exception& thrown) {  // of memory, or of threads, that the system refuses
    rebuilt = base::Error(base::ErrorCode::kOutOfMemory, thrown.what());
  }
  if (!rebuilt) {
    lose(rebuilt.error().within("the lost primary cannot be rebuilt"));
    return *primary_failure;
  }
  primary_failure.reset();
  oltp_dispatcher->regain_engine();
  engine.release_free_slots();
  RebuildReport report;
  report.vid = engine.last_vid();
  for (uint32_t table = 0; table < catalog.table_count(); ++table) {
    report.rows += engine.row_count(base::TableId(table));
  }
  report.seconds = static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
  primary_rebuilds.add(begin_ns);
  return report;
}

// What a checkpoint that is cancelled has written stays written.
base::Result<void> Database::State::save_changes() {
  if (options.path.empty()) return {};
  base::Result<void> saved;
  try {
    saved = save_replica();
  } catch (const std::bad_alloc&) {
    saved = base::Error(base::ErrorCode::kOutOfMemory, "there is no memory left to save with");
  }
  // relaxed: a figure to look at.
  if (!saved) checkpoints_failed.fetch_add(1, std::memory_order_relaxed);
  return saved;
}

base::Result<void> Database::State::save_replica() {
  if (checkpoint_writer != nullptr) checkpoint_writer->cancel();
  if (log != nullptr) log->begin_file();
  if (olap_dispatcher != nullptr) olap_dispatcher->bring_up_to_date();
  if (auto usable = check_replica(); !usable) return usable;
  const base::Vid vid = replica.snapshot();
  uint64_t settled = 0;  // the same rows, but smaller: as good a reason to save as others
  for (uint32_t t = 0; t < replica.table_count(); ++t) {
    settled += replica.table(base::TableId(t)).figures().columns_settled;
  }
  if (saved_vid != vid || saved_ddl != ddl.size() || saved_settled != settled) {
    auto saved = storage::save_replica(options.path, &replica, ddl, options.faults.before_step);
    if (!saved) return saved.error();
    saved_vid = vid;
    saved_ddl = ddl.size();
    saved_settled = settled;
    // relaxed: a figure to look at.
    checkpoints.fetch_add(1, std::memory_order_relaxed);
  }
  if (log != nullptr) log->cover(vid);
  return {};
}

base::Result<void> Database::State::save_unlogged(const BatchGate::Exclusive&) {
  auto saved = save_changes();
  if (saved) return saved;
  const base::Error error = saved.error().within(
      fmt::format("it is done, but could not be saved, and the log does not have it; calls are "
                  "refused until {}",
                  check_replica() ? "save() or checkpoint() succeeds"
                                  : "the database is opened anew, without it"));
  log->suspend(error);
  return error;
}

base::Error Database::State::lose_memory_unlogged(const BatchGate::Exclusive&) {
  const base::Error error(base::ErrorCode::kOutOfMemory);  // no text, which would take memory
  if (log != nullptr) log->suspend(error);
  return error;
}

void Database::State::make_checkpoint_writer() {
  if (options.path.empty()) return;
  checkpoint_writer = std::make_unique<CheckpointWriter>(
      CheckpointWriterOptions{.directory = options.path,
                              .cores = placement.olap.cores,
                              .bytes_per_second = options.checkpoint_bytes_per_second,
                              .interval_ns = options.checkpoint_interval_ns,
                              .before_step = options.faults.before_step},
      CheckpointWriter::Callbacks{
          .ended = [this](const CheckpointWriter::Ended& ended) { checkpoint_ended(ended); },
          .idle = [this] { checkpoint_writer_is_idle(); },
          .due = [this] { olap_dispatcher->wish_checkpoint(); }});
}

void Database::State::run_checkpoint() {
  // What was replayed in part, or will never be to its end, is no state to be saved.
  // acquire: as in ensure_recovered.
  if (!recovered.load(std::memory_order_acquire)) return;
  if (checkpoint_writer != nullptr && checkpoint_writer->busy()) {
    // One that was cut before the wish does not fulfil it.
    {
      const std::lock_guard waiters_lock(checkpoint_mutex);
      checkpoint_again = true;
    }
    // It may have ended in between, and not have seen the flag.
    if (checkpoint_writer->busy()) return;
    const std::lock_guard waiters_lock(checkpoint_mutex);
    if (!std::exchange(checkpoint_again, false)) return;
  }
  CheckpointWaiters waiters;
  {
    const std::lock_guard waiters_lock(checkpoint_mutex);
    waiters.swap(checkpoint_waiters);
    checkpoint_participants.swap(waiters);
  }
  const base::Result<bool> begun = [&]() -> base::Result<bool> {
    try {
      return begin_checkpoint();
    } catch (const std::bad_alloc&) {
      return base::ErrorCode::kOutOfMemory;
    }
  }();
  if (begun && *begun) return;
  {
    const std::lock_guard waiters_lock(checkpoint_mutex);
    waiters.swap(checkpoint_participants);
  }
  const base::Result<void> outcome = begun ? base::Result<void>() : begun.error();
  if (!outcome) note_checkpoint_failure(outcome.error(), waiters.size());
  for (auto& waiter : waiters) waiter.set_value(outcome);
}

void Database::State::note_checkpoint_failure(const base::Error& error, size_t waiters) {
  // relaxed: a figure to look at.
  checkpoints_failed.fetch_add(1, std::memory_order_relaxed);
  if (waiters != 0) return;
  if (!checkpoint_failure_notice.is_due(base::steady_ns())) return;
  const bool grows = log != nullptr && !log->is_suspended();
  base::notify("a checkpoint failed{}: {}", grows ? ", and the log grows" : "", error);
}

// The log's file is changed before the replica is brought up to date: all that the files before it
// have is in the snapshot. It takes as much to make ready as a small checkpoint, so one that is
// hardly used stays.
base::Result<bool> Database::State::begin_checkpoint() {
  if (checkpoint_writer == nullptr) return false;
  if (saved_vid == clock.last() && saved_ddl == ddl.size()) {
    if (log != nullptr) log->cover(*saved_vid);  // whose files a backup may have held
    return false;
  }
  if (log != nullptr) log->begin_file(options.log_file_bytes / 2);
  olap_dispatcher->bring_up_to_date();
  if (auto usable = check_replica(); !usable) return usable.error();
  checkpoint_writer->begin(std::make_unique<storage::ReplicaSnapshot>(&replica), ddl);
  return true;
}

void Database::State::checkpoint_ended(const CheckpointWriter::Ended& ended) {
  if (ended.result) {
    saved_vid = ended.vid;
    saved_ddl = ended.ddl;
    // relaxed: a figure to look at.
    checkpoints.fetch_add(1, std::memory_order_relaxed);
    if (log != nullptr) log->cover(ended.vid);
  }
  CheckpointWaiters waiters;
  {
    const std::lock_guard waiters_lock(checkpoint_mutex);
    waiters.swap(checkpoint_participants);
    if (!ended.result && ended.result.code() == base::ErrorCode::kCancelled) {
      // Whoever cancelled it saves the replica; where that fails, another checkpoint has to do.
      checkpoint_again = true;
      std::move(waiters.begin(), waiters.end(), std::back_inserter(checkpoint_waiters));
      return;
    }
  }
  if (!ended.result) note_checkpoint_failure(ended.result.error(), waiters.size());
  for (auto& waiter : waiters) waiter.set_value(ended.result);
}

void Database::State::checkpoint_writer_is_idle() {
  bool again = false;
  {
    const std::lock_guard waiters_lock(checkpoint_mutex);
    again = std::exchange(checkpoint_again, false) || !checkpoint_waiters.empty();
  }
  if (again) {
    olap_dispatcher->wish_checkpoint();
  } else {
    olap_dispatcher->snapshot_has_gone();
  }
}

base::Result<RecoveryReport> Database::recover() {
  if (auto allowed = state_->check_may_wait("recover"); !allowed) return allowed.error();
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  const std::lock_guard lock(state_->recovering);
  return state_->recovery_report;
}

base::Result<std::vector<std::string>> Database::procedures_to_recover() const {
  if (auto allowed = state_->check_may_wait("procedures_to_recover"); !allowed) {
    return allowed.error();
  }
  const std::lock_guard lock(state_->recovering);
  if (state_->recovery == nullptr) return std::vector<std::string>();
  return state_->recovery->missing(state_->procedures, state_->modules);
}

base::Result<RebuildReport> Database::rebuild_primary() {
  if (auto allowed = state_->check_may_wait("rebuild_primary"); !allowed) return allowed.error();
  if (!state_->options.export_updates) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "export_updates is off: no replica has what the primary has");
  }
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  // What the batch had done is in rows and indexes until the rebuild: nobody else may meet it.
  return state_->rebuild_primary(state_->gate.interrupt([this] { state_->engine.lose(); }));
}

base::Result<void> Database::checkpoint() {
  if (auto allowed = state_->check_may_wait("checkpoint"); !allowed) return allowed;
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered;
  return state_->await_checkpoint();
}

base::Result<void> Database::State::await_checkpoint() {
  std::future<base::Result<void>> done;
  {
    const std::lock_guard waiters_lock(checkpoint_mutex);
    if (checkpoints_closed) return base::ErrorCode::kClosed;
    done = checkpoint_waiters.emplace_back().get_future();
  }
  olap_dispatcher->wish_checkpoint();
  return done.get();
}

}  // namespace diptych::dispatcher
