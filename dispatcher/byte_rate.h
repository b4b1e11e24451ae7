// ByteRate: has who writes in the background wait, so that it keeps to its bytes a second, also
// where it was slower before.
//
// Threads    one.

#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace diptych::dispatcher {

class ByteRate {
 public:
  // Counted from now. 0: as fast as it goes.
  explicit ByteRate(uint64_t bytes_per_second)
      : bytes_per_second_(bytes_per_second), go_on_ns_(base::steady_ns()) {}

  // Waits for as long as so many bytes more take, unless `ends()` comes true. The lock is held for
  // it; `changed` tells of it at once, otherwise it is noticed soon.
  template <class Ends>
  void wait(size_t bytes, std::unique_lock<std::mutex>* held, std::condition_variable* changed,
            const Ends& ends) {
    const uint64_t until_ns = go_on_ns(bytes);
    while (!ends()) {
      const uint64_t now_ns = base::steady_ns();
      if (now_ns >= until_ns) return;
      changed->wait_for(*held, std::chrono::nanoseconds(std::min(until_ns - now_ns, kSoonNs)));
    }
  }

 private:
  static constexpr uint64_t kSoonNs = 50'000'000;
  // Time that was not used, beyond this, is lost: who was slow for a while would else write without
  // a pause for as long, and others would wait for the disk.
  static constexpr uint64_t kUnusedNsMax = 10'000'000;

  uint64_t go_on_ns(size_t bytes) {
    if (bytes_per_second_ == 0) return 0;
    const double seconds = static_cast<double>(bytes) / static_cast<double>(bytes_per_second_);
    go_on_ns_ = std::max(go_on_ns_, base::steady_ns() - kUnusedNsMax) +
                static_cast<uint64_t>(seconds * 1e9);
    return go_on_ns_;
  }

  uint64_t bytes_per_second_;
  uint64_t go_on_ns_;
};

}  // namespace diptych::dispatcher
