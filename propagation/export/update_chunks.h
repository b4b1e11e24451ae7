// UpdateChunks: memory for update sets, in chunks of one size that go round between the workers,
// who fill them, and the applier, which empties them.
//
// A chunk that has been used stays as it is, so in the steady state touching its pages costs
// nothing. Small pages: a set that waits takes those that it has filled, not its chunk.
//
// Threads    take and put: any; a few instructions under a mutex, but for a new slab. put gives
//            memory back to the system outside of it.
// Memory     up to kKeptBytesMax of idle chunks keep their pages; the others keep their addresses
//            only.

#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"

namespace diptych::propagation {

class UpdateChunks {
 public:
  static constexpr size_t kChunkBytes = 256 * 1024;
  static constexpr size_t kKeptBytesMax = size_t{64} << 20;

  explicit UpdateChunks(base::NumaNode node = base::NumaNode(0));

  base::NumaNode node() const { return node_; }
  std::byte* take();
  void put(std::span<std::byte* const> chunks);  // does not throw
  size_t kept_bytes() const;                     // of idle chunks that keep their pages

 private:
  static constexpr size_t kSlabBytes = size_t{1} << 20;

  const base::NumaNode node_;
  mutable std::mutex mutex_;
  std::vector<base::Region> slabs_;  // guarded by mutex_; owns
  std::vector<std::byte*> warm_;     // guarded by mutex_: idle, with their pages
  std::vector<std::byte*> cold_;     // guarded by mutex_: idle, without
};

}  // namespace diptych::propagation
