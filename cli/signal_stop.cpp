#include "cli/signal_stop.h"

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "cli/output.h"

namespace diptych::cli {
namespace {

// Writer: the signal handler; reset by the constructor of SignalStop.
workloads::StopFlag stop_requested{false};
static_assert(workloads::StopFlag::is_always_lock_free, "a signal handler must not wait");

bool in_use = false;

void request_stop(int signal) {
  // relaxed: the flag carries no data with it.
  stop_requested.store(true, std::memory_order_relaxed);
  if (signal != SIGINT) return;
  const int before = errno;
  // The terminal has written ^C into the line.
  say("\nending; Ctrl-C again to quit at once\n");
  errno = before;
}

}  // namespace

SignalStop::SignalStop() {
  DIPTYCH_CHECK(!in_use, "a signal has one receiver");
  in_use = true;
  // relaxed: no handler is installed yet.
  stop_requested.store(false, std::memory_order_relaxed);
  struct sigaction action = {};
  action.sa_handler = &request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  for (const auto& [signal, before] :
       {std::pair(SIGINT, &interrupt_before_), std::pair(SIGTERM, &terminate_before_)}) {
    sigaction(signal, nullptr, before);
    // A shell ignores Ctrl-C for what it runs in the background, and so do its programs.
    if (before->sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

SignalStop::~SignalStop() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
  in_use = false;
}

const workloads::StopFlag& SignalStop::flag() const {
  return stop_requested;
}

bool SignalStop::stopped() const {
  // relaxed: the flag carries no data with it.
  return stop_requested.load(std::memory_order_relaxed);
}

}  // namespace diptych::cli
