// CallOptions: a call's priority, how long it may take, and what is done where there are too many.

#pragma once

#include <cstdint>

#include "dispatcher/admission.h"

namespace diptych::dispatcher {

// A hundred years: longer times serve as this one, so that a moment after them is no overflow.
inline constexpr uint64_t kForeverNs = uint64_t{100} * 365 * 86'400 * 1'000'000'000;

struct CallOptions {
  Admission admission = Admission::kWait;  // on a dispatcher's thread it is kRefuse
  Priority priority = Priority::kNormal;   // a client's calls have the client's
  // Measured from submission, including admission. A call not started by then fails with
  // kDeadlineExceeded (reported when the running batch ends). A call that has run but waits for a
  // log whose disk is full, or hangs, fails with kIo; whether it is kept is unknown. 0: no limit.
  uint64_t timeout_ns = 0;
};

}  // namespace diptych::dispatcher
