// StopSignal: whether what runs at the moment is to end: all queries, or those that it runs for, or
// because its time is over. StopCountdown: when a loop whose rows have texts of any length is to
// look at it.
//
// A pass that several queries share goes on until each of them is stopped.
//
// Threads    any number at once.
// Cost       two loads, and one more for each query of the pass that is stopped already; with a
//            limit of time a look at the clock.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/query.h"
#include "olap/query_control.h"

namespace diptych::olap {

class StopSignal {
 public:
  // Loops over rows look once in so many: some milliseconds, whatever they do with a row.
  static constexpr uint32_t kRowsBetween = 16 * 1024;

  // `all` outlives it. Of `queries`, nullptr is one that nobody stops alone; none: the same.
  // `end_ns`: of base::steady_ns(); 0: never.
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

  // Throws QueryFailure where it is set.
  void check() const {
    if (!is_set()) return;
    if (is_late()) fail_query(base::ErrorCode::kDeadlineExceeded, "the query has run too long");
    fail_query(base::ErrorCode::kCancelled, "the query was stopped");
  }
  // The same, for a loop over rows.
  void check_at(uint64_t row) const {
    if (row % kRowsBetween == 0) [[unlikely]]
      check();
  }
  // std::fill_n, for many values.
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

// One worker's.
class StopCountdown {
 public:
  // Of texts that are read or made; to match groups of a regular expression takes longest, some ten
  // milliseconds.
  static constexpr size_t kBytesBetween = size_t{256} << 10;

  // It outlives this.
  explicit StopCountdown(const StopSignal* stop) : stop_(stop) {}

  // Throws QueryFailure where the signal is set.
  void look() {
    left_ = kBytesBetween;
    stop_->check();
  }
  // The same, once in so many bytes.
  void pass(size_t bytes) {
    if (bytes < left_) [[likely]] {
      left_ -= bytes;
    } else {
      look();
    }
  }
  // The same for all texts of a vector at once, unless they are so long that each is to pass by
  // itself: then true.
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
