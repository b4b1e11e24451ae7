// Durability: the log that is replayed before the data is used, the replica that is saved as a
// checkpoint, and the primary built anew.

#include <exception>
#include <future>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/notice.h"
#include "dispatcher/database_state.h"
#include "storage/replica_files.h"
#include "storage/replica_snapshot.h"

namespace diptych::dispatcher {

base::Result<void> Database::State::recover() {
  bool checkpoint = false;
  auto recovered = log_replay.run({
      .check_open =
          [this] {
            const BatchGate::Exclusive held = gate.exclude();
            return check_open(held);
          },
      .wait_for_room = [this] { oltp_dispatcher->wait_for_room(); },
      .finished =
          [&] {
            if (log == nullptr) return;
            log->set_position(engine.last_vid(), log_replay.position());
            // Else processes that crash soon would leave each other ever more to replay.
            checkpoint = log->wants_checkpoint();
          },
  });
  if (checkpoint) olap_dispatcher->wish_checkpoint();  // which looks whether it is recovered
  return recovered;
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
  if (!log_replay.is_done()) return;
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
  return state_->log_replay.report();
}

base::Result<std::vector<std::string>> Database::procedures_to_recover() const {
  if (auto allowed = state_->check_may_wait("procedures_to_recover"); !allowed) {
    return allowed.error();
  }
  return state_->log_replay.missing();
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
