// Run control: how a run of a benchmark is watched and stopped by who asked for it.
//
// Threads    a run uses the calling thread as its conductor; `stop` may be set from a signal
//            handler or another thread. Set while it loads, the run fails with kCancelled and
//            leaves nothing on disk. Set before the checks, the run ends early, checks all the
//            same, and reports what was measured so far (interrupted = true). Set during the
//            checks, those that are left are not made. `progress` is called by one thread at a
//            time, not always the same.

#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace diptych::workloads {

// Called now and then: what is being done, and how far (0 to 1; negative: unknown).
using Progress = std::function<void(const std::string& what, double done)>;
using StopFlag = std::atomic<bool>;
inline bool stopped(const StopFlag& stop) {
  // relaxed: a flag on its own, nothing is read behind it.
  return stop.load(std::memory_order_relaxed);
}

}  // namespace diptych::workloads
