#include "base/arena.h"

#include <algorithm>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/failing_allocation.h"

namespace diptych::base {
namespace {

bool aligned(const std::byte* pointer, size_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

TEST(Region, IsZeroedAndAligned) {
  const Region region(100, NumaNode(0));
  EXPECT_GE(region.size(), 100u);
  EXPECT_TRUE(aligned(region.data(), 4096));
  EXPECT_TRUE(std::all_of(region.data(), region.data() + region.size(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Region, BigOnesAreAlignedToHugePages) {
  for (const size_t bytes : {kHugePageBytes, kHugePageBytes + 1, 3 * kHugePageBytes - 4096}) {
    const Region region(bytes, NumaNode(0));
    EXPECT_TRUE(aligned(region.data(), kHugePageBytes));
    region.data()[0] = std::byte{1};
    region.data()[region.size() - 1] = std::byte{1};
  }
}

TEST(Region, ThatTheSystemRefusesIsToldByAnException) {
  EXPECT_THROW(Region(size_t{1} << 50, NumaNode(0)), std::bad_alloc);
}

TEST(Region, ANodeThatTheMachineLacksIsNoError) {
  const Region region(4096, NumaNode(3));
  region.data()[0] = std::byte{1};
}

// Between others: there is no run of free memory that it could lengthen.
TEST(Region, IsGivenBackWithoutMemoryToNoteIt) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  std::vector<Region> regions;
  for (int i = 0; i < 5; ++i) regions.emplace_back(8192, NumaNode(0));
  {
    const test::FailingAllocation failing(1, test::FailingAllocation::Lasts::kOn);
    const Region gone = std::move(regions[2]);
  }
  const Region more(8192, NumaNode(0));
  EXPECT_NE(more.data(), nullptr);
}

TEST(Region, MovesLeaveNothingBehind) {
  Region first(4096, NumaNode(0));
  std::byte* data = first.data();
  Region second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT: the moved-from state is specified
  Region third(8192, NumaNode(0));
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
}

TEST(Arena, BlocksAreAlignedAndDisjoint) {
  std::mt19937_64 random(4);
  Arena arena(NumaNode(0), 4096);
  struct Block {
    std::byte* data;
    size_t bytes;
    std::byte mark;
  };
  std::vector<Block> blocks;
  for (int i = 0; i < 5000; ++i) {
    const size_t alignment = size_t{1} << (random() % 7);
    const size_t bytes = random() % 100 == 0 ? random() % 100'000 : random() % 200;
    std::byte* data = arena.allocate(bytes, alignment);
    ASSERT_TRUE(aligned(data, alignment));
    const auto mark = static_cast<std::byte>(i);
    std::fill_n(data, bytes, mark);
    blocks.push_back({data, bytes, mark});
  }
  for (const Block& block : blocks) {
    ASSERT_TRUE(std::all_of(block.data, block.data + block.bytes,
                            [&](std::byte b) { return b == block.mark; }));
  }
}

TEST(Arena, ResetReusesTheRegions) {
  Arena arena(NumaNode(0), 4096);
  const auto fill = [&] {
    for (int i = 0; i < 1000; ++i) arena.allocate(100);
  };
  fill();
  const size_t bytes = arena.allocated_bytes();
  for (int round = 0; round < 10; ++round) {
    arena.reset();
    fill();
    EXPECT_EQ(arena.allocated_bytes(), bytes);
  }
}

TEST(Arena, ABlockMayBeLargerThanAnyRegionSoFar) {
  Arena arena(NumaNode(0), 4096);
  std::byte* big = arena.allocate(size_t{40} << 20);
  big[0] = std::byte{1};
  big[(size_t{40} << 20) - 1] = std::byte{1};
  EXPECT_NE(arena.allocate(8), nullptr);
}

TEST(Arena, CopiesOutliveTheirSource) {
  Arena arena(NumaNode(0));
  std::string source = "by my own bytes";
  const std::string_view copy = arena.copy(source);
  source.assign(source.size(), 'x');
  EXPECT_EQ(copy, "by my own bytes");
  EXPECT_EQ(arena.copy(""), "");
}

TEST(Arena, AMovedFromArenaCanStillAllocate) {
  Arena first(NumaNode(0), 4096);
  first.allocate(5000);
  Arena second(std::move(first));
  EXPECT_NE(second.allocate(10), nullptr);
  EXPECT_NE(first.allocate(10), nullptr);  // NOLINT: the moved-from state is specified
}

}  // namespace
}  // namespace diptych::base
