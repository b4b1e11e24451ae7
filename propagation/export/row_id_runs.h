// RowIdRuns: the RowIDs of a load, in the order of its rows, as runs of neighbours: RowIDs are
// given out in runs, so 16 bytes stand for up to a thousand rows.
//
// Threads    one owner.

#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace diptych::propagation {

class RowIdRuns {
 public:
  void append(base::RowId row_id) {
    if (!runs_.empty() && runs_.back().first + runs_.back().count == row_id.value) {
      ++runs_.back().count;
    } else {
      runs_.push_back({row_id.value, 1});
    }
    ++size_;
  }
  uint64_t size() const { return size_; }

  // Calls visit(RowId) for each, in their order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Run& run : runs_) {
      for (uint64_t i = 0; i < run.count; ++i) visit(base::RowId(run.first + i));
    }
  }
  size_t memory_bytes() const { return runs_.capacity() * sizeof(Run); }

 private:
  struct Run {
    uint64_t first;
    uint64_t count;
  };

  std::vector<Run> runs_;
  uint64_t size_ = 0;
};

}  // namespace diptych::propagation
