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

#pragma once

#include <atomic>
#include <cstdint>

namespace diptych::base {

enum class SpinPolicy : uint8_t { kNever, kBriefly };

class Parker {
 public:
  explicit Parker(SpinPolicy policy = SpinPolicy::kNever) : policy_(policy) {}
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  uint32_t ticket() const;
  // Returns once wake_all was called after ticket() was taken.
  void wait(uint32_t ticket);
  // As wait, but returns false if `nanoseconds` pass first.
  bool wait_for(uint32_t ticket, uint64_t nanoseconds);
  void wake_all();

 private:
  const SpinPolicy policy_;
  std::atomic<uint32_t> epoch_{0};     // writer: wakers
  std::atomic<uint32_t> sleepers_{0};  // writer: waiters
};

}  // namespace diptych::base
