#include "storage/chunk_memory.h"

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace diptych::storage {
namespace {

uintptr_t address_of(const ChunkMemory& memory) {
  return reinterpret_cast<uintptr_t>(memory.bytes().data());
}

TEST(ChunkMemory, OwnsBytesOfEachOrigin) {
  ChunkArena arena(1 << 20, base::NumaNode(0));
  ChunkMemory made(encoding::ChunkBytes(100, std::byte{7}));
  EXPECT_EQ(made.bytes().size(), 100U);
  EXPECT_EQ(made.bytes()[99], std::byte{7});
  EXPECT_GE(made.memory_bytes(), 100U);
  EXPECT_FALSE(made.in_arena());
  EXPECT_TRUE(made.pages().empty()) << "not what direct I/O reads into";

  ChunkMemory on_heap = ChunkMemory::on_heap(4097);
  ChunkMemory in_arena = *arena.take(4097);
  EXPECT_FALSE(on_heap.in_arena());
  EXPECT_TRUE(in_arena.in_arena());
  for (ChunkMemory* memory : {&on_heap, &in_arena}) {
    EXPECT_EQ(memory->bytes().size(), 4097U);
    EXPECT_EQ(memory->pages().size(), 8192U);
    EXPECT_EQ(memory->memory_bytes(), 8192U);
    EXPECT_EQ(address_of(*memory) % kFilePageBytes, 0U);
    std::memset(memory->pages().data(), 1, 8192);
  }
}

TEST(ChunkMemory, LeavesWhatItMovesFromEmpty) {
  ChunkArena arena(1 << 20, base::NumaNode(0));
  const size_t all = arena.free_bytes();
  ChunkMemory first = *arena.take(10);
  ChunkMemory second = std::move(first);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(first.memory_bytes(), 0U);
  EXPECT_FALSE(first.in_arena());
  EXPECT_EQ(arena.free_bytes(), all - kFilePageBytes);
  second = ChunkMemory(encoding::ChunkBytes(3, std::byte{5}));
  EXPECT_EQ(arena.free_bytes(), all);
  first = std::move(second);
  EXPECT_EQ(first.bytes()[2], std::byte{5});
  first = ChunkMemory::on_heap(1);
  first = ChunkMemory();
  EXPECT_TRUE(first.empty());
  EXPECT_TRUE(ChunkMemory(encoding::ChunkBytes()).empty());
}

TEST(ChunkArena, OfNoBytesIsAlwaysFull) {
  ChunkArena arena(0, base::NumaNode(0));
  EXPECT_FALSE(arena.take(1).has_value());
  EXPECT_EQ(arena.free_bytes(), 0U);
  EXPECT_TRUE(arena.memory().empty());
}

TEST(ChunkArena, CoalescesWhatComesBack) {
  ChunkArena arena(12 * kFilePageBytes - 5, base::NumaNode(0));
  EXPECT_EQ(arena.free_bytes(), 12 * kFilePageBytes);
  std::vector<ChunkMemory> chunks;
  for (int i = 0; i < 12; ++i) chunks.push_back(*arena.take(kFilePageBytes));
  EXPECT_FALSE(arena.take(1).has_value());
  chunks[4] = ChunkMemory();
  chunks[6] = ChunkMemory();
  EXPECT_FALSE(arena.take(2 * kFilePageBytes).has_value());
  chunks[5] = ChunkMemory();
  const std::optional<ChunkMemory> three = arena.take(3 * kFilePageBytes);
  ASSERT_TRUE(three.has_value());
  EXPECT_EQ(three->bytes().data(), arena.memory().data() + 4 * kFilePageBytes);
}

// Each chunk's bytes hold its number: an overlap would show.
TEST(ChunkArenaModel, GivesEachByteToOneChunkAtATime) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr size_t kBytes = 33 << 20;
  ChunkArena arena(kBytes, base::NumaNode(0));
  std::vector<std::pair<ChunkMemory, uint32_t>> chunks;
  size_t taken_bytes = 0;
  size_t refused = 0;
  const auto drop = [&](size_t i) {
    const auto& [memory, number] = chunks[i];
    for (const size_t at : {size_t{0}, memory.bytes().size() / 8 * 4, memory.bytes().size() - 4}) {
      uint32_t found;
      std::memcpy(&found, memory.bytes().data() + at, sizeof(found));
      ASSERT_EQ(found, number);
    }
    taken_bytes -= memory.memory_bytes();
    std::swap(chunks[i], chunks.back());
    chunks.pop_back();
  };
  for (uint32_t number = 0; number < 4'000; ++number) {
    const uint64_t kind = random() % 100;
    const auto bytes = static_cast<uint32_t>(16 + random() % (kind == 0   ? 20'000'000
                                                              : kind < 10 ? 1'000'000
                                                                          : 100'000));
    std::optional<ChunkMemory> memory = arena.take(bytes);
    if (memory) {
      taken_bytes += memory->memory_bytes();
      for (const size_t at : {size_t{0}, bytes / 8 * size_t{4}, size_t{bytes} - 4}) {
        std::memcpy(memory->bytes().data() + at, &number, sizeof(number));
      }
      chunks.emplace_back(std::move(*memory), number);
    } else {
      ++refused;
      for (int i = 0; i < 20 && !chunks.empty(); ++i) {
        ASSERT_NO_FATAL_FAILURE(drop(random() % chunks.size()));
      }
    }
    ASSERT_EQ(arena.free_bytes(), kBytes - taken_bytes);
  }
  EXPECT_GT(refused, 10U);
  while (!chunks.empty()) ASSERT_NO_FATAL_FAILURE(drop(chunks.size() - 1));
  EXPECT_EQ(arena.free_bytes(), kBytes);
}

TEST(ChunkArenaDeathTest, RefusesToEndBeforeItsChunks) {
  EXPECT_DEATH(
      {
        ChunkMemory kept;
        ChunkArena arena(kFilePageBytes, base::NumaNode(0));
        kept = *arena.take(1);
      },
      "outlives its chunks");
}

}  // namespace
}  // namespace diptych::storage
