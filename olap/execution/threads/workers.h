// Workers: the threads that a step between two pipelines is shared out to (a join's table, groups
// that are merged, a sort).
//
// A step is cut into pieces that wait for nobody, more of them than there are workers where their
// sizes differ. With one worker, or where there is too little to do, all of it runs in the caller.
//
// Threads    run(): one caller at a time, never from within a piece: what a piece calls is given
//            Workers(stop), which is the caller alone.
// Stopping   looked at before each piece. The first failure skips the pieces that have not begun.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/threads/arena.h"

namespace diptych::olap {

struct RowRange {
  uint64_t begin;
  uint64_t end;
};

// The piece-th of `pieces` ranges of about equal size.
inline RowRange range_of(uint64_t rows, uint32_t piece, uint32_t pieces) {
  return {rows * piece / pieces, rows * (piece + uint64_t{1}) / pieces};
}

class Workers {
 public:
  explicit Workers(const StopSignal& stop) : stop_(&stop) {}
  Workers(ExecutionArena* arena, const StopSignal& stop) : arena_(arena), stop_(&stop) {}

  const StopSignal& stop() const { return *stop_; }
  uint32_t count() const { return arena_ == nullptr ? 1 : arena_->threads(); }
  // How many of them have `rows_min` rows each to do, at least one.
  uint32_t count_for(uint64_t rows, uint64_t rows_min) const {
    return static_cast<uint32_t>(std::clamp<uint64_t>(rows / rows_min, 1, count()));
  }

  // body(i) once for every i of [0, pieces); throws what the first failing one threw.
  void run(uint32_t pieces, const std::function<void(uint32_t)>& body) const {
    if (pieces <= 1 || count() == 1) {
      for (uint32_t i = 0; i < pieces; ++i) {
        stop_->check();
        body(i);
      }
      return;
    }
    std::atomic<bool> failed{false};  // writer: a piece that failed
    arena_->run(pieces, [&](uint32_t i) {
      // relaxed: only saves the others work.
      if (failed.load(std::memory_order_relaxed)) return;
      try {
        stop_->check();
        body(i);
      } catch (...) {
        // relaxed: as above.
        failed.store(true, std::memory_order_relaxed);
        throw;
      }
    });
  }

  // body(range) over [0, rows): each worker has rows_min of them at least, and looks at the signal
  // from range to range.
  void run_ranges(uint64_t rows, uint64_t rows_min,
                  const std::function<void(RowRange)>& body) const {
    const uint32_t pieces = count_for(rows, rows_min);
    run(pieces, [&](uint32_t i) {
      const RowRange own = range_of(rows, i, pieces);
      for (uint64_t begin = own.begin; begin < own.end; begin += StopSignal::kRowsBetween) {
        stop_->check();
        body({begin, std::min(begin + StopSignal::kRowsBetween, own.end)});
      }
    });
  }

 private:
  ExecutionArena* arena_ = nullptr;
  const StopSignal* stop_;
};

}  // namespace diptych::olap
