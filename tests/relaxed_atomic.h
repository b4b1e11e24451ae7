// RelaxedAtomic: an std::atomic whose releases and acquires are dropped. A lock-free structure that
// is made of it is a mutant: ThreadSanitizer must find a data race in its stress test.

#pragma once

#include <atomic>
#include <cstdint>

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

// The same of one kind of operation alone: which of a protocol's sides its test needs.
enum class Weakened : uint8_t { kLoads, kStores, kSwaps };

template <class Value, Weakened kWhich>
class PartlyRelaxedAtomic {
 public:
  PartlyRelaxedAtomic() = default;
  PartlyRelaxedAtomic(Value value) : value_(value) {}  // NOLINT: as std::atomic

  Value load(std::memory_order order) const {
    // seq_cst or less: as given, or relaxed, here and below.
    return value_.load(std::memory_order(weakened(order, Weakened::kLoads)));
  }
  void store(Value value, std::memory_order order) {
    // seq_cst or less: as given, or relaxed.
    value_.store(value, std::memory_order(weakened(order, Weakened::kStores)));
  }
  Value fetch_add(Value value, std::memory_order order) {
    // seq_cst or less: as given, or relaxed.
    return value_.fetch_add(value, std::memory_order(weakened(order, Weakened::kSwaps)));
  }
  Value fetch_sub(Value value, std::memory_order order) {
    // seq_cst or less: as given, or relaxed.
    return value_.fetch_sub(value, std::memory_order(weakened(order, Weakened::kSwaps)));
  }
  bool compare_exchange_weak(Value& expected, Value wanted, std::memory_order success,
                             std::memory_order failure = std::memory_order_relaxed) {
    // seq_cst or less: as given, or relaxed.
    return value_.compare_exchange_weak(expected, wanted,
                                        std::memory_order(weakened(success, Weakened::kSwaps)),
                                        std::memory_order(weakened(failure, Weakened::kSwaps)));
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order success,
                               std::memory_order failure = std::memory_order_relaxed) {
    // seq_cst or less: as given, or relaxed.
    return value_.compare_exchange_strong(expected, wanted,
                                          std::memory_order(weakened(success, Weakened::kSwaps)),
                                          std::memory_order(weakened(failure, Weakened::kSwaps)));
  }

 private:
  static std::memory_order weakened(std::memory_order order, Weakened kind) {
    return kind == kWhich ? std::memory_order_relaxed : order;
  }

  std::atomic<Value> value_{};
};
template <class Value>
using RelaxedLoads = PartlyRelaxedAtomic<Value, Weakened::kLoads>;
template <class Value>
using RelaxedStores = PartlyRelaxedAtomic<Value, Weakened::kStores>;
template <class Value>
using RelaxedSwaps = PartlyRelaxedAtomic<Value, Weakened::kSwaps>;

}  // namespace diptych::test
