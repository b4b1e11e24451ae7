// QueryMemoryLimit: how many bytes all queries of a database may keep together: what those that run
// have (olap/execution/limits/memory_budget.h), and the results that somebody still holds.
//
//   try_add(before the rows are there) ──► give_back        as operators grow and go
//                                     └──► MemoryHold       a result: until its last copy goes
//
// Who would pass the limit gets nothing; those that run beside it, and results that wait to be
// read, keep what they have. A result is counted for as long as a copy of it, or an export, is
// there: it may outlive the database, so holds share the limit.
//
// Threads    any number.
//
// Invariants
//   L1  used() is the sum of what was added and not given back, and at most bytes_max().

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

  // False, and nothing is added: the sum would be over the limit.
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
  std::atomic<size_t> used_{0};  // writers: the queries' workers, and who drops results
};

// MemoryHold: bytes of a limit that outlive their query, given back when it goes. It is moved.
class MemoryHold {
 public:
  using Limit = std::shared_ptr<QueryMemoryLimit>;  // shared_ptr: see above

  MemoryHold() = default;
  // The bytes were added.
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

  // Takes over the other's bytes, which are of the same limit.
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
