// Memory for versions: size classes, free lists per worker, slabs on the replica's node.
//
// VersionDepot    the slabs and what no worker holds. refill() from any worker; the rest leader
//                 only, at a boundary.
// VersionMemory   one worker's free lists. allocate() and retire() by the worker during a batch;
//                 reclaim() by the leader at the boundary, when nobody reads any more.
//
// A freed block is remembered by its address in a list of its class, so that reclaiming touches
// none of the freed (by then cold) memory.
//
// Invariants
//   M1  A retired block is not handed out before the next reclaim(): readers of its batch may
//       hold it.
//   M2  Blocks that one worker frees and another needs find their way through the depot
//       (balance()), so a run of constant size keeps the memory flat whoever inserts and whoever
//       erases.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "oltp/version.h"

namespace diptych::oltp {

// Classes: steps of 32 bytes up to 1 KiB, then four to each doubling.
inline constexpr size_t kFineStepBytes = 32;
inline constexpr size_t kFineBytesMax = 1024;
inline constexpr size_t kFineClasses = kFineBytesMax / kFineStepBytes;
inline constexpr size_t kSizeClasses = kFineClasses + 4 * 24;

size_t size_class_of(size_t bytes);
size_t size_class_bytes(size_t size_class);

class VersionDepot {
 public:
  using Blocks = std::vector<Version*>;

  explicit VersionDepot(base::NumaNode node) : node_(node) {}

  // Puts at least one block of the class into the empty list. Any worker.
  void refill(size_t size_class, Blocks* free);
  // Takes all but `keep` blocks of the list. Leader.
  void put_back(size_t size_class, Blocks* free, size_t keep);
  size_t allocated_bytes() const;

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

class VersionMemory {
 public:
  explicit VersionMemory(VersionDepot* depot) : depot_(depot) {}

  // A block for a header and `payload_bytes`, its size class set and nothing else.
  Version* allocate(size_t payload_bytes) {
    const size_t size_class = size_class_of(sizeof(Version) + payload_bytes);
    VersionDepot::Blocks& free = free_[size_class];
    if (free.empty()) depot_->refill(size_class, &free);
    Version* const version = free.back();
    free.pop_back();
    version->size_class = static_cast<uint8_t>(size_class);
    return version;
  }

  void retire(Version* version) { retired_[version->size_class].push_back(version); }

  void reclaim();
  // Gives the depot what exceeds the largest need of a batch so far. Of use with several workers.
  void balance();

 private:
  VersionDepot* depot_;
  std::array<VersionDepot::Blocks, kSizeClasses> free_;
  std::array<VersionDepot::Blocks, kSizeClasses> retired_;
};

}  // namespace diptych::oltp
