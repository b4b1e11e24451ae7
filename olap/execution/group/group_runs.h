// GroupRuns: the selected rows of a vector by group, for few groups. A group's rows form one run,
// whose sum stays in a register; with additions row by row, each would wait for the previous store.
//
// Threads    one worker.

#pragma once

#include <cstdint>
#include <span>

#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class GroupRuns {
 public:
  static constexpr uint32_t kGroupsMax = 32;
  static constexpr uint32_t kRowsMin = 8 * kGroupsMax;  // fewer rows make short runs

  static bool pay(uint32_t groups, uint32_t rows) {
    return groups <= kGroupsMax && rows >= kRowsMin;
  }

  // groups[k] < kGroupsMax is the group of the k-th selected row. Benchmark: BM_GroupByInt.
  void find(const Selection& rows, const uint32_t* groups);

  // Calls f(group, slots) for each group that has rows, with their slots, ascending.
  template <class F>
  void for_runs(F&& f) const {
    uint32_t begin = 0;
    for (uint32_t group = 0; group < kGroupsMax; ++group) {
      if (ends_[group] == begin) continue;
      f(group, std::span(slots_ + begin, slots_ + ends_[group]));
      begin = ends_[group];
    }
  }

 private:
  uint16_t slots_[kVectorRows];
  uint32_t ends_[kGroupsMax];
};

}  // namespace diptych::olap
