// FreePages: which of many pages are free, in extents of 16 MiB; of the arena of chunks as of the
// block file.
//
// A bit a page, so that runs coalesce by themselves, and a bound an extent, so that a search passes
// over full extents. A run of at most an extent lies within one: it is found and freed
// with that extent alone, and does not keep two from being given back; what a search passes over at
// an extent's end, a smaller run takes. A longer run takes whole extents and the beginning of the
// next.
//
// Invariants
//   E1  longest_max_[e] is at least the longest run of free pages within extent e.
//   E2  free_in_[e] is the number of bits set in extent e; free_ is their sum.
//
// Costs      take_first(): a word an extent, and the bitmap (512 bytes) where one may do.
// Threads    one owner; its users hold their locks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "storage/chunk_address.h"

namespace diptych::storage {

inline constexpr uint32_t kExtentPages = 4096;
inline constexpr uint64_t kExtentBytes = kExtentPages * uint64_t{kFilePageBytes};

class FreePages {
 public:
  void add_extent();          // at the end; its pages are free
  void remove_last_extent();  // all of its pages must be free

  // The lowest run that is long enough, where runs lie as said above; nothing: there is none.
  std::optional<uint32_t> take_first(uint32_t pages);
  // Pages that are free, and no others.
  void take(uint32_t first, uint32_t pages);
  // Pages that are taken, and no others.
  void add(uint32_t first, uint32_t pages);

  // Whether all of them are there and free.
  bool all_free(uint32_t first, uint32_t pages) const;
  bool extent_is_free(uint32_t extent) const { return free_in_[extent] == kExtentPages; }
  uint32_t free_in(uint32_t extent) const { return free_in_[extent]; }
  uint32_t extents() const { return static_cast<uint32_t>(free_in_.size()); }
  uint32_t pages() const { return extents() * kExtentPages; }
  uint32_t free() const { return free_; }

 private:
  static constexpr uint32_t kExtentWords = kExtentPages / 64;

  std::optional<uint32_t> first_in_extent(uint32_t extent, uint32_t pages);
  std::optional<uint32_t> first_of_extents(uint32_t pages) const;

  std::vector<uint64_t> bits_;  // 1: free
  std::vector<uint32_t> free_in_;
  std::vector<uint32_t> longest_max_;
  uint32_t free_ = 0;
};

}  // namespace diptych::storage
