// ChunkMemory, ChunkArena: the memory of chunks, and the piece of it that the disk reads into.
//
// ChunkMemory   owns one chunk's bytes, from one of three places: what encode() or thaw() made,
//               an arena, or pages of the heap (chunk_heap.h). The latter two begin at a page and
//               have whole pages, so that direct I/O can read into them.
// ChunkArena    one region of huge pages on its node, carved in pages of 4 KiB, the lowest run that
//               fits first; io_uring registers it whole, which pins its memory. It outlives what
//               was taken from it. An arena of 0 bytes is valid and always full.
//
// Threads       ChunkMemory: one owner. ChunkArena: any number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "base/arena.h"
#include "base/ids.h"
#include "storage/encoding/chunk_bytes.h"
#include "storage/encoding/chunk_header.h"
#include "storage/free_pages.h"

namespace diptych::storage {

class ChunkArena;

class ChunkMemory {
 public:
  ChunkMemory() = default;  // empty
  explicit ChunkMemory(encoding::ChunkBytes bytes);
  // Pages of the heap, not zeroed. At least 1 byte, and at most what a chunk can have.
  static ChunkMemory on_heap(uint32_t chunk_bytes);
  ChunkMemory(ChunkMemory&& other) noexcept;
  ChunkMemory& operator=(ChunkMemory&& other) noexcept;
  ~ChunkMemory();

  bool empty() const { return bytes_ == 0; }
  std::span<std::byte> bytes() { return {data_, bytes_}; }
  std::span<const std::byte> bytes() const { return {data_, bytes_}; }
  // The whole pages that begin with the bytes; none where the bytes are of encode() or thaw().
  std::span<std::byte> pages();
  // What it takes, padding included.
  size_t memory_bytes() const;
  bool in_arena() const { return arena_ != nullptr; }

 private:
  friend class ChunkArena;
  ChunkMemory(std::byte* pages, uint32_t bytes, ChunkArena* arena)
      : data_(pages), bytes_(bytes), arena_(arena) {}

  void free();  // leaves it empty

  encoding::ChunkBytes made_;  // of encode() or thaw(); else it has no bytes
  std::byte* data_ = nullptr;
  uint32_t bytes_ = 0;
  ChunkArena* arena_ = nullptr;
};

class ChunkArena {
 public:
  // `bytes` is rounded up to whole pages.
  ChunkArena(size_t bytes, base::NumaNode node);
  ~ChunkArena();  // nothing of it may be in use
  ChunkArena(const ChunkArena&) = delete;
  ChunkArena& operator=(const ChunkArena&) = delete;

  // Not zeroed; at least 1 byte. Nothing: no run of pages is long enough.
  [[nodiscard]] std::optional<ChunkMemory> take(uint32_t chunk_bytes);

  // All of it, for registration.
  std::span<std::byte> memory() const { return {region_.data(), size_t{pages_} * kFilePageBytes}; }
  size_t free_bytes() const;

 private:
  friend class ChunkMemory;
  void give_back(std::byte* pages, uint32_t bytes);

  const uint32_t pages_;
  base::Region region_;
  mutable std::mutex mutex_;
  FreePages free_;  // guarded by mutex_
};

}  // namespace diptych::storage
