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

  // The frame without regard to EXCLUDE.
  PositionRange whole(uint32_t position) const;

  // The frame as runs after EXCLUDE, in order; runs may be empty.
  std::array<PositionRange, 3> runs(uint32_t position) const;

  // True if every frame begins with the partition and none is shorter than the one before it.
  bool only_grows() const;

 private:
  uint32_t start_of(uint32_t position) const;
  uint32_t end_of(uint32_t position) const;
  // For RANGE: the first position whose key does not come before the bound or, with `after`, the
  // first whose key comes behind it.
  uint32_t search(uint32_t position, uint64_t bound_column, bool after) const;
  template <class T>
  uint32_t search_typed(uint32_t position, uint32_t bound_column, bool after) const;

  const WindowOrder& order_;
  const Operator& window_;
  const Frame& frame_;
  PositionRange partition_;
  PositionRange keyed_;  // the partition's positions whose order key is not null
};

}  // namespace diptych::olap
