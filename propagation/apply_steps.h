// TableSteps: where the time of applying went, for one table, over all applies so far.
//
// Times are wall-clock, summed over the threads that worked on the table.

#pragma once

#include <cstdint>

namespace diptych::propagation {

struct TableSteps {
  uint64_t changes = 0;
  uint64_t order_ns = 0;
  uint64_t route_ns = 0;
  uint64_t apply_ns = 0;
  uint64_t lookup_ns = 0;  // of apply_ns: finding rows

  // The share of step 3 that goes into finding rows.
  double lookup_share() const {
    if (apply_ns == 0) return 0;
    return static_cast<double>(lookup_ns) / static_cast<double>(apply_ns);
  }
};

}  // namespace diptych::propagation
