#include "olap/execution/query_memory.h"

#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include <sys/mman.h>

#include "base/check.h"
#include "olap/query_memory_figures.h"

namespace diptych::olap {

namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

struct KeptBlocks {
  std::mutex mutex;
  std::array<std::vector<void*>, 64> by_class;  // guarded by mutex; by log2 of the size
  size_t bytes = 0;                             // guarded by mutex
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

// From huge-page size on, aligned to it.
void* map_block(size_t bytes) {
  if (bytes < kHugePageBytes) return map_memory(bytes);
  auto* const memory = static_cast<std::byte*>(map_memory(bytes + kHugePageBytes));
  const size_t before = (~reinterpret_cast<uintptr_t>(memory) + 1) & (kHugePageBytes - 1);
  unmap(memory, before);
  unmap(memory + before + bytes, kHugePageBytes - before);
  // Only advice: without huge pages everything works, slower.
  static_cast<void>(madvise(memory + before, bytes, MADV_HUGEPAGE));
  return memory + before;
}

}  // namespace

void* take_query_block(size_t* bytes) {
  if (*bytes > size_t{1} << 62) throw std::bad_alloc();
  *bytes = query_block_bytes(*bytes);
  KeptBlocks& kept = kept_blocks();
  {
    const std::lock_guard lock(kept.mutex);
    kept.used_bytes += *bytes;
    auto& blocks = kept.by_class[static_cast<size_t>(std::countr_zero(*bytes))];
    if (!blocks.empty()) {
      void* const block = blocks.back();
      blocks.pop_back();
      kept.bytes -= *bytes;
      return block;
    }
  }
  try {
    return map_block(*bytes);
  } catch (...) {
    const std::lock_guard lock(kept.mutex);
    kept.used_bytes -= *bytes;
    throw;
  }
}

void return_query_block(void* block, size_t bytes) {
  DIPTYCH_CHECK(std::has_single_bit(bytes) && bytes >= kQueryBlockBytesMin,
                "a block is returned with the size that it had");
  KeptBlocks& kept = kept_blocks();
  {
    const std::lock_guard lock(kept.mutex);
    kept.used_bytes -= bytes;
    if (kept.bytes + bytes <= kQueryBytesKeptMax) {
      kept.by_class[static_cast<size_t>(std::countr_zero(bytes))].push_back(block);
      kept.bytes += bytes;
      return;
    }
  }
  unmap(block, bytes);
}

QueryMemoryFigures query_memory_figures() {
  KeptBlocks& kept = kept_blocks();
  const std::lock_guard lock(kept.mutex);
  return {kept.used_bytes, kept.bytes};
}

}  // namespace diptych::olap
