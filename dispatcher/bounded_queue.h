// BoundedQueue: a lock-free ring of fixed capacity that many threads push to and one pops from
// (Vyukov's bounded MPMC queue with a single consumer).
//
//   slot i, round r:   sequence == i + r * capacity        free: push number `sequence` fills it
//                      sequence == i + r * capacity + 1    full: pop number `sequence - 1` takes it
//
// Use        where the number of entries is bounded elsewhere (AdmissionTokens), so that a push
//            finds a free slot; try_push says false otherwise, and waits for nobody.
// Threads    try_push: any number. try_pop: one.
// Memory     fixed at construction.
// Why not boost::lockfree::queue: its free list reads a node's link without an atomic while another
//            thread may write it, which ThreadSanitizer rightly reports; a ring has no free list.
//
// Invariants
//   Q1  Every pushed value is popped exactly once, after its push began.
//   Q2  Values that one thread pushes are popped in their order.

#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"

namespace diptych::dispatcher {

template <class Value, template <class> class Atomic = std::atomic>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? size_t{2} : capacity) - 1),
        slots_(std::make_unique<Slot[]>(mask_ + 1)) {
    for (size_t i = 0; i <= mask_; ++i) {
      // relaxed: nobody else sees the queue yet.
      slots_[i].sequence.store(i, std::memory_order_relaxed);
    }
  }

  // False: the slot is not free yet. `value` is moved from only on success.
  bool try_push(Value& value) {
    // relaxed: only a guess, which the exchange below confirms.
    uint64_t position = pushed_.load(std::memory_order_relaxed);
    while (true) {
      Slot& slot = slots_[position & mask_];
      // acquire: pairs with the store in try_pop, so that the popper is done with the slot's value.
      const uint64_t sequence = slot.sequence.load(std::memory_order_acquire);
      if (sequence < position) return false;
      if (sequence > position) {
        // relaxed: another pusher took the position; guess again.
        position = pushed_.load(std::memory_order_relaxed);
        continue;
      }
      // relaxed: it only shares out positions; the slot's sequence publishes the value.
      if (pushed_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
        slot.value = std::move(value);
        // release: the popper that sees the new sequence sees the value.
        slot.sequence.store(position + 1, std::memory_order_release);
        return true;
      }
    }
  }

  bool try_pop(Value* value) {
    // relaxed: this thread is its only writer.
    const uint64_t position = popped_.load(std::memory_order_relaxed);
    Slot& slot = slots_[position & mask_];
    // acquire: pairs with the store in try_push.
    if (slot.sequence.load(std::memory_order_acquire) != position + 1) return false;
    *value = std::move(slot.value);
    // release: the pusher of the next round may overwrite the value.
    slot.sequence.store(position + mask_ + 1, std::memory_order_release);
    // relaxed: others only look at it as a figure.
    popped_.store(position + 1, std::memory_order_relaxed);
    return true;
  }

  // How many were pushed and not popped; some may still be on their way. Of another thread than the
  // popper's, a figure to look at.
  size_t size() const {
    // relaxed: a figure, as below; try_pop synchronises.
    const uint64_t popped = popped_.load(std::memory_order_relaxed);
    // relaxed: as above; for who does not pop, it may be older than the other one.
    const uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    return pushed > popped ? pushed - popped : 0;
  }

 private:
  struct Slot {
    Atomic<uint64_t> sequence{0};  // writers: the pusher, then the popper, of its round
    Value value{};
  };

  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(64) Atomic<uint64_t> pushed_{0};  // writers: pushers
  alignas(64) Atomic<uint64_t> popped_{0};  // writer: the popper
};

}  // namespace diptych::dispatcher
