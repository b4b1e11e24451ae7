#include "storage/chunk_heap.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"
#include "storage/chunk_heap_figures.h"
#include "storage/free_pages.h"

namespace diptych::storage {
namespace {

constexpr size_t kReservedMax = size_t{8} << 40;  // pages have 32-bit numbers

size_t reserved_bytes() {
  const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return base::round_up(std::min(4 * pages * page_bytes, kReservedMax), kExtentBytes);
}

class ChunkHeap {
 public:
  ChunkHeap() : reserved_(reserved_bytes()) {
    // Addresses only: an extent becomes memory with its first use. Less where they are limited.
    void* mapped = reserve(reserved_);
    if (mapped == MAP_FAILED) {
      while (mapped == MAP_FAILED && reserved_ > kExtentBytes) {
        reserved_ = base::round_up(reserved_ / 2, kExtentBytes);
        mapped = reserve(reserved_);
      }
      // A quarter of what fits: all else that is kept wants addresses, too.
      if (mapped != MAP_FAILED) munmap(mapped, reserved_ + base::kHugePageBytes);
      reserved_ = base::round_up(reserved_ / 4, kExtentBytes);
      mapped = reserve(reserved_);
    }
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* const start = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<uintptr_t>(mapped);
    data_ = start + (base::round_up(address, base::kHugePageBytes) - address);
    base::prefer_huge_pages(data_, reserved_);
  }

  std::byte* take(uint32_t pages) {
    const std::lock_guard lock(mutex_);
    std::optional<uint32_t> first = free_.take_first(pages);
    while (!first) {
      grow();
      first = free_.take_first(pages);
    }
    used_ += pages;
    for_extents(*first, pages, [this](uint32_t extent) { become(extent, Use::kUsed); });
    return data_ + size_t{*first} * kFilePageBytes;
  }

  void give_back(std::byte* memory, uint32_t pages) {
    const auto first = static_cast<uint32_t>(static_cast<size_t>(memory - data_) / kFilePageBytes);
    const std::lock_guard lock(mutex_);
    free_.add(first, pages);
    used_ -= pages;
    for_extents(first, pages, [this](uint32_t extent) {
      if (!free_.extent_is_free(extent)) return;
      if (count(Use::kIdle) * kExtentBytes < kChunkHeapKeptMax) {
        become(extent, Use::kIdle);
      } else {
        base::release_memory(data_ + extent * kExtentBytes, kExtentBytes);
        become(extent, Use::kNone);
      }
    });
  }

  ChunkHeapFigures figures() const {
    const std::lock_guard lock(mutex_);
    const size_t used = used_ * kFilePageBytes;
    return {used, (count(Use::kUsed) + count(Use::kIdle)) * kExtentBytes - used};
  }

 private:
  // Of an extent: it has no memory; has chunks; has none, and its memory is kept.
  enum class Use : uint8_t { kNone, kUsed, kIdle };

  static void* reserve(size_t bytes) {
    return mmap(nullptr, bytes + base::kHugePageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0);
  }

  template <class F>
  static void for_extents(uint32_t first, uint32_t pages, F&& f) {
    for (uint32_t e = first / kExtentPages; e <= (first + pages - 1) / kExtentPages; ++e) f(e);
  }

  void grow() {
    const size_t bytes = free_.extents() * kExtentBytes;
    if (bytes == reserved_ || mprotect(data_ + bytes, kExtentBytes, PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
    uses_.push_back(Use::kNone);
    ++count(Use::kNone);
    free_.add_extent();
  }

  size_t& count(Use use) { return counts_[static_cast<size_t>(use)]; }
  size_t count(Use use) const { return counts_[static_cast<size_t>(use)]; }
  void become(uint32_t extent, Use use) {
    --count(uses_[extent]);
    ++count(use);
    uses_[extent] = use;
  }

  size_t reserved_;
  std::byte* data_;
  mutable std::mutex mutex_;
  FreePages free_;                     // guarded by mutex_, as all below
  size_t used_ = 0;                    // pages
  std::vector<Use> uses_;              // by extent
  std::array<size_t, 3> counts_ = {};  // of extents, by Use
};

ChunkHeap& chunk_heap() {
  static ChunkHeap* const heap = new ChunkHeap;  // outlives every thread
  return *heap;
}

constexpr std::align_val_t kPageAlignment{kFilePageBytes};

}  // namespace

void* take_chunk_pages(size_t bytes) {
  DIPTYCH_CHECK(bytes != 0, "a chunk has bytes");
  if (base::kAddressSanitizer) {
    return ::operator new(base::round_up(bytes, kFilePageBytes), kPageAlignment);
  }
  static const size_t bytes_max = reserved_bytes();  // which asks the system
  if (bytes > bytes_max) throw std::bad_alloc();
  return chunk_heap().take(file_pages(bytes));
}

void return_chunk_pages(void* pages, size_t bytes) {
  if (base::kAddressSanitizer) return ::operator delete(pages, kPageAlignment);
  chunk_heap().give_back(static_cast<std::byte*>(pages), file_pages(bytes));
}

ChunkHeapFigures chunk_heap_figures() {
  return base::kAddressSanitizer ? ChunkHeapFigures() : chunk_heap().figures();
}

}  // namespace diptych::storage
