// RelaxedAtomic: an std::atomic whose releases and acquires are dropped. A lock-free structure that
// is made of it is a mutant: ThreadSanitizer must find a data race in its stress test.

#pragma once

#include <atomic>

#include "tests/sanitizers.h"

namespace diptych::test {

template <class Value>
class RelaxedAtomic {
 public:
  RelaxedAtomic() = default;
  RelaxedAtomic(Value value) : value_(value) {}  // NOLINT: as std::atomic

  Value load(std::memory_order) const {
    // relaxed: the weakened order that must be found, here and below.
    return value_.load(std::memory_order_relaxed);
  }
  void store(Value value, std::memory_order) {
    // relaxed: as above.
    value_.store(value, std::memory_order_relaxed);
  }
  Value exchange(Value value, std::memory_order) {
    // relaxed: as above.
    return value_.exchange(value, std::memory_order_relaxed);
  }
  Value fetch_or(Value bits, std::memory_order) {
    // relaxed: as above.
    return value_.fetch_or(bits, std::memory_order_relaxed);
  }
  Value fetch_add(Value value, std::memory_order) {
    // relaxed: as above.
    return value_.fetch_add(value, std::memory_order_relaxed);
  }
  Value fetch_sub(Value value, std::memory_order) {
    // relaxed: as above.
    return value_.fetch_sub(value, std::memory_order_relaxed);
  }
  bool compare_exchange_weak(Value& expected, Value wanted, std::memory_order,
                             std::memory_order = std::memory_order_relaxed) {
    // relaxed: as above.
    return value_.compare_exchange_weak(expected, wanted, std::memory_order_relaxed);
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order,
                               std::memory_order = std::memory_order_relaxed) {
    // relaxed: as above.
    return value_.compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
  }

 private:
  std::atomic<Value> value_{};
};

}  // namespace diptych::test
