// TableSteps: where the time of applying went, for one table, over all applies so far.
//
// Times are wall-clock, summed over the threads that worked on the table. Of step 3, every
// 16th group of records is looked at closer: how much of it the index took, and how much the cells.

#pragma once

#include <cstdint>

namespace diptych::propagation {

struct TableSteps {
  uint64_t records = 0;
  uint64_t order_ns = 0;
  uint64_t route_ns = 0;
  uint64_t apply_ns = 0;
  uint64_t sampled_lookup_ns = 0;
  uint64_t sampled_write_ns = 0;

  // The share of step 3 that goes into finding rows.
  double lookup_share() const {
    const uint64_t sampled = sampled_lookup_ns + sampled_write_ns;
    if (sampled == 0) return 0;
    return static_cast<double>(sampled_lookup_ns) / static_cast<double>(sampled);
  }
};

}  // namespace diptych::propagation
