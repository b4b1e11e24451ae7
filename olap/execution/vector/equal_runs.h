// EqualRuns: where equal numbers follow each other, as the build rows of order lines do that come
// order by order: what is asked of a number is asked once a run.
//
// Threads    one worker's.

#pragma once

#include <cstdint>

#include "olap/execution/vector/probe_kernels.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class EqualRuns {
 public:
  // Shorter ones, on average, take more than they save.
  static constexpr uint32_t kLengthMin = 4;

  // The runs of numbers[0, count), which has room for kVectorRows. False, and there are none, where
  // they are short. Benchmark: BM_GroupLinesByOrder.
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
  // f(run, begin, end): its positions, ascending.
  template <class F>
  void for_runs(F&& f) const {
    const uint32_t runs = runs_;
    for (uint32_t r = 0; r < runs; ++r) f(r, uint32_t{starts_[r]}, uint32_t{starts_[r + 1]});
  }

 private:
  uint32_t runs_ = 0;
  uint16_t starts_[kVectorRows + 1];
};

// to[0, count) = value, written kFillAhead values at a time, as runs end where nobody can predict:
// those behind are overwritten, too.
inline constexpr uint32_t kFillAhead = 16;
inline void fill_ahead(uint32_t* to, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; i < count; i += kFillAhead) {
    for (uint32_t k = 0; k < kFillAhead; ++k) to[i + k] = value;
  }
}

}  // namespace diptych::olap
