// MemoryBudget: how many bytes one query may keep; MemoryCharge: what one holder of rows has of
// them. All budgets together have the database's limit (olap/query_memory_limit.h).
//
// Counted is what grows with the data: the rows, keys and groups that operators keep, the result's
// cells, and the long texts that expressions make for a vector (counted_text.h). A holder says
// after each batch what it has by then, so that a worker is over the limit by the rows that one
// batch adds; a hash table asks before it doubles. Texts say so one by one. Not counted is what
// each worker has once: the vectors in flight themselves, which are of one size.
//
// Threads    a budget: any number. A charge: one, and it goes before its budget.
// Errors     QueryFailure(kOutOfMemory), which says which of the two limits it was; what would be
//            over it is not counted then.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "olap/execution/limits/query_failure.h"
#include "olap/query_memory_limit.h"

namespace diptych::olap {

class StopSignal;

struct MemoryLimits {
  size_t query_bytes_max = SIZE_MAX;
  MemoryHold::Limit all;  // nullptr: there is none
};

class MemoryBudget {
 public:
  explicit MemoryBudget(MemoryLimits limits)
      : bytes_max_(limits.query_bytes_max), all_(std::move(limits.all)) {}

  // `what` is kept: for the message.
  void add(size_t bytes, const char* what) {
    // relaxed: only the sum matters; nothing is read on the strength of its value.
    const size_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (used > bytes_max_) {
      take_off(bytes);
      fail_query(base::ErrorCode::kOutOfMemory,
                 fmt::format("the query would keep more than {} KiB, which is its limit, with {}: "
                             "let it keep fewer rows, or raise query_memory_bytes_max "
                             "(diptych's --query-memory)",
                             bytes_max_ >> 10, what));
    }
    if (all_ != nullptr && !all_->try_add(bytes)) {
      take_off(bytes);
      fail_query(base::ErrorCode::kOutOfMemory,
                 fmt::format("all queries, and results that are still held, would keep more than "
                             "{} KiB, which is their limit, with {} of this one, which has {} KiB "
                             "itself: ask for less at a time, let go of results, or raise "
                             "queries_memory_bytes_max (diptych's --queries-memory)",
                             all_->bytes_max() >> 10, what, used >> 10));
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
  // The same, but for the limit of all queries, where they stay counted until the hold goes.
  MemoryHold hand_over(size_t bytes) {
    take_off(bytes);
    return all_ == nullptr ? MemoryHold() : MemoryHold(all_, bytes);
  }

  // The most that was kept at a time.
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

// What of its query an expression minds. Both outlive it.
struct QueryLimits {
  MemoryBudget* memory;
  const StopSignal* stop;
};

class MemoryCharge {
 public:
  // `what` is a literal: "the result".
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
  // What is charged outlives the query.
  MemoryHold hand_over() { return budget_->hand_over(std::exchange(bytes_, 0)); }

 private:
  MemoryBudget* budget_;
  const char* what_;
  size_t bytes_ = 0;
};

}  // namespace diptych::olap
