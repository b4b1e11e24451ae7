// BlockSupply: whom its blocks belong to, and that their memory goes round.

#include "oltp/block_supply.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mutant.h"
#include "tests/oltp/stress_yield.h"
#include "tests/sanitizers.h"

namespace diptych::oltp {
namespace {

using diptych::test::fail_if_found;

constexpr size_t kBlockBytes = 128;
constexpr size_t kSupplyThreads = 4;

TEST(BlockSupply, BlocksLieApartAndOnLines) {
  BlockSupply<> supply(base::NumaNode(0), kBlockBytes);
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(supply.take());
  std::sort(blocks.begin(), blocks.end());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[i]) % 64, 0u);
    if (i == 0) continue;
    EXPECT_GE(static_cast<std::byte*>(blocks[i]) - static_cast<std::byte*>(blocks[i - 1]),
              static_cast<ptrdiff_t>(kBlockBytes));
  }
  EXPECT_EQ(supply.out_count(), 1000u);
}

TEST(BlockSupply, WhatIsPutBackIsTakenAgainBeforeNewOnesAreMade) {
  BlockSupply<> supply(base::NumaNode(0), kBlockBytes);
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(supply.take());
  const std::set<void*> made(blocks.begin(), blocks.end());
  const size_t bytes = supply.allocated_bytes();
  for (int round = 0; round < 50; ++round) {
    supply.forget_taken();
    supply.put_back(&blocks);
    EXPECT_TRUE(blocks.empty());
    EXPECT_EQ(supply.out_count(), 0u);
    // By several, and by one alone.
    for (int i = 0; i < 300; ++i) {
      blocks.push_back(round % 2 == 0 ? supply.take() : supply.take_alone());
    }
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()), made);
    EXPECT_EQ(supply.out_count(), 300u);
  }
  EXPECT_EQ(supply.allocated_bytes(), bytes);
}

// More are taken than are idle: the last of the idle ones and the first new one differ.
TEST(BlockSupply, MoreThanAreIdleCanBeTaken) {
  BlockSupply<> supply(base::NumaNode(0), kBlockBytes);
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(supply.take());
  supply.forget_taken();
  supply.put_back(&blocks);
  for (int i = 0; i < 25; ++i) blocks.push_back(supply.take());
  EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), 25u);
  EXPECT_EQ(supply.out_count(), 25u);
  supply.forget_taken();
  EXPECT_EQ(supply.out_count(), 25u);
}

// Batches in which threads take blocks, write into them, and give them back at the end. Nobody else
// may have written into a block meanwhile.
template <template <class> class Atomic>
std::string take_side_by_side(uint64_t seed) {
  BlockSupply<Atomic> supply(base::NumaNode(0), kBlockBytes);
  std::string found;
  for (size_t batch = 0; batch < 20 && found.empty(); ++batch) {
    std::vector<std::vector<void*>> taken(kSupplyThreads);
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < kSupplyThreads; ++thread) {
      threads.emplace_back([&, thread] {
        // Some batches more than are idle.
        for (size_t i = 0; i < 50 + 20 * ((seed + batch + thread) % 4); ++i) {
          void* const block = supply.take();
          const size_t mark[] = {thread, i};
          std::memcpy(block, mark, sizeof mark);
          taken[thread].push_back(block);
          if (i % 16 == 0) let_others_in();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    size_t count = 0;
    for (size_t thread = 0; thread < kSupplyThreads; ++thread) {
      for (size_t i = 0; i < taken[thread].size(); ++i) {
        const size_t mark[] = {thread, i};
        if (std::memcmp(taken[thread][i], mark, sizeof mark) != 0) found = "a block has two owners";
      }
      count += taken[thread].size();
    }
    supply.forget_taken();
    if (supply.out_count() != count) found = "blocks that are out are counted";
    for (auto& blocks : taken) supply.put_back(&blocks);
    if (supply.out_count() != 0) found = "all have come back";
  }
  return found;
}

TEST(BlockSupplyStress, EachBlockHasOneOwner) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(take_side_by_side<std::atomic>(seed), "") << "seed " << seed;
  }
}

#ifndef DIPTYCH_TSAN
// A mutant: two may count the same block as theirs. The check must find it, so ThreadSanitizer does
// not look.
template <class Value>
class CountsBlindly {
 public:
  CountsBlindly(Value value) : value_(value) {}  // NOLINT: as std::atomic
  // relaxed: the mutation is that it is no one step, here and below.
  Value load(std::memory_order) const { return value_.load(std::memory_order_relaxed); }
  void store(Value value, std::memory_order) {
    // relaxed: as above.
    value_.store(value, std::memory_order_relaxed);
  }
  Value fetch_add(Value more, std::memory_order) {
    // relaxed: as above.
    const Value before = value_.load(std::memory_order_relaxed);
    if (before % 8 == 0) let_others_in();
    // relaxed: as above.
    value_.store(before + more, std::memory_order_relaxed);
    return before;
  }

 private:
  std::atomic<Value> value_;
};

TEST(BlockSupplyStressDeathTest, TheCheckFindsABlockThatIsCountedBlindly) {
  EXPECT_MUTANT_FOUND(20, fail_if_found(take_side_by_side<CountsBlindly>(seed)), "found: ");
}
#endif

}  // namespace
}  // namespace diptych::oltp
