#include "dispatcher/admission_tokens.h"

#include "base/check.h"

namespace diptych::dispatcher {

base::Result<void> AdmissionTokens::take() {
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

base::Result<void> AdmissionTokens::take_or_wait() {
  while (true) {
    const uint32_t ticket = returned_.ticket();
    auto taken = take();
    if (taken || taken.code() != base::ErrorCode::kOverloaded) return taken;
    returned_.wait(ticket);
  }
}

void AdmissionTokens::give_back() {
  // release: pairs with the acquire in take and in drained.
  const uint64_t before = state_.fetch_sub(1, std::memory_order_release);
  DIPTYCH_CHECK((before & ~kClosed) != 0, "T1: only tokens that were taken are given back");
}

void AdmissionTokens::close() {
  // relaxed: the bit itself is the message; T2 follows from the order of changes of one atomic.
  state_.fetch_or(kClosed, std::memory_order_relaxed);
  returned_.wake_all();
}

bool AdmissionTokens::drained() const {
  // acquire: pairs with the release in give_back: all that the users did is visible.
  return state_.load(std::memory_order_acquire) == kClosed;
}

uint32_t AdmissionTokens::in_use() const {
  // relaxed: a figure to look at; nothing is read on the strength of it.
  return static_cast<uint32_t>(state_.load(std::memory_order_relaxed) & ~kClosed);
}

}  // namespace diptych::dispatcher
