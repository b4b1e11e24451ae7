// The clock that durations are measured with: monotonic, the same for all threads of the process.
// A duration is kept in nanoseconds, and shown in seconds.

#pragma once

#include <cstdint>

namespace diptych::base {

inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

constexpr double to_seconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

// Nanoseconds since an arbitrary moment; a reading costs some 30 ns.
uint64_t steady_ns();

inline double seconds_since(uint64_t begin_ns) {
  return to_seconds(steady_ns() - begin_ns);
}

}  // namespace diptych::base
