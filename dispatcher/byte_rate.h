// ByteRate: has who writes in the background wait, so that it keeps to its bytes a second.
//
// Threads    one.

#pragma once

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
      : bytes_per_second_(bytes_per_second), begun_ns_(base::steady_ns()) {}

  // Waits for as long as so many bytes more take, unless `*stopped` comes true, which `changed`
  // tells of and the lock guards.
  void wait(size_t bytes, std::unique_lock<std::mutex>* held, std::condition_variable* changed,
            const bool* stopped) {
    const uint64_t until_ns = go_on_ns(bytes);
    for (uint64_t now_ns = base::steady_ns(); now_ns < until_ns && !*stopped;
         now_ns = base::steady_ns()) {
      changed->wait_for(*held, std::chrono::nanoseconds(until_ns - now_ns),
                        [stopped] { return *stopped; });
    }
  }

 private:
  uint64_t go_on_ns(size_t bytes) {
    bytes_ += bytes;
    if (bytes_per_second_ == 0) return 0;
    const double seconds = static_cast<double>(bytes_) / static_cast<double>(bytes_per_second_);
    return begun_ns_ + static_cast<uint64_t>(seconds * 1e9);
  }

  uint64_t bytes_per_second_;
  uint64_t begun_ns_;
  uint64_t bytes_ = 0;
};

}  // namespace diptych::dispatcher
