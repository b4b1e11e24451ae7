// MemoryBudget: how many bytes one query may keep; MemoryCharge: what one holder of rows has of
// them.
//
// Counted is what grows with the data: the rows, keys and groups that operators keep, and the
// result's cells. A holder says after each batch what it has by then, so that a worker is over the
// limit by what one batch adds: rows, or a hash table's doubling. Not counted is what each worker
// has once, the vectors in flight.
//
// Threads    a budget: any number. A charge: one, and it goes before its budget.
// Errors     QueryFailure(kOutOfMemory).

#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "olap/execution/query_failure.h"

namespace diptych::olap {

class MemoryBudget {
 public:
  explicit MemoryBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // `what` is kept: for the message.
  void change(size_t before, size_t after, const char* what) {
    // relaxed: only the sum matters; nothing is read on the strength of its value.
    const size_t used = used_.fetch_add(after - before, std::memory_order_relaxed) + after - before;
    if (after <= before) return;
    // relaxed: a figure for a person.
    size_t largest = largest_.load(std::memory_order_relaxed);
    // relaxed: as above; another worker's larger one stays.
    while (used > largest &&
           !largest_.compare_exchange_weak(largest, used, std::memory_order_relaxed)) {
    }
    if (used > bytes_max_) {
      fail_query(base::ErrorCode::kOutOfMemory,
                 fmt::format("the query would keep more than {} KiB, which is its limit, with {}: "
                             "let it keep fewer rows, or raise query_memory_bytes_max",
                             bytes_max_ >> 10, what));
    }
  }

  // The most that was kept at a time.
  size_t bytes_largest() const {
    // relaxed: read when the workers are done.
    return largest_.load(std::memory_order_relaxed);
  }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> used_{0};     // writers: the query's workers
  std::atomic<size_t> largest_{0};  // likewise
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
    if (bytes != bytes_) budget_->change(std::exchange(bytes_, bytes), bytes, what_);
  }

 private:
  MemoryBudget* budget_;
  const char* what_;
  size_t bytes_ = 0;
};

}  // namespace diptych::olap
