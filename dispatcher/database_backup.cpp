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

base::Result<BackupReport> Database::State::backup(const std::string& directory,
                                                   const BackupOptions& how) {
  if (auto in_place = identity.check(); !in_place) return in_place.error();
  // What was found and not replayed is copied as it is, and is not replayed meanwhile.
  std::unique_lock no_replay = log_replay.hold();
  const LogContents* const found = log_replay.contents();
  if (found == nullptr) no_replay.unlock();
  // Without a log, what is in memory alone is to be saved.
  if (found == nullptr && log == nullptr) {
    if (auto saved = checkpoints.await(); !saved) return saved.error();
  }
  ByteRate rate(how.bytes_per_second);
  auto target = BackupInMaking::begin(directory, {},
                                      [&](size_t bytes) { return backups.pace(&rate, bytes); });
  if (!target) return target.error();
  const storage::BlockFile::Hold blocks(&replica.buffers()->file());
  const LogHold files(log.get());
  const auto manifest = storage::read_manifest(options.path);
  if (!manifest) return manifest.error();
  if (auto copied = target->copy_blocks(options.path, *manifest); !copied) return copied.error();
  CommandLog::End end{.files = {}, .last = manifest->vid};
  if (found != nullptr) {
    end = {.files = extents_of(*found), .last = found->last};
  } else if (log != nullptr) {
    end = backups.end_of_log(*log);
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
  if (auto outside = check_is_outside(state_->options.path, directory); !outside) {
    return outside.error();
  }
  const std::unique_lock one_at_a_time = state_->backups.turn();
  {
    const BatchGate::Exclusive held = state_->gate.exclude();
    if (auto open = state_->check_open(held); !open) return open.error();
    if (auto begun = state_->backups.begin(held, state_->log.get()); !begun) return begun.error();
  }
  const uint64_t begin_ns = base::steady_ns();
  auto taken = state_->backup(directory, options);
  if (taken) state_->backups.spent().add(begin_ns);
  state_->backups.done();
  if (!taken && taken.code() != base::ErrorCode::kClosed) return taken.error().within("the backup");
  return taken;
}

}  // namespace diptych::dispatcher
