// QueryControl: stops one query, whether it waits or runs.
//
//   going on ──cancel──► cancelled            the first stop is final
//      └────────expire──► deadline exceeded
//
// The executor checks the control at each morsel and in long loops, and ends the query with
// error(); other queries continue. A stop after the query has ended has no effect.
//
// Threads    any thread may call any member.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/result.h"

namespace diptych::olap {

class QueryControl {
 public:
  // True if the query was not stopped before.
  bool cancel() { return stop(Stop::kCancelled); }
  bool expire() { return stop(Stop::kExpired); }

  bool is_stopped() const {
    // relaxed: a flag of its own; a morsel more or less does not matter.
    return stop_.load(std::memory_order_relaxed) != Stop::kNone;
  }
  // The reason of the stop. The query has been stopped.
  base::Error error() const {
    // relaxed: as above; it is written once.
    if (stop_.load(std::memory_order_relaxed) == Stop::kExpired) {
      return {base::ErrorCode::kDeadlineExceeded, "the query's time was over"};
    }
    return {base::ErrorCode::kCancelled, "the query was cancelled"};
  }

 private:
  enum class Stop : uint8_t { kNone, kCancelled, kExpired };

  bool stop(Stop why) {
    Stop none = Stop::kNone;
    // relaxed: nothing is read on the strength of it.
    return stop_.compare_exchange_strong(none, why, std::memory_order_relaxed);
  }

  std::atomic<Stop> stop_{Stop::kNone};  // writers: any thread, once
};

}  // namespace diptych::olap
