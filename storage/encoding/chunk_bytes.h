// ChunkBytes: the memory of a chunk: whole cache lines; for large chunks, pages of the chunk heap,
// which lie in huge pages, so that their first touch and random access cost less.

#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "base/alignment.h"
#include "storage/chunk_heap.h"

namespace diptych::storage::encoding {

template <class Value>
struct CacheLineAllocator {
  using value_type = Value;
  static constexpr std::align_val_t kAlignment{base::kLineBytes};
  static constexpr size_t kHeapBytesMin = 16 * 1024;

  CacheLineAllocator() = default;
  template <class Other>
  CacheLineAllocator(const CacheLineAllocator<Other>&) {}  // NOLINT: by design
  Value* allocate(size_t count) {
    const size_t bytes = count * sizeof(Value);
    return static_cast<Value*>(bytes < kHeapBytesMin ? ::operator new(bytes, kAlignment)
                                                     : take_chunk_pages(bytes));
  }
  void deallocate(Value* memory, size_t count) {
    const size_t bytes = count * sizeof(Value);
    if (bytes < kHeapBytesMin) return ::operator delete(memory, kAlignment);
    return_chunk_pages(memory, bytes);
  }
  bool operator==(const CacheLineAllocator&) const { return true; }
};
using ChunkBytes = std::vector<std::byte, CacheLineAllocator<std::byte>>;

}  // namespace diptych::storage::encoding
