#include "dispatcher/backup_runs.h"

namespace diptych::dispatcher {

base::Result<void> BackupRuns::begin(const BatchGate::Exclusive& /*gate_held*/,
                                     const CommandLog* log) {
  const std::lock_guard lock(mutex_);
  if (stops_) return base::ErrorCode::kClosed;
  runs_ = true;
  end_.reset();
  if (log != nullptr && log->is_suspended()) end_ = log->durable_end();
  return {};
}

base::Result<void> BackupRuns::pace(ByteRate* rate, size_t bytes) {
  std::unique_lock held(mutex_);
  rate->wait(bytes, &held, &stopping_, [this] { return stops_; });
  if (stops_) return base::ErrorCode::kClosed;
  return {};
}

CommandLog::End BackupRuns::end_of_log(const CommandLog& log) const {
  const std::lock_guard lock(mutex_);
  return end_ ? *end_ : log.durable_end();
}

void BackupRuns::done() {
  const std::lock_guard lock(mutex_);
  runs_ = false;
}

void BackupRuns::cut_log(const BatchGate::Exclusive& /*gate_held*/, CommandLog* log,
                         base::Vid last) {
  {
    const std::lock_guard lock(mutex_);
    if (!runs_ || end_) return;
  }
  log->wait_until_durable(last);
  const std::lock_guard lock(mutex_);
  end_ = log->durable_end();
}

void BackupRuns::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stopping_.notify_all();
}

void BackupRuns::await() {
  const std::lock_guard ended(taking_);
}

}  // namespace diptych::dispatcher
