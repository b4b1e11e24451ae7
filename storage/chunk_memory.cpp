#include "storage/chunk_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "storage/chunk_heap.h"

namespace diptych::storage {

ChunkMemory::ChunkMemory(encoding::ChunkBytes bytes)
    : made_(std::move(bytes)),
      data_(made_.empty() ? nullptr : made_.data()),
      bytes_(static_cast<uint32_t>(made_.size())) {
  DIPTYCH_CHECK(made_.size() <= std::numeric_limits<uint32_t>::max(), "a chunk has below 4 GiB");
}

ChunkMemory ChunkMemory::on_heap(uint32_t chunk_bytes) {
  DIPTYCH_CHECK(chunk_bytes != 0, "a chunk has bytes");
  return {static_cast<std::byte*>(take_chunk_pages(chunk_bytes)), chunk_bytes, nullptr};
}

ChunkMemory::ChunkMemory(ChunkMemory&& other) noexcept
    : made_(std::exchange(other.made_, {})),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      arena_(std::exchange(other.arena_, nullptr)) {}

ChunkMemory& ChunkMemory::operator=(ChunkMemory&& other) noexcept {
  if (this == &other) return *this;
  free();
  made_ = std::exchange(other.made_, {});
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  arena_ = std::exchange(other.arena_, nullptr);
  return *this;
}

ChunkMemory::~ChunkMemory() {
  free();
}

void ChunkMemory::free() {
  if (arena_ != nullptr) {
    arena_->give_back(data_, bytes_);
  } else if (made_.empty() && data_ != nullptr) {
    return_chunk_pages(data_, bytes_);
  }
  made_ = {};
  data_ = nullptr;
  bytes_ = 0;
  arena_ = nullptr;
}

std::span<std::byte> ChunkMemory::pages() {
  if (empty() || !made_.empty()) return {};
  return {data_, file_pages(bytes_) * kFilePageBytes};
}

size_t ChunkMemory::memory_bytes() const {
  if (empty()) return 0;
  return made_.empty() ? file_pages(bytes_) * kFilePageBytes : made_.capacity();
}

ChunkArena::ChunkArena(size_t bytes, base::NumaNode node)
    : pages_(file_pages(bytes)), region_(size_t{pages_} * kFilePageBytes, node) {
  while (free_.pages() < pages_) free_.add_extent();
  // What the last extent has more than the arena is never free.
  if (free_.pages() != pages_) free_.take(pages_, free_.pages() - pages_);
}

ChunkArena::~ChunkArena() {
  DIPTYCH_CHECK(free_.free() == pages_, "an arena outlives its chunks");
}

std::optional<ChunkMemory> ChunkArena::take(uint32_t chunk_bytes) {
  DIPTYCH_CHECK(chunk_bytes != 0, "a chunk has bytes");
  const std::lock_guard guard(mutex_);
  const std::optional<uint32_t> first = free_.take_first(file_pages(chunk_bytes));
  if (!first) return std::nullopt;
  return ChunkMemory(region_.data() + *first * kFilePageBytes, chunk_bytes, this);
}

size_t ChunkArena::free_bytes() const {
  const std::lock_guard guard(mutex_);
  return free_.free() * kFilePageBytes;
}

void ChunkArena::give_back(std::byte* pages, uint32_t bytes) {
  const auto first = static_cast<size_t>(pages - region_.data()) / kFilePageBytes;
  const std::lock_guard guard(mutex_);
  free_.add(static_cast<uint32_t>(first), file_pages(bytes));
}

}  // namespace diptych::storage
