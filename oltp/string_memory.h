// Memory for long strings: size classes, free lists per worker, slabs on the replica's node.
//
// StringDepot    the slabs and what no worker holds. refill() from any worker; the rest leader
//                only, at a boundary.
// StringMemory   one worker's free lists. copy() and retire() by the worker during a batch;
//                reclaim() by the leader at the boundary, when nobody reads any more.
//
// A freed block is remembered by its address in a list of its class, so that reclaiming touches
// none of the freed (by then cold) memory.
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
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "base/types.h"

namespace diptych::oltp {

// Classes: steps of 32 bytes up to 1 KiB, then four to each doubling.
inline constexpr size_t kFineStepBytes = 32;
inline constexpr size_t kFineBytesMax = 1024;
inline constexpr size_t kFineClasses = kFineBytesMax / kFineStepBytes;
inline constexpr size_t kSizeClasses = kFineClasses + 4 * 24;

// Of 1 byte or more.
size_t size_class_of(size_t bytes);
size_t size_class_bytes(size_t size_class);

class StringDepot {
 public:
  using Blocks = std::vector<std::byte*>;

  explicit StringDepot(base::NumaNode node) : node_(node) {}

  // Puts at least one block of the class into the empty list. Any worker.
  void refill(size_t size_class, Blocks* free);
  // Takes all but `keep` blocks of the list. Leader.
  void put_back(size_t size_class, Blocks* free, size_t keep);
  size_t allocated_bytes() const;
  // Nobody has a string any more. Leader.
  void clear();

 private:
  std::byte* carve(size_t bytes);

  base::NumaNode node_;
  mutable std::mutex mutex_;
  std::vector<base::Region> slabs_;           // guarded by mutex_
  std::byte* next_ = nullptr;                 // guarded by mutex_; the slab being carved
  size_t left_bytes_ = 0;                     // guarded by mutex_
  size_t allocated_bytes_ = 0;                // guarded by mutex_
  std::array<Blocks, kSizeClasses> surplus_;  // guarded by mutex_
};

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

  void reclaim();
  // Gives the depot what is more than a worker may keep. Of use with several workers.
  void balance();
  // Gives the depot all that is free.
  void give_back();

 private:
  StringDepot* depot_;
  std::array<StringDepot::Blocks, kSizeClasses> free_;
  std::array<StringDepot::Blocks, kSizeClasses> retired_;
};

}  // namespace diptych::oltp
