// TimeSpent: how often something that is done seldom was done, and how long it took in all.
//
// Threads    add: one at a time. times, ns: any, as figures.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace diptych::dispatcher {

class TimeSpent {
 public:
  // It was done, since then.
  void add(uint64_t since_ns) {
    // relaxed: figures to look at, here and below.
    times_.fetch_add(1, std::memory_order_relaxed);
    // relaxed: as above.
    ns_.fetch_add(base::steady_ns() - since_ns, std::memory_order_relaxed);
  }
  // relaxed: as above.
  uint64_t times() const { return times_.load(std::memory_order_relaxed); }
  // relaxed: as above.
  uint64_t ns() const { return ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> times_{0};  // writers of both: who has done it
  std::atomic<uint64_t> ns_{0};
};

}  // namespace diptych::dispatcher
