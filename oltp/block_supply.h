// BlockSupply: blocks of memory of one size, for several threads; given back in one go.
//
// Threads    take: any, lock-free as long as there are idle blocks; a new block is made under a
//            lock, which a run of constant size ceases to do. All else: when no take is under way.
// Memory     in an arena, so on huge pages once it has grown.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/memory_place.h"

namespace diptych::oltp {

template <template <class> class Atomic = std::atomic>
class BlockSupply {
 public:
  BlockSupply(base::MemoryPlace place, size_t block_bytes)
      : block_bytes_(block_bytes), arena_(place, 16 * 1024) {}

  void* take() {
    // acq_rel: pairs with the other threads'. The idle blocks themselves were put there before.
    const uint64_t at = taken_.fetch_add(1, std::memory_order_acq_rel);
    if (at < idle_.size()) return idle_[idle_.size() - 1 - at];
    const std::lock_guard guard(growth_);
    return make();
  }
  // By the only thread that takes any; after take(), not before forget_taken().
  void* take_alone() {
    if (idle_.empty()) return make();
    void* const block = idle_.back();
    idle_.pop_back();
    return block;
  }

  // Forgets the idle blocks that are taken.
  void forget_taken() {
    idle_.resize(idle_count());
    // relaxed: no take is under way.
    taken_.store(0, std::memory_order_relaxed);
  }
  // Empties the list. After forget_taken().
  void put_back(std::vector<void*>* blocks) {
    idle_.insert(idle_.end(), blocks->begin(), blocks->end());
    blocks->clear();
  }

  // Blocks that were taken and not put back.
  uint64_t out_count() const { return made_ - idle_count(); }
  size_t allocated_bytes() const { return arena_.allocated_bytes(); }

 private:
  void* make() {
    ++made_;
    return arena_.allocate(block_bytes_, std::min(block_bytes_ & -block_bytes_, base::kLineBytes));
  }
  size_t idle_count() const {
    // relaxed: no take is under way.
    return idle_.size() - std::min(idle_.size(), taken_.load(std::memory_order_relaxed));
  }

  size_t block_bytes_;
  std::vector<void*> idle_;
  Atomic<uint64_t> taken_{0};  // writers: who takes; of the idle ones, from the end
  std::mutex growth_;          // guards made_ and arena_
  uint64_t made_ = 0;
  base::Arena arena_;
};

}  // namespace diptych::oltp
