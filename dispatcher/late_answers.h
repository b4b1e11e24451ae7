// LateAnswers: what is to be done every kLateAnswerNs while something is waited for, whose parker
// may ring much more often, and for others.
//
//   LateAnswers late(meanwhile);
//   while (...) {
//     parker.wait_for(ticket, kLateAnswerNs);
//     late.waited();
//   }
//
// Threads    one.

#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace diptych::dispatcher {

// How long after its deadline a call is answered at most while all calls wait for something.
inline constexpr uint64_t kLateAnswerNs = 20'000'000;

class LateAnswers {
 public:
  explicit LateAnswers(const std::function<void()>& meanwhile) : meanwhile_(meanwhile) {}

  void waited() {
    if (base::steady_ns() < next_ns_) return;
    meanwhile_();
    next_ns_ = base::steady_ns() + kLateAnswerNs;
  }

 private:
  const std::function<void()>& meanwhile_;
  uint64_t next_ns_ = 0;
};

}  // namespace diptych::dispatcher
