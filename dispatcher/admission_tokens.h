// AdmissionTokens: the hard limit on what is admitted and not completed, and the door that closes.
//
//   take -> [in use, at most `limit`] -> give_back            close(): no take succeeds any more
//
// Threads    any. take never blocks; take_or_wait sleeps until a token is given back, the door
//            closes or its time is over.
//
// Its atomic is a parameter so that the stress test can show that it finds weakened orders.
//
// Invariants
//   T1  in_use() <= limit.
//   T2  Once closed, in_use() only falls, until reopen(): when it is 0, nobody will push another
//       entry.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/clock.h"
#include "base/parker.h"
#include "base/result.h"

namespace diptych::dispatcher {

template <template <class> class Atomic = std::atomic>
class BasicAdmissionTokens {
 public:
  BasicAdmissionTokens(uint32_t limit, base::SpinPolicy policy)
      : limit_(limit), returned_(policy) {}

  base::Result<void> take();  // kOverloaded, kClosed
  // kClosed; kDeadlineExceeded, at `deadline_ns` of base::steady_ns() (0: none).
  base::Result<void> take_or_wait(uint64_t deadline_ns = 0);
  // Gives one back; who waits for it sleeps on until announce_returned().
  void give_back();
  void announce_returned() { returned_.wake_all(); }

  void close();
  // The door is open again. False: it is not drained yet.
  bool reopen();
  // True once closed with nothing in use.
  bool drained() const;
  uint32_t in_use() const;

 private:
  static constexpr uint64_t kClosed = uint64_t{1} << 63;

  const uint32_t limit_;
  Atomic<uint64_t> state_{0};  // kClosed | tokens in use; writers: all
  base::Parker returned_;
};

using AdmissionTokens = BasicAdmissionTokens<>;

// Gives tokens of several queues back; who waits for one of a queue hears of it once its last one
// in a row is there.
class TokenReturn {
 public:
  TokenReturn() = default;
  ~TokenReturn() { announce(); }
  TokenReturn(const TokenReturn&) = delete;
  TokenReturn& operator=(const TokenReturn&) = delete;

  void give_back(AdmissionTokens* tokens) {
    if (tokens != last_) announce();
    last_ = tokens;
    tokens->give_back();
  }

 private:
  void announce() {
    if (last_ != nullptr) last_->announce_returned();
  }

  AdmissionTokens* last_ = nullptr;
};

template <template <class> class Atomic>
base::Result<void> BasicAdmissionTokens<Atomic>::take() {
  // relaxed: only a guess, which the exchange below confirms.
  uint64_t state = state_.load(std::memory_order_relaxed);
  while (true) {
    if ((state & kClosed) != 0) return base::ErrorCode::kClosed;
    if (state >= limit_) return base::ErrorCode::kOverloaded;
    // acquire: pairs with the release in give_back, so that the slot of the queue that the last
    // user of the token had is free (T1 bounds the queue).
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return {};
    }
  }
}

template <template <class> class Atomic>
base::Result<void> BasicAdmissionTokens<Atomic>::take_or_wait(uint64_t deadline_ns) {
  while (true) {
    const uint32_t ticket = returned_.ticket();
    auto taken = take();
    if (taken || taken.code() != base::ErrorCode::kOverloaded) return taken;
    if (deadline_ns == 0) {
      returned_.wait(ticket);
      continue;
    }
    const uint64_t now_ns = base::steady_ns();
    if (now_ns >= deadline_ns) return base::ErrorCode::kDeadlineExceeded;
    returned_.wait_for(ticket, deadline_ns - now_ns);
  }
}

template <template <class> class Atomic>
void BasicAdmissionTokens<Atomic>::give_back() {
  // release: pairs with the acquire in take and in drained.
  const uint64_t before = state_.fetch_sub(1, std::memory_order_release);
  DIPTYCH_CHECK((before & ~kClosed) != 0, "T1: only tokens that were taken are given back");
}

template <template <class> class Atomic>
void BasicAdmissionTokens<Atomic>::close() {
  // relaxed: the bit itself is the message; T2 follows from the order of changes of one atomic.
  state_.fetch_or(kClosed, std::memory_order_relaxed);
  returned_.wake_all();
}

template <template <class> class Atomic>
bool BasicAdmissionTokens<Atomic>::reopen() {
  uint64_t drained_state = kClosed;
  // acquire: as in drained(). relaxed: nothing is read where it is not.
  return state_.compare_exchange_strong(drained_state, 0, std::memory_order_acquire,
                                        std::memory_order_relaxed);
}

template <template <class> class Atomic>
bool BasicAdmissionTokens<Atomic>::drained() const {
  // acquire: pairs with the release in give_back: all that the users did is visible.
  return state_.load(std::memory_order_acquire) == kClosed;
}

template <template <class> class Atomic>
uint32_t BasicAdmissionTokens<Atomic>::in_use() const {
  // relaxed: a figure to look at; nothing is read on the strength of it.
  return static_cast<uint32_t>(state_.load(std::memory_order_relaxed) & ~kClosed);
}

}  // namespace diptych::dispatcher
