#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitizers.h"
#include "storage/chunk_address.h"
#include "storage/chunk_heap.h"
#include "storage/chunk_heap_figures.h"
#include "storage/free_pages.h"

namespace diptych::storage {
namespace {

struct Block {
  std::byte* data;
  size_t bytes;
  std::byte mark;
};

Block take(size_t bytes, uint64_t number) {
  const Block block{static_cast<std::byte*>(take_chunk_pages(bytes)), bytes,
                    static_cast<std::byte>(number % 251 + 1)};
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % kFilePageBytes, 0U);
  std::memset(block.data, static_cast<int>(block.mark), bytes);
  return block;
}

// Nobody else has written into it.
void give_back(const Block& block) {
  for (size_t at = 0; at < block.bytes; at += 511) ASSERT_EQ(block.data[at], block.mark);
  ASSERT_EQ(block.data[block.bytes - 1], block.mark);
  return_chunk_pages(block.data, block.bytes);
}

// Sizes of all orders: below a page, pages, over an extent.
size_t random_bytes(std::mt19937_64* random) {
  const uint64_t order = (*random)() % 60;
  const uint64_t max = order == 0 ? 3 * kExtentBytes : uint64_t{64} << (order % 15);
  return 1 + (*random)() % max;
}

void take_and_give_back(uint64_t seed, int rounds) {
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  for (int i = 0; i < rounds; ++i) {
    if (blocks.size() < 20 || random() % 2 == 0) {
      blocks.push_back(take(random_bytes(&random), random()));
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      give_back(blocks.back());
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) give_back(block);
}

TEST(ChunkHeapStress, NoTwoOwnersHaveAPage) {
  const size_t used = chunk_heap_figures().used_bytes;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) threads.emplace_back(take_and_give_back, 30 + t, 400);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(chunk_heap_figures().used_bytes, used);
}

TEST(ChunkHeap, TakesWhatWasGivenBackAgainAndKeepsALimit) {
  if (base::kAddressSanitizer) GTEST_SKIP() << "nothing is kept from it";
  const ChunkHeapFigures before = chunk_heap_figures();
  const size_t bytes = 5 * kExtentBytes - kFilePageBytes - 1;
  const Block first = take(bytes, 1);
  EXPECT_EQ(chunk_heap_figures().used_bytes, before.used_bytes + bytes + 1);
  give_back(first);
  const Block again = take(bytes, 2);
  EXPECT_EQ(again.data, first.data);
  give_back(again);

  std::vector<void*> blocks;
  for (size_t taken = 0; taken < 2 * kChunkHeapKeptMax; taken += kExtentBytes) {
    blocks.push_back(take_chunk_pages(kExtentBytes));
  }
  for (void* const block : blocks) return_chunk_pages(block, kExtentBytes);
  EXPECT_EQ(chunk_heap_figures().used_bytes, before.used_bytes);
  EXPECT_LE(chunk_heap_figures().kept_bytes, before.kept_bytes + kChunkHeapKeptMax);
  // What went back to the system serves again.
  for (void*& block : blocks) {
    block = take_chunk_pages(kExtentBytes);
    static_cast<std::byte*>(block)[kExtentBytes - 1] = std::byte{1};
  }
  for (void* const block : blocks) return_chunk_pages(block, kExtentBytes);
}

}  // namespace
}  // namespace diptych::storage
