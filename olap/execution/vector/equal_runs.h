// EqualRuns: finds runs of equal numbers, such as the build rows of order lines that come order by
// order. A look-up by number is then done once for each run.
//
// Threads    one worker.

#pragma once

#include <cstdint>

#include "olap/execution/vector/probe_kernels.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class EqualRuns {
 public:
  // If runs are shorter on average, they cost more than they save.
  static constexpr uint32_t kLengthMin = 4;

  // Finds the runs of numbers[0, count); the array has room for kVectorRows. Returns false, and
  // keeps no runs, if they are short. Benchmark: BM_GroupLinesByOrder.
  bool find(const uint32_t* numbers, uint32_t count) {
    runs_ = 0;
    if (count < kLengthMin) return false;
    runs_ = collect_changes(numbers, words_of(count), ~numbers[0], starts_);
    while (runs_ != 0 && starts_[runs_ - 1] >= count) --runs_;
    if (runs_ * kLengthMin > count) runs_ = 0;
    starts_[runs_] = static_cast<uint16_t>(count);
    return runs_ != 0;
  }

  uint32_t count() const { return runs_; }
  // Calls f(run, begin, end) for each run, with its range of positions, ascending.
  template <class F>
  void for_runs(F&& f) const {
    const uint32_t runs = runs_;
    for (uint32_t r = 0; r < runs; ++r) f(r, uint32_t{starts_[r]}, uint32_t{starts_[r + 1]});
  }

 private:
  uint32_t runs_ = 0;
  uint16_t starts_[kVectorRows + 1];
};

// Fills to[0, count) with `value`, kFillAhead values at a time, because the ends of runs are not
// predictable. Up to kFillAhead - 1 values behind the end are overwritten, too.
inline constexpr uint32_t kFillAhead = 16;
inline void fill_ahead(uint32_t* to, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; i < count; i += kFillAhead) {
    for (uint32_t k = 0; k < kFillAhead; ++k) to[i + k] = value;
  }
}

}  // namespace diptych::olap
