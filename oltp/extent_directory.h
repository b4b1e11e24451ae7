// ExtentDirectory: where a table's extents lie, by their numbers. It doubles when it is full; the
// old entries stay as long as the directory, for who still reads them.
//
// Threads    at() by any, of an extent whose number was told by who added it, or by who was told
//            it. Everything else by one at a time: the table's mutex.
// Cost       at(): two loads.
//
// Invariants
//   D1  Entries are complete when entries_ names them, but for extents added later. So a reader
//       finds the extents that it knows of in whatever entries it meets.
//   D2  An entry is set once, to memory that is ready for readers.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace diptych::oltp {

template <template <class> class Atomic = std::atomic>
class ExtentDirectory {
 public:
  explicit ExtentDirectory(uint64_t size_at_first) : size_at_first_(size_at_first) {}

  std::byte* at(uint64_t extent) const {
    // acquire: pairs with the release in grow(): the entries are filled (D1).
    const Entry* const entries = entries_.load(std::memory_order_acquire);
    // acquire: pairs with the release in set(): the extent's memory is ready (D2).
    return entries[extent].load(std::memory_order_acquire);
  }

  bool has(uint64_t extent) const {
    // relaxed: who asks is the only one that sets.
    return extent < size_ && all_.back()[extent].load(std::memory_order_relaxed) != nullptr;
  }

  void set(uint64_t extent, std::byte* memory) {
    DIPTYCH_CHECK(!has(extent), "an extent never moves");
    if (extent >= size_) grow(std::max({2 * size_, extent + 1, size_at_first_}));
    // release: pairs with the acquire in at() (D2).
    all_.back()[extent].store(memory, std::memory_order_release);
  }

 private:
  using Entry = Atomic<std::byte*>;  // writer: who calls set()

  void grow(uint64_t size) {
    auto entries = std::make_unique<Entry[]>(size);
    for (uint64_t i = 0; i < size_; ++i) {
      // relaxed: what this writer has set, and entries_ publishes it.
      entries[i].store(all_.back()[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    all_.push_back(std::move(entries));
    size_ = size;
    // release: pairs with the acquire in at() (D1).
    entries_.store(all_.back().get(), std::memory_order_release);
  }

  Atomic<const Entry*> entries_{nullptr};  // writer: who calls set()
  uint64_t size_at_first_;
  uint64_t size_ = 0;
  std::vector<std::unique_ptr<Entry[]>> all_;  // owns; the last are entries_
};

}  // namespace diptych::oltp
