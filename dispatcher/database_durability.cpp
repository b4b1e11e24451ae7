// Durability: the log that is replayed before the data is used, saves of what it does not have, and
// the primary built anew.

#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "dispatcher/database_state.h"

namespace diptych::dispatcher {

base::Result<void> Database::State::recover() {
  bool checkpoint = false;
  auto recovered = log_replay.run({
      .check_open =
          [this] {
            const BatchGate::Exclusive held = gate.exclude();
            return check_open(held);
          },
      .wait_until_batch_may_start = [this] { oltp_dispatcher->wait_until_batch_may_start(); },
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
base::Result<RebuildReport> Database::State::rebuild_primary(const BatchGate::Exclusive&) {
  // Where close has only begun, the last batches need the primary.
  if (phase != Phase::kOpen) return base::ErrorCode::kClosed;
  // Of one that had no memory there may be some by now.
  if (primary_failure && primary_failure->code != base::ErrorCode::kOutOfMemory) {
    return *primary_failure;
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
    rebuilt = olap_dispatcher->check_replica();
    if (rebuilt) {
      engine.clear();
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
  for (const base::TableSchema& table : catalog.tables()) report.rows += engine.row_count(table.id);
  report.seconds = static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
  primary_rebuilds.add(begin_ns);
  return report;
}

base::Result<void> Database::State::save_unlogged(const BatchGate::Exclusive&, DdlEffect effect) {
  // Suspended, it lacks something else, too.
  const bool log_goes_on = effect == DdlEffect::kAdds && !log->is_suspended();
  auto saved = log_goes_on ? checkpoints.save_schema() : checkpoints.save();
  if (saved) return saved;
  const char* until = "save() or checkpoint() succeeds";
  // Since it was asked whether it has.
  if (!check_log()) until = "the database is opened anew, without it unless a save succeeds before";
  if (!olap_dispatcher->check_replica()) until = "the database is opened anew, without it";
  const base::Error error = saved.error().within(
      fmt::format("it is done, but could not be saved, and the log does not have it; calls are "
                  "refused until {}",
                  until));
  suspend_log(error);
  return error;
}

base::Error Database::State::lose_memory_unlogged(const BatchGate::Exclusive&) {
  const base::Error error(base::ErrorCode::kOutOfMemory);  // no text, which would take memory
  if (log != nullptr) suspend_log(error);
  return error;
}

// A checkpoint that was cut before would end it, and does not have what the log lacks.
void Database::State::suspend_log(const base::Error& error) {
  checkpoints.cancel();
  log->suspend(error);
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
  if (auto open = state_->check_not_closing(); !open) return open.error();
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  // What the batch had done is in rows and indexes until the rebuild: nobody else may meet it.
  return state_->rebuild_primary(state_->gate.interrupt([this] { state_->engine.lose(); }));
}

base::Result<void> Database::checkpoint() {
  if (auto allowed = state_->check_may_wait("checkpoint"); !allowed) return allowed;
  if (auto open = state_->check_not_closing(); !open) return open;
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered;
  return state_->checkpoints.await();
}

}  // namespace diptych::dispatcher
