// StringMemory: one worker's lists of free blocks for long strings.
//
// Threads    copy() and retire() by the worker during a batch; the rest by the leader at the
//            boundary, when nobody reads any more.
//
// Invariants
//   S1  A retired string is not overwritten before the next reclaim(): readers of its batch may
//       hold it.
//   S2  Blocks that one worker frees and another needs find their way through the depot
//       (balance()), so a run of constant size keeps the memory flat whoever inserts and whoever
//       erases.

#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/types.h"
#include "oltp/string_depot.h"

namespace diptych::oltp {

class StringMemory {
 public:
  explicit StringMemory(StringDepot* depot) : depot_(depot) {}

  base::Text copy(std::string_view text) {
    if (text.empty()) return {};
    const size_t size_class = size_class_of(text.size());
    StringDepot::Blocks& free = free_[size_class];
    if (free.empty()) depot_->refill(size_class, &free);
    std::byte* const block = free.back();
    free.pop_back();
    std::memcpy(block, text.data(), text.size());
    return base::Text({reinterpret_cast<const char*>(block), text.size()});
  }

  // A text that a copy() gave out, whichever worker's.
  void retire(const base::Text& text) {
    if (text.size == 0) return;
    auto* const block = reinterpret_cast<std::byte*>(const_cast<char*>(text.data));
    retired_[size_class_of(text.size)].push_back(block);
  }

  // Retired blocks are free now. Returns their bytes.
  size_t reclaim();
  // Gives the depot what is more than a worker may keep. Of use with several workers.
  void balance();
  size_t free_bytes() const;
  // Gives the depot all that is free.
  void give_back();

 private:
  StringDepot* depot_;
  std::array<StringDepot::Blocks, kSizeClasses> free_;
  std::array<StringDepot::Blocks, kSizeClasses> retired_;
};

}  // namespace diptych::oltp
