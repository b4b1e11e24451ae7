// Workers: the threads that share a step between two pipelines (building a join's table, merging
// groups, sorting).
//
// A step is cut into pieces that wait for nobody. There are more pieces than workers if their sizes
// differ. With one worker, or with too little work, the caller does all of it.
//
// Threads    run(): one caller at a time, never from within a piece. Functions that a piece calls
//            get Workers(stop), which uses the calling thread alone.
// Stopping   the signal is checked before each piece. After a failure, pieces that have not begun
//            are skipped.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/threads/execution_arena.h"

namespace diptych::olap {

struct RowRange {
  uint64_t begin;
  uint64_t end;
};

// Range number `piece` of `pieces` ranges of about equal size.
inline RowRange range_of(uint64_t rows, uint32_t piece, uint32_t pieces) {
  return {rows * piece / pieces, rows * (piece + uint64_t{1}) / pieces};
}

class Workers {
 public:
  explicit Workers(const StopSignal& stop) : stop_(&stop) {}
  Workers(ExecutionArena* arena, const StopSignal& stop) : arena_(arena), stop_(&stop) {}

  const StopSignal& stop() const { return *stop_; }
  uint32_t count() const { return arena_ == nullptr ? 1 : arena_->threads(); }
  // The number of workers, at least one, that have `rows_min` rows each to do.
  uint32_t count_for(uint64_t rows, uint64_t rows_min) const {
    return static_cast<uint32_t>(std::clamp<uint64_t>(rows / rows_min, 1, count()));
  }

  // Calls body(i) once for every i of [0, pieces); rethrows the exception of the first that fails.
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

  // Calls body(range) for ranges that cover [0, rows). Each worker has at least rows_min rows, and
  // checks the signal before each range.
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
