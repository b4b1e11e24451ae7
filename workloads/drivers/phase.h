// Phase: where a run stands. The conductor moves it on, the drivers follow.
//
//   kWarmup -> kMeasure -> kCooldown -> kStop; stopped in its warm-up, a run does not measure.
//   kMeasure -> kLastCalls            of a run whose every call counts: it ends with the last one.
//
//   A call is counted when it is handed back during kMeasure or kLastCalls, one that failed
//   whenever it is. At kLastCalls and kStop no call is made any more.

#pragma once

#include <atomic>
#include <cstdint>

namespace diptych::workloads {

enum class Phase : uint8_t { kWarmup, kMeasure, kCooldown, kLastCalls, kStop };

class PhaseSwitch {
 public:
  Phase now() const {
    // relaxed: a flag on its own, nothing is read behind it.
    return phase_.load(std::memory_order_relaxed);
  }
  bool calls_go_on() const { return now() < Phase::kLastCalls; }
  bool calls_count() const {
    const Phase phase = now();
    return phase == Phase::kMeasure || phase == Phase::kLastCalls;
  }
  void set(Phase phase) {
    // relaxed: as above.
    phase_.store(phase, std::memory_order_relaxed);
  }

 private:
  std::atomic<Phase> phase_{Phase::kWarmup};  // writer: the conductor
};

}  // namespace diptych::workloads
