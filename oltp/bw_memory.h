// BwMemory: nodes, mapping words and swap descriptors of one BwTree.
//
// A structure change works in a lane: free lists, and the blocks that it removed from the tree.
// There are as many lanes as there may be workers, and a change takes the first free one, so it
// never waits. With one worker that is always the first.
//
//   node, page: idle --take--> in the tree --retire--> retired --reclaim()--> idle
//                         \--give_back: never published--> free in its lane, then idle
//
// Threads    any worker may call enter; a lane belongs to whoever holds its guard. reclaim,
//            set_concurrency and the counts need a time when no operation runs (the batch
//            boundary).
// Memory     nodes and pages are recycled, whichever lane they came from and went to. Nothing that
//            a reader may still look at is reused before reclaim(), so readers need no epochs. With
//            one worker it is reused at once.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/alignment.h"
#include "oltp/block_supply.h"
#include "oltp/bw_entry.h"
#include "oltp/index.h"
#include "oltp/multi_word_cas.h"

namespace diptych::oltp {

// kNodeBytes: the size of the largest node.
template <size_t kNodeBytes, template <class> class Atomic>
class BwMemory {
 public:
  using Cas = MultiWordCas<Atomic>;
  using Word = typename Cas::Word;
  static constexpr uint64_t kGonePage = 2;  // in the word of a page that left the tree
  static constexpr size_t kLanes = kWorkersMax;
  static_assert(kWorkersMax <= Cas::kThreadsMax, "each may be in the way of all others");

  class Lane {
   public:
    Lane(BwMemory* memory, size_t number) : next_birth_(number + 1), memory_(memory) {}

    template <class Node>
    Node* take_node() {
      static_assert(sizeof(Node) <= kNodeBytes);
      Node* const node = new (take(kNode)) Node;
      node->set_birth(next_birth_);
      next_birth_ += kLanes;
      return node;
    }
    Word* take_page() { return new (take(kPage)) Word(0); }
    void give_back(BwNode* node) {
      node->set_birth(BwNode::kNoBirth);
      free_[kNode].push_back(node);
    }
    void give_back(Word* page) { free_[kPage].push_back(page); }
    void retire(BwNode* node) {
      node->set_birth(BwNode::kNoBirth);
      retire(kNode, node);
    }
    void retire(Word* page) { retire(kPage, page); }

    // Changes the words in one step, or none of them (MultiWordCas).
    bool swap(std::span<const typename Cas::Change> changes) {
      if (!memory_->is_alone()) return Cas::swap(this, changes);
      for (const auto& change : changes) {
        // relaxed: one worker.
        change.word->store(change.desired, std::memory_order_relaxed);
      }
      return true;
    }
    void* take_descriptor() {
      void* const descriptor = take(kDescriptor);
      retire(kDescriptor, descriptor);
      return descriptor;
    }

   private:
    friend class BwMemory;
    enum Use : size_t { kNode, kPage, kDescriptor };

    void* take(Use use) {
      std::vector<void*>& free = free_[use];
      if (free.empty()) {
        BlockSupply<Atomic>& supply = *memory_->supplies_[use];
        return memory_->is_alone() ? supply.take_alone() : supply.take();
      }
      void* const block = free.back();
      free.pop_back();
      return block;
    }
    void retire(Use use, void* block) {
      (memory_->is_alone() ? free_ : retired_)[use].push_back(block);
    }

    alignas(base::kLineBytes) Atomic<bool> taken_{false};  // writer: who enters; then who is in
    bool was_taken_ = false;  // since reclaim(), by one of several workers
    uint64_t next_birth_;     // those of two lanes differ
    BwMemory* memory_;
    std::array<std::vector<void*>, 3> free_;     // [Use]
    std::array<std::vector<void*>, 3> retired_;  // [Use]
  };

  class Guard {
   public:
    explicit Guard(Lane* lane) : lane_(lane) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() {
      // release: the next one in sees the lists as they are now.
      if (!lane_->memory_->is_alone()) lane_->taken_.store(false, std::memory_order_release);
    }
    Lane* operator->() const { return lane_; }

   private:
    Lane* lane_;
  };

  BwMemory(Concurrency concurrency, base::MemoryPlace place) : concurrency_(concurrency) {
    const size_t block_bytes[] = {kNodeBytes, sizeof(Word), Cas::kDescriptorBytes};
    for (size_t use = 0; use < supplies_.size(); ++use) {
      supplies_[use] = std::make_unique<BlockSupply<Atomic>>(place, block_bytes[use]);
    }
    for (size_t i = 0; i < kLanes; ++i) lanes_[i] = std::make_unique<Lane>(this, i);
  }

  bool is_alone() const { return concurrency_ == Concurrency::kSingle; }
  [[nodiscard]] Guard enter() {
    if (is_alone()) return Guard(lanes_[0].get());
    for (size_t i = 0;; i = (i + 1) % kLanes) {
      Lane* const lane = lanes_[i].get();
      // relaxed: only saves an exchange that would fail.
      if (lane->taken_.load(std::memory_order_relaxed)) continue;
      // acquire: pairs with the last one's release.
      if (lane->taken_.exchange(true, std::memory_order_acquire)) continue;
      lane->was_taken_ = true;
      return Guard(lane);
    }
  }

  void reclaim() {
    for (const auto& supply : supplies_) supply->forget_taken();
    for (auto& lane : lanes_) {
      if (!lane->was_taken_) return;  // nor were the lanes behind it
      lane->was_taken_ = false;
      for (size_t use = 0; use < supplies_.size(); ++use) {
        supplies_[use]->put_back(&lane->free_[use]);
        supplies_[use]->put_back(&lane->retired_[use]);
      }
    }
  }
  // When no operation is under way.
  void set_concurrency(Concurrency concurrency) {
    reclaim();
    concurrency_ = concurrency;
  }

  // Neither free nor retired.
  uint64_t nodes_in_use() const { return in_use(Lane::kNode); }
  uint64_t pages_in_use() const { return in_use(Lane::kPage); }
  size_t allocated_bytes() const {
    size_t bytes = 0;
    for (const auto& supply : supplies_) bytes += supply->allocated_bytes();
    return bytes;
  }

 private:
  uint64_t in_use(size_t use) const {
    uint64_t blocks = supplies_[use]->out_count();
    for (const auto& lane : lanes_) {
      blocks -= lane->free_[use].size() + lane->retired_[use].size();
    }
    return blocks;
  }

  Concurrency concurrency_;                                       // writer: set_concurrency
  std::array<std::unique_ptr<BlockSupply<Atomic>>, 3> supplies_;  // [Lane::Use]
  std::array<std::unique_ptr<Lane>, kLanes> lanes_;
};

}  // namespace diptych::oltp
