// ByteRate: when who writes in the background may go on, so that it keeps to its bytes a second.
//
// Threads    one.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace diptych::dispatcher {

class ByteRate {
 public:
  // Counted from now. 0: as fast as it goes.
  explicit ByteRate(uint64_t bytes_per_second)
      : bytes_per_second_(bytes_per_second), begun_ns_(base::steady_ns()) {}

  // After so many bytes more: until when (base::steady_ns) to wait.
  uint64_t go_on_ns(size_t bytes) {
    bytes_ += bytes;
    if (bytes_per_second_ == 0) return 0;
    const double seconds = static_cast<double>(bytes_) / static_cast<double>(bytes_per_second_);
    return begun_ns_ + static_cast<uint64_t>(seconds * 1e9);
  }

 private:
  uint64_t bytes_per_second_;
  uint64_t begun_ns_;
  uint64_t bytes_ = 0;
};

}  // namespace diptych::dispatcher
