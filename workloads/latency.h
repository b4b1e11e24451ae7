// Latency: how long calls took, and what became of them, as reports say it.
//
// Figures    NaN where nothing was measured: a side without clients, a run stopped in its warm-up.

#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace diptych::workloads {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct Latency {  // milliseconds
  uint64_t count = 0;
  double mean = kNotMeasured, p50 = kNotMeasured, p90 = kNotMeasured, p99 = kNotMeasured,
         p999 = kNotMeasured, max = kNotMeasured;
};

struct TypeReport {  // of one transaction type or query
  uint64_t completed = 0;
  uint64_t aborted = 0;  // rolled back by the procedure (New-Order's 1 %)
  uint64_t failed = 0;   // any other error, at any time; the first one's text is in `error`
  uint64_t conflicts = 0;
  std::string error;
  Latency latency_ms;
};

}  // namespace diptych::workloads
