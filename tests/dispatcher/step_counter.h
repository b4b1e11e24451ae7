// StepCounter: counts the steps that change the files of a database, and refuses, or kills the
// process at, the one that a test says.

#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>

#include <unistd.h>

#include "base/result.h"
#include "storage/file_step.h"

namespace diptych::dispatcher {

// Outlives the database.
class StepCounter {
 public:
  static constexpr size_t kKinds = static_cast<size_t>(storage::FileStep::kRemove) + 1;

  storage::BeforeFileStep hook() {
    return [this](storage::FileStep step) { return take(step); };
  }
  // The n-th step from now on, counted from 1; 0: none.
  void kill_at(int64_t n) { left_ = n; }
  int64_t taken(storage::FileStep step) const { return taken_[static_cast<size_t>(step)]; }
  void refuse(std::optional<storage::FileStep> step, base::ErrorCode code) {
    const std::lock_guard lock(mutex_);
    refused_ = step;
    code_ = code;
  }

 private:
  base::Result<void> take(storage::FileStep step) {
    ++taken_[static_cast<size_t>(step)];
    if (left_ > 0 && --left_ == 0) ::kill(::getpid(), SIGKILL);
    const std::lock_guard lock(mutex_);
    if (refused_ != step) return {};
    return base::Error(code_, "the test's disk refuses");
  }

  std::atomic<int64_t> left_{0};
  std::array<std::atomic<int64_t>, kKinds> taken_{};
  std::mutex mutex_;
  std::optional<storage::FileStep> refused_;
  base::ErrorCode code_ = base::ErrorCode::kIo;
};

}  // namespace diptych::dispatcher
