// FrameFinder: the frame of each row of a partition, as runs of positions.
//
// Threads    one worker.

#pragma once

#include <array>

#include "olap/execution/window/window.h"

namespace diptych::olap {

class FrameFinder {
 public:
  FrameFinder(const WindowOrder& order, const Operator& window, const Frame& frame,
              PositionRange partition);

  // Without the exclusion.
  PositionRange whole(uint32_t position) const;

  // What is left of the frame, in order; empty runs may be among them.
  std::array<PositionRange, 3> runs(uint32_t position) const;

  // True where every frame begins with the partition, and none is shorter than the one before it.
  bool only_grows() const;

 private:
  uint32_t start_of(uint32_t position) const;
  uint32_t end_of(uint32_t position) const;
  // In RANGE: the first position whose key does not come before (after: comes behind) the bound.
  uint32_t search(uint32_t position, uint64_t bound_column, bool after) const;
  template <class T>
  uint32_t search_typed(uint32_t position, uint32_t bound_column, bool after) const;

  const WindowOrder& order_;
  const Operator& window_;
  const Frame& frame_;
  PositionRange partition_;
  PositionRange keyed_;  // of the partition: positions whose order key is not null
};

}  // namespace diptych::olap
