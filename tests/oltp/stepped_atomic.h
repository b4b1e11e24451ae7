// SteppedAtomic: an std::atomic that calls kStep before each of its operations, for tests that let
// something happen there.

#pragma once

#include <atomic>

namespace diptych::oltp {

template <class Value, void (*kStep)()>
class SteppedAtomic {
 public:
  SteppedAtomic() : value_{} {}
  explicit SteppedAtomic(Value value) : value_(value) {}

  Value load(std::memory_order order) const {
    kStep();
    // seq_cst or less: as given, here and below.
    return value_.load(std::memory_order(order));
  }
  void store(Value value, std::memory_order order) {
    kStep();
    // seq_cst or less: as given.
    value_.store(value, std::memory_order(order));
  }
  Value exchange(Value value, std::memory_order order) {
    kStep();
    // seq_cst or less: as given.
    return value_.exchange(value, std::memory_order(order));
  }
  Value fetch_add(Value more, std::memory_order order) {
    kStep();
    // seq_cst or less: as given.
    return value_.fetch_add(more, std::memory_order(order));
  }
  Value fetch_or(Value bits, std::memory_order order) {
    kStep();
    // seq_cst or less: as given.
    return value_.fetch_or(bits, std::memory_order(order));
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order success,
                               std::memory_order failure) {
    kStep();
    // seq_cst or less: as given.
    return value_.compare_exchange_strong(expected, wanted, std::memory_order(success),
                                          std::memory_order(failure));
  }
  bool compare_exchange_weak(Value& expected, Value wanted, std::memory_order success,
                             std::memory_order failure) {
    kStep();
    // seq_cst or less: as given.
    return value_.compare_exchange_weak(expected, wanted, std::memory_order(success),
                                        std::memory_order(failure));
  }

 protected:
  std::atomic<Value> value_;
};

}  // namespace diptych::oltp
