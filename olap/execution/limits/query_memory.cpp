#include "olap/execution/limits/query_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <sys/mman.h>

#include "base/check.h"
#include "base/memory_place.h"
#include "olap/query_memory_figures.h"

namespace diptych::olap {

namespace {

using base::kHugePageBytes;

struct KeptBlocks {
  std::mutex mutex;
  std::array<std::vector<void*>, 64> by_class;  // guarded by mutex; by log2 of the size
  size_t bytes = 0;                             // guarded by mutex
  size_t bytes_max = 0;                         // likewise
  size_t executors = 0;                         // likewise
  size_t used_bytes = 0;                        // likewise: of blocks that were taken
};

KeptBlocks& kept_blocks() {
  static KeptBlocks* const blocks = new KeptBlocks;  // outlives every thread
  return *blocks;
}

void* map_memory(size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void unmap(void* memory, size_t bytes) {
  if (bytes != 0) static_cast<void>(munmap(memory, bytes));
}

// Aligned to the size of huge pages.
void* map_aligned(size_t bytes) {
  auto* const memory = static_cast<std::byte*>(map_memory(bytes + kHugePageBytes));
  const size_t before = (~reinterpret_cast<uintptr_t>(memory) + 1) & (kHugePageBytes - 1);
  unmap(memory, before);
  unmap(memory + before + bytes, kHugePageBytes - before);
  return memory + before;
}

// From huge-page size on, aligned to it.
void* map_block(size_t bytes) {
  if (bytes < kHugePageBytes) return map_memory(bytes);
  void* const memory = map_aligned(bytes);
  // Only advice: without huge pages everything works, slower.
  static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
  return memory;
}

// The same pages, and more behind them, at another address; nullptr: they stay where they are.
void* move_block(void* block, size_t block_bytes, size_t bytes) {
  void* const place = map_aligned(bytes);
  if (mremap(block, block_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) {
    return place;
  }
  unmap(place, bytes);
  return nullptr;
}

// Of kept memory; nullptr: there is none of this size.
void* take_kept(KeptBlocks& kept, size_t bytes) {
  const std::lock_guard lock(kept.mutex);
  auto& blocks = kept.by_class[static_cast<size_t>(std::countr_zero(bytes))];
  if (blocks.empty()) return nullptr;
  void* const block = blocks.back();
  blocks.pop_back();
  kept.bytes -= bytes;
  kept.used_bytes += bytes;
  return block;
}

void count_used(KeptBlocks& kept, size_t bytes) {
  const std::lock_guard lock(kept.mutex);
  kept.used_bytes += bytes;
}

}  // namespace

void* take_query_block(size_t* bytes) {
  if (*bytes > size_t{1} << 62) throw std::bad_alloc();
  *bytes = query_block_bytes(*bytes);
  KeptBlocks& kept = kept_blocks();
  if (void* const block = take_kept(kept, *bytes)) return block;
  void* const block = map_block(*bytes);
  count_used(kept, *bytes);
  return block;
}

void* grow_query_block(void* block, size_t block_bytes, size_t* bytes) {
  if (*bytes > size_t{1} << 62) throw std::bad_alloc();
  *bytes = query_block_bytes(*bytes);
  DIPTYCH_CHECK(*bytes > block_bytes, "a block grows");
  KeptBlocks& kept = kept_blocks();
  void* grown = take_kept(kept, *bytes);
  if (grown == nullptr && block_bytes >= kHugePageBytes) {
    grown = move_block(block, block_bytes, *bytes);
    if (grown != nullptr) {
      count_used(kept, *bytes - block_bytes);
      return grown;
    }
  }
  if (grown == nullptr) grown = take_query_block(bytes);
  std::memcpy(grown, block, block_bytes);
  return_query_block(block, block_bytes);
  return grown;
}

void return_query_block(void* block, size_t bytes) {
  DIPTYCH_CHECK(std::has_single_bit(bytes) && bytes >= kQueryBlockBytesMin,
                "a block is returned with the size that it had");
  KeptBlocks& kept = kept_blocks();
  {
    const std::lock_guard lock(kept.mutex);
    kept.used_bytes -= bytes;
    if (kept.bytes + bytes <= kept.bytes_max) {
      try {
        kept.by_class[static_cast<size_t>(std::countr_zero(bytes))].push_back(block);
        kept.bytes += bytes;
        return;
      } catch (const std::bad_alloc&) {  // the system has the block
      }
    }
  }
  unmap(block, bytes);
}

void begin_keeping_query_blocks(size_t bytes_max) {
  KeptBlocks& kept = kept_blocks();
  const std::lock_guard lock(kept.mutex);
  ++kept.executors;
  kept.bytes_max = std::max(kept.bytes_max, std::min(bytes_max, kQueryBytesKeptMax));
}

void end_keeping_query_blocks() {
  KeptBlocks& kept = kept_blocks();
  const std::lock_guard lock(kept.mutex);
  DIPTYCH_CHECK(kept.executors != 0, "who ends it has begun it");
  if (--kept.executors != 0) return;
  kept.bytes_max = 0;
  for (size_t size_log = 0; size_log < kept.by_class.size(); ++size_log) {
    for (void* const block : kept.by_class[size_log]) unmap(block, size_t{1} << size_log);
    kept.by_class[size_log] = {};
  }
  kept.bytes = 0;
}

QueryMemoryFigures query_memory_figures() {
  KeptBlocks& kept = kept_blocks();
  const std::lock_guard lock(kept.mutex);
  return {kept.used_bytes, kept.bytes};
}

}  // namespace diptych::olap
