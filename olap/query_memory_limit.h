// QueryMemoryLimit: limits the bytes of all queries of a database together: the memory of running
// queries (olap/execution/limits/memory_budget.h), and the results that callers still hold.
//
//   try_add(before the rows exist) ──► give_back        as operators grow and end
//                                 └──► MemoryHold       a result: until its last copy is gone
//
// A query that would pass the limit gets no memory; other queries, and results that wait to be
// read, keep theirs. A result counts for as long as a copy or an export of it exists. It may
// outlive the database, so holds share the limit.
//
// Threads    any number.
//
// Invariants
//   L1  used() is the sum of the bytes that were added and not given back, and at most bytes_max().

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/check.h"

namespace diptych::olap {

class QueryMemoryLimit {
 public:
  explicit QueryMemoryLimit(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Adds the bytes and returns true, or returns false if the sum would pass the limit.
  bool try_add(size_t bytes) {
    if (bytes > bytes_max_) return false;
    // relaxed: only the sum matters; nothing is read on the strength of its value.
    size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used > bytes_max_ - bytes) return false;
      // relaxed: as above.
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(size_t bytes) {
    // relaxed: as above.
    const size_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
    DIPTYCH_CHECK(before >= bytes, "L1: what is given back was added");
  }

  size_t bytes_max() const { return bytes_max_; }
  size_t used() const {
    // relaxed: a figure for a person.
    return used_.load(std::memory_order_relaxed);
  }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> used_{0};  // writers: the queries' workers, and threads that drop results
};

// MemoryHold: bytes of a limit that outlive their query. The destructor gives them back. Move-only.
class MemoryHold {
 public:
  using Limit = std::shared_ptr<QueryMemoryLimit>;  // shared_ptr: see above

  MemoryHold() = default;
  // Owns `bytes`, which were added to `limit` before.
  MemoryHold(Limit limit, size_t bytes) : limit_(std::move(limit)), bytes_(bytes) {}
  MemoryHold(MemoryHold&& other) noexcept
      : limit_(std::move(other.limit_)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryHold& operator=(MemoryHold&& other) noexcept {
    std::swap(limit_, other.limit_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryHold() {
    if (bytes_ != 0) limit_->give_back(bytes_);
  }

  // Takes over the bytes of `other`, which belong to the same limit.
  void absorb(MemoryHold&& other) {
    if (limit_ == nullptr) limit_ = other.limit_;
    DIPTYCH_CHECK(other.bytes_ == 0 || limit_ == other.limit_, "a hold is of one limit");
    bytes_ += std::exchange(other.bytes_, 0);
  }
  size_t bytes() const { return bytes_; }

 private:
  Limit limit_;
  size_t bytes_ = 0;
};

}  // namespace diptych::olap
