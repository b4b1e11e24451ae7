// "200 KiB", "12 bytes"; "1.250 s", "0.250 ms": amounts for messages, in a unit that does not round
// them down to nothing.

#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/counted.h"

namespace diptych::base {

// Whole KiB, rounded down; below one, bytes.
inline std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return counted(bytes, "byte");
  return fmt::format("{} KiB", bytes >> 10);
}

// Seconds; below a thousandth, milliseconds; below a thousandth of these, nanoseconds.
inline std::string duration_text(uint64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3f} ms", static_cast<double>(ns) * 1e-6);
  return fmt::format("{:.3f} s", static_cast<double>(ns) * 1e-9);
}

}  // namespace diptych::base
