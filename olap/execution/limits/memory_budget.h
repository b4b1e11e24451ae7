// MemoryBudget: limits the bytes that one query keeps. MemoryCharge: the share of one holder of
// rows. All budgets together are limited by the database (olap/query_memory_limit.h).
//
// Memory that grows with the data counts: the rows, keys and groups that operators keep, the
// result's cells, and the long texts that expressions make for a vector (counted_text.h). A holder
// reports its bytes after each batch, so a worker may pass the limit by the rows of one batch. A
// hash table charges its new size before it doubles, and texts are charged one by one. The vectors
// in flight do not count, because each worker has a fixed number of them.
//
// Threads    a budget: any number. A charge: one thread; its budget outlives it.
// Errors     QueryFailure(kOutOfMemory), which says which of the two limits was reached; the bytes
//            that would pass it are not counted.

#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/query_memory_limit.h"

namespace diptych::olap {

class StopSignal;

struct MemoryLimits {
  size_t query_bytes_max = SIZE_MAX;
  MemoryHold::Limit all;  // the limit of all queries; nullptr: none
};

class MemoryBudget {
 public:
  explicit MemoryBudget(MemoryLimits limits)
      : bytes_max_(limits.query_bytes_max), all_(std::move(limits.all)) {}

  // `what` names the holder in the error message.
  void add(size_t bytes, const char* what) {
    // relaxed: only the sum matters; nothing is read on the strength of its value.
    const size_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (used > bytes_max_) {
      take_off(bytes);
      fail_query(base::ErrorCode::kOutOfMemory,
                 fmt::format("the query would keep more than {}, which is its limit, with {}: "
                             "let it keep fewer rows, or raise query_memory_bytes_max "
                             "(diptych's --query-memory)",
                             base::bytes_text(bytes_max_), what));
    }
    if (all_ != nullptr && !all_->try_add(bytes)) {
      take_off(bytes);
      fail_query(base::ErrorCode::kOutOfMemory,
                 fmt::format("all queries, and results that are still held, would keep more than "
                             "{}, which is their limit, with {} of this one, which has {} "
                             "itself: ask for less at a time, let go of results, or raise "
                             "queries_memory_bytes_max (diptych's --queries-memory)",
                             base::bytes_text(all_->bytes_max()), what, base::bytes_text(used)));
    }
    // relaxed: a figure for a person.
    size_t largest = largest_.load(std::memory_order_relaxed);
    // relaxed: as above; another worker's larger one stays.
    while (used > largest &&
           !largest_.compare_exchange_weak(largest, used, std::memory_order_relaxed)) {
    }
  }
  void give_back(size_t bytes) {
    take_off(bytes);
    if (all_ != nullptr) all_->give_back(bytes);
  }
  // As give_back(), but the bytes stay counted in the limit of all queries until the hold is gone.
  MemoryHold hand_over(size_t bytes) {
    take_off(bytes);
    return all_ == nullptr ? MemoryHold() : MemoryHold(all_, bytes);
  }

  // The maximum that the query has kept at any time.
  size_t bytes_largest() const {
    // relaxed: read when the workers are done.
    return largest_.load(std::memory_order_relaxed);
  }

 private:
  void take_off(size_t bytes) {
    // relaxed: as in add().
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  const size_t bytes_max_;
  const MemoryHold::Limit all_;
  std::atomic<size_t> used_{0};     // writers: the query's workers
  std::atomic<size_t> largest_{0};  // likewise
};

// The limits of a query that its expressions observe. Both objects outlive the expressions.
struct QueryLimits {
  MemoryBudget* memory;
  const StopSignal* stop;
};

class MemoryCharge {
 public:
  // `what` is a literal such as "the result".
  MemoryCharge(MemoryBudget* budget, const char* what) : budget_(budget), what_(what) {}
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  ~MemoryCharge() { set(0); }

  size_t bytes() const { return bytes_; }
  void set(size_t bytes) {
    if (bytes > bytes_) {
      budget_->add(bytes - bytes_, what_);
    } else if (bytes < bytes_) {
      budget_->give_back(bytes_ - bytes);
    }
    bytes_ = bytes;
  }
  // Moves the charge into a hold that may outlive the query.
  MemoryHold hand_over() { return budget_->hand_over(std::exchange(bytes_, 0)); }

 private:
  MemoryBudget* budget_;
  const char* what_;
  size_t bytes_ = 0;
};

}  // namespace diptych::olap
