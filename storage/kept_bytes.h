// KeptBytes: memory that the live replica has no use for any more, and a snapshot still reads. It
// is part of what is kept, and counted in a total while that lives.
//
// Threads    count: the partition's writer. The destructor: whoever is the last owner.

#pragma once

#include <atomic>
#include <cstddef>

namespace diptych::storage {

class KeptBytes {
 public:
  KeptBytes() = default;
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;
  ~KeptBytes() {
    // relaxed: a figure to look at.
    if (total_ != nullptr) total_->fetch_sub(bytes_, std::memory_order_relaxed);
  }

  // Again: no effect. The total outlives this.
  void count(std::atomic<size_t>* total, size_t bytes) {
    if (total_ != nullptr) return;
    total_ = total;
    bytes_ = bytes;
    total_->fetch_add(bytes_, std::memory_order_relaxed);  // relaxed: as above
  }

 private:
  std::atomic<size_t>* total_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace diptych::storage
