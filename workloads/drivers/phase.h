// Phase: where a run stands. The conductor moves it on, the drivers follow.
//
//   kWarmup -> kMeasure -> kCooldown -> kStop; stopped in its warm-up, a run does not measure.
//   A call is counted when it is handed back during kMeasure, one that failed whenever it is.
//   At kStop no call is made any more.

#pragma once

#include <atomic>
#include <cstdint>

namespace diptych::workloads {

enum class Phase : uint8_t { kWarmup, kMeasure, kCooldown, kStop };

class PhaseSwitch {
 public:
  Phase now() const {
    // relaxed: a flag on its own, nothing is read behind it.
    return phase_.load(std::memory_order_relaxed);
  }
  void set(Phase phase) {
    // relaxed: as above.
    phase_.store(phase, std::memory_order_relaxed);
  }

 private:
  std::atomic<Phase> phase_{Phase::kWarmup};  // writer: the conductor
};

}  // namespace diptych::workloads
