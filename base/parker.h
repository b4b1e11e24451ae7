// Parker: how one thread waits for others without burning a core.
//
// A waiter spins for a moment only where spinning can help (SpinPolicy::kBriefly: every party has a
// core of its own), then sleeps in the kernel (a futex of our own: std::atomic::wait has no timed
// form). A waker that finds nobody asleep makes no system call.
//
// Threads    any number of waiters and wakers.
// Use        Waiter: uint32_t ticket = parker.ticket(); if (nothing to do) parker.wait(ticket);
//            Waker: publish the work, then parker.wake_all(). A wake between ticket() and wait()
//            makes wait() return at once, so no wake is lost.
//
// Its atomic is a parameter so that the stress test can show that it finds weakened orders.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace diptych::base {

enum class SpinPolicy : uint8_t { kNever, kBriefly };

namespace detail {
inline constexpr uint64_t kNoDeadline = UINT64_MAX;

// Sleeps while the 32 bits at `word` are as expected, until woken or until steady_ns() is the
// deadline. May return early: the caller looks again.
void futex_wait(const void* word, uint32_t expected, uint64_t deadline_ns);
void futex_wake_all(const void* word);
}  // namespace detail

template <template <class> class Atomic>
class BasicParker {
 public:
  explicit BasicParker(SpinPolicy policy = SpinPolicy::kNever) : policy_(policy) {}
  BasicParker(const BasicParker&) = delete;
  BasicParker& operator=(const BasicParker&) = delete;

  uint32_t ticket() const;
  // Returns once wake_all was called after ticket() was taken.
  void wait(uint32_t ticket);
  // As wait, but returns false if `nanoseconds` pass first.
  bool wait_for(uint32_t ticket, uint64_t nanoseconds);
  void wake_all();

 private:
  // About 20 us of pause instructions, the price of a futex sleep.
  static constexpr int kSpinsMax = 2000;

  bool spin(uint32_t ticket) const;

  const SpinPolicy policy_;
  Atomic<uint32_t> epoch_{0};     // writer: wakers
  Atomic<uint32_t> sleepers_{0};  // writer: waiters
  static_assert(sizeof(Atomic<uint32_t>) == sizeof(uint32_t), "the kernel compares its bytes");
};

using Parker = BasicParker<std::atomic>;

// True once the epoch has moved on from the ticket; gives up after kSpinsMax looks.
template <template <class> class Atomic>
bool BasicParker<Atomic>::spin(uint32_t ticket) const {
  for (int i = 0; i < kSpinsMax; ++i) {
    // acquire: pairs with wake_all's step of epoch_: the waker's work is visible.
    if (epoch_.load(std::memory_order_acquire) != ticket) return true;
    __builtin_ia32_pause();
  }
  return false;
}

template <template <class> class Atomic>
uint32_t BasicParker<Atomic>::ticket() const {
  // acquire: pairs with wake_all's step; whoever takes a ticket after a wake sees its work.
  return epoch_.load(std::memory_order_acquire);
}

template <template <class> class Atomic>
void BasicParker<Atomic>::wait(uint32_t ticket) {
  if (policy_ == SpinPolicy::kBriefly && spin(ticket)) return;
  // seq_cst: ordered before the look at epoch_ below. wake_all steps epoch_ before it looks at
  // sleepers_, so either this thread sees the new epoch or the waker sees this sleeper.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  // seq_cst: ordered after the count above; as an acquire it pairs with wake_all's step.
  while (epoch_.load(std::memory_order_seq_cst) == ticket) {
    detail::futex_wait(&epoch_, ticket, detail::kNoDeadline);
  }
  // relaxed: a waker that still counts this thread only makes one needless system call.
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

template <template <class> class Atomic>
bool BasicParker<Atomic>::wait_for(uint32_t ticket, uint64_t nanoseconds) {
  // A hundred years serve as for ever, and keep the sum from overflowing.
  constexpr uint64_t kLongestNs = uint64_t{100} * 365 * 86'400 * kNsPerSecond;
  const uint64_t end_ns = steady_ns() + (nanoseconds < kLongestNs ? nanoseconds : kLongestNs);
  if (policy_ == SpinPolicy::kBriefly && spin(ticket)) return true;
  // seq_cst: as in wait.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  bool woken = false;
  while (true) {
    // seq_cst: ordered after the count above; as an acquire it pairs with wake_all's step.
    woken = epoch_.load(std::memory_order_seq_cst) != ticket;
    if (woken || steady_ns() >= end_ns) break;
    detail::futex_wait(&epoch_, ticket, end_ns);
  }
  // relaxed: as in wait.
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return woken;
}

template <template <class> class Atomic>
void BasicParker<Atomic>::wake_all() {
  // seq_cst: releases the caller's work, and is ordered before the look at sleepers_.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  // seq_cst: see wait.
  if (sleepers_.load(std::memory_order_seq_cst) != 0) detail::futex_wake_all(&epoch_);
}

}  // namespace diptych::base
