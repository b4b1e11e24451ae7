#include "base/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

namespace diptych::base::detail {

// FUTEX_WAIT_BITSET takes a moment of CLOCK_MONOTONIC, which is steady_ns's clock.
void futex_wait(const void* word, uint32_t expected, uint64_t deadline_ns) {
  const timespec deadline{static_cast<time_t>(deadline_ns / kNsPerSecond),
                          static_cast<long>(deadline_ns % kNsPerSecond)};
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
          deadline_ns == kNoDeadline ? nullptr : &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake_all(const void* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace diptych::base::detail
