// CallOptions: a call's priority, how long it may take, and what is done where there are too many.
// ChangeOptions: how long DDL, a load or new procedures may wait for their turn.

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

// Of DDL, loads and new procedures, which begin between two batches of both sides.
struct ChangeOptions {
  // Measured from the call. What has not begun by then, since queries or other changes go on, fails
  // with kDeadlineExceeded, and nothing was changed; what has begun goes on to its end. A replay of
  // the log, and another library that is being loaded, come first and know no limit. 0: no limit.
  uint64_t timeout_ns = 0;
};

}  // namespace diptych::dispatcher
