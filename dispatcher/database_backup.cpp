// The face's backup: the directory is copied while transactions, queries and checkpoints go on.
//
//   hold blocks and log files ─► read the manifest (VID s) ─► copy what it names
//        ─► where is the log durable now? (VID e) ─► copy the log from s to e ─► release
//
// What is neither in that manifest nor in the log (a load, DDL, a library of procedures that
// replaces another) ends the backup's log before it, at the VID that the database had.

#include "base/clock.h"
#include "dispatcher/backup.h"
#include "dispatcher/byte_rate.h"
#include "dispatcher/database_state.h"
#include "storage/block_file.h"
#include "storage/buffer_manager.h"

namespace diptych::dispatcher {
namespace {

// The log's files stay.
class LogHold {
 public:
  explicit LogHold(CommandLog* log) : log_(log) {
    if (log_ != nullptr) log_->hold_files();
  }
  LogHold(const LogHold&) = delete;
  LogHold& operator=(const LogHold&) = delete;
  ~LogHold() {
    if (log_ != nullptr) log_->release_files();
  }

 private:
  CommandLog* const log_;
};

}  // namespace

void Database::State::before_unlogged_change(const BatchGate::Exclusive&) {
  {
    const std::lock_guard backup_lock(backup_mutex);
    if (!backup_runs || backup_end) return;
  }
  log->wait_until_durable(engine.last_vid());
  const std::lock_guard backup_lock(backup_mutex);
  backup_end = log->durable_end();
}

base::Result<void> Database::State::pace_backup(ByteRate* rate, size_t bytes) {
  std::unique_lock held(backup_mutex);
  rate->wait(bytes, &held, &backup_stopping, &backup_stops);
  if (backup_stops) return base::ErrorCode::kClosed;
  return {};
}

base::Result<BackupReport> Database::State::backup(const std::string& directory,
                                                   const BackupOptions& how) {
  // What was found and not replayed is copied as it is, and is not replayed meanwhile.
  std::unique_lock no_replay(recovering);
  const bool as_found = recovery != nullptr;
  if (!as_found) no_replay.unlock();
  // Without a log, what is in memory alone is to be saved.
  if (!as_found && log == nullptr) {
    if (auto saved = await_checkpoint(); !saved) return saved.error();
  }
  ByteRate rate(how.bytes_per_second);
  auto target = BackupInMaking::begin(
      directory, [](double) { return base::Result<void>(); },
      [&](size_t bytes) { return pace_backup(&rate, bytes); });
  if (!target) return target.error();
  const storage::BlockFile::Hold blocks(&replica.buffers()->file());
  const LogHold files(log.get());
  const auto manifest = storage::read_manifest(options.path);
  if (!manifest) return manifest.error();
  if (auto copied = target->copy_blocks(options.path, *manifest); !copied) return copied.error();
  CommandLog::End end{.files = {}, .last = manifest->vid};
  if (as_found) {
    end = {.files = extents_of(recovery->contents()), .last = recovery->contents().last};
  } else if (log != nullptr) {
    const std::lock_guard backup_lock(backup_mutex);
    end = backup_end ? *backup_end : log->durable_end();
  }
  return target->finish(options.path, end.files, std::max(end.last, manifest->vid));
}

base::Result<BackupReport> Database::backup(const std::string& directory,
                                            const BackupOptions& options) {
  if (auto allowed = state_->check_may_wait("backup"); !allowed) return allowed.error();
  if (state_->options.path.empty()) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "a database in memory has no files that could be copied");
  }
  const std::lock_guard one_at_a_time(state_->backing_up);
  {
    const BatchGate::Exclusive held = state_->gate.exclude();
    if (auto open = state_->check_open(held); !open) return open.error();
  }
  {
    // An unlogged change holds the gate from when it asks for backups until a manifest has it, or
    // the log is suspended: it sees this one, or the backup sees that.
    const BatchGate::Exclusive held = state_->gate.exclude();
    const std::lock_guard lock(state_->backup_mutex);
    if (state_->backup_stops) return base::ErrorCode::kClosed;
    state_->backup_runs = true;
    state_->backup_end.reset();
    if (state_->log != nullptr && state_->log->is_suspended()) {
      state_->backup_end = state_->log->durable_end();
    }
  }
  const uint64_t begin_ns = base::steady_ns();
  auto done = state_->backup(directory, options);
  if (done) state_->backups.add(begin_ns);
  const std::lock_guard lock(state_->backup_mutex);
  state_->backup_runs = false;
  if (!done && done.code() != base::ErrorCode::kClosed) return done.error().within("the backup");
  return done;
}

void Database::State::stop_backup() {
  {
    const std::lock_guard backup_lock(backup_mutex);
    backup_stops = true;
  }
  backup_stopping.notify_all();
}

void Database::State::await_backup() {
  const std::lock_guard ended(backing_up);
}

}  // namespace diptych::dispatcher
