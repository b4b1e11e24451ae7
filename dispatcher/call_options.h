// CallOptions: a call's priority, how long it may take, and what is done where there are too many.

#pragma once

#include <cstddef>
#include <cstdint>

#include "dispatcher/running_query.h"

namespace diptych::dispatcher {

// While all are waiting, batches take them as 16 to 4 to 1; what one leaves goes to the next.
enum class Priority : uint8_t { kHigh, kNormal, kLow };
inline constexpr size_t kPriorities = 3;

struct CallOptions {
  Admission admission = Admission::kWait;  // on a dispatcher's thread it is kRefuse
  Priority priority = Priority::kNormal;   // a client's calls have the client's
  // Counted from the submission, the wait for admission included: a call that no batch has taken by
  // then fails with kDeadlineExceeded, and is not run. 0: no limit.
  uint64_t timeout_ns = 0;
};

struct ClientOptions {
  Priority priority = Priority::kNormal;
};

}  // namespace diptych::dispatcher
