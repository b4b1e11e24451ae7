// StopSignal: tells running work to end, because all queries are stopped, or all the queries for
// which it runs, or because its time is over. A pass that several queries share continues until
// each of them is stopped. StopCountdown: decides when a loop over long texts checks the signal.
//
// Threads    any number at once.
// Cost       two loads, one more for each query of the pass that is stopped already, and with a
//            time limit one look at the clock.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/query.h"
#include "olap/query_control.h"

namespace diptych::olap {

class StopSignal {
 public:
  // Loops check the signal once in this number of rows, which take at most some milliseconds.
  static constexpr uint32_t kRowsBetween = 16 * 1024;

  // `all` outlives the signal. A nullptr in `queries`, or an empty list, stands for a query that
  // cannot be stopped alone. `end_ns` is a time of base::steady_ns(); 0 means no end.
  explicit StopSignal(const StopFlag* all, std::vector<const QueryControl*> queries = {},
                      uint64_t end_ns = 0)
      : all_(all), queries_(std::move(queries)), end_ns_(end_ns) {}

  bool is_set() const {
    // relaxed: a flag of its own; a morsel more or less does not matter.
    if (all_->load(std::memory_order_relaxed) || is_late()) return true;
    if (queries_.empty()) return false;
    return std::all_of(queries_.begin(), queries_.end(), [](const QueryControl* query) {
      return query != nullptr && query->is_stopped();
    });
  }

  // Throws QueryFailure if the signal is set.
  void check() const {
    if (!is_set()) return;
    if (is_late()) fail_query(base::ErrorCode::kDeadlineExceeded, "the query has run too long");
    fail_query(base::ErrorCode::kCancelled, "the query was stopped");
  }
  // Checks the signal in a loop over rows, once in kRowsBetween rows.
  void check_at(uint64_t row) const {
    if (row % kRowsBetween == 0) [[unlikely]]
      check();
  }
  // As std::fill_n, but checks the signal in between.
  template <class T>
  void fill(T* values, uint64_t count, const T& value) const {
    for (uint64_t first = 0; first < count; first += kRowsBetween) {
      check();
      std::fill_n(values + first, std::min<uint64_t>(kRowsBetween, count - first), value);
    }
  }

 private:
  bool is_late() const { return end_ns_ != 0 && base::steady_ns() >= end_ns_; }

  const StopFlag* all_;
  std::vector<const QueryControl*> queries_;
  uint64_t end_ns_;
};

// Belongs to one worker.
class StopCountdown {
 public:
  // The bytes of texts, read or made, between two checks. Matching the groups of a regular
  // expression takes longest, about ten milliseconds.
  static constexpr size_t kBytesBetween = size_t{256} << 10;

  // The signal outlives the countdown.
  explicit StopCountdown(const StopSignal* stop) : stop_(stop) {}

  // Checks the signal now; throws QueryFailure if it is set.
  void look() {
    left_ = kBytesBetween;
    stop_->check();
  }
  // Counts `bytes`, and checks the signal once in kBytesBetween.
  void pass(size_t bytes) {
    if (bytes < left_) [[likely]] {
      left_ -= bytes;
    } else {
      look();
    }
  }
  // Counts all texts of a vector at once. Returns true, and counts nothing, if they are so long
  // that the caller has to count each of them.
  bool passes_one_by_one(size_t bytes) {
    if (bytes >= kBytesBetween) return true;
    pass(bytes);
    return false;
  }

 private:
  const StopSignal* stop_;
  size_t left_ = kBytesBetween;
};

}  // namespace diptych::olap
