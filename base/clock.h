// The clock that durations are measured with: monotonic, the same for all threads of the process.

#pragma once

#include <cstdint>

namespace diptych::base {

// Nanoseconds since an arbitrary moment; a reading costs some 30 ns.
uint64_t steady_ns();

}  // namespace diptych::base
