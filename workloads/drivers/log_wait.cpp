#include "workloads/drivers/log_wait.h"

#include "base/clock.h"

namespace diptych::workloads {

namespace {
// A checkpoint, which the log asks for, may make space.
constexpr uint64_t kPatienceNs = 3'000'000'000;
}  // namespace

void LogWait::look(bool came) {
  if (came || phase_->calls_go_on()) {
    quiet_since_ns_ = 0;
    return;
  }
  const uint64_t now_ns = base::steady_ns();
  if (quiet_since_ns_ == 0) quiet_since_ns_ = now_ns;
  if (now_ns - quiet_since_ns_ < kPatienceNs) return;
  constexpr auto kNoSpace = static_cast<size_t>(dispatcher::LogRefusal::kNoSpace);
  if (!database_->metrics().log_refuses[kNoSpace]) return;
  // kClosed, where another driver came first: its calls have ended, too.
  static_cast<void>(database_->discard());
}

}  // namespace diptych::workloads
