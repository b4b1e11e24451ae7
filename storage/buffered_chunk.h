// BufferedChunk: a column's chunk that is in memory, or in the block file, or on its way.
//
// Its swip, one 64-bit word, says which (LeanStore, Colibri section 4):
//
//   63       48 47                                2 1   0
//   | pins     | address of the bytes             | hot     |  in memory
//   | pins     | address of the bytes             | cool    |  in memory; goes next
//   |          | page in the block file           | evicted |
//   |          | address of a ChunkLoad           | loading |
//
// A pin is one compare-and-swap and keeps the bytes where they are; it warms a cool chunk. Who
// evicts takes a cool chunk without pins, with one compare-and-swap; who loads holds the manager's
// mutex. A chunk that was written since it was last in the file has no place there: it is evicted
// between batches only, by who writes it out first.
//
// It is shared by blocks of the live replica and of snapshots, and written only while it is not.
//
// Threads    pin, unpin, read_ahead, header, memory_bytes, save: any number, together with
//            evictions and loads. What writes (patch, patch_numbers, replace, keep): the
//            partition's one writer, with no reader; all but keep where the chunk is its own alone.
// Errors     what the block file says of a read: kIo, kCorrupt with path and offset. Where a writer
//            meets one, it is thrown as ChunkFailure: an update has nobody to return it to.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "base/alignment.h"
#include "base/result.h"
#include "storage/chunk_address.h"
#include "storage/chunk_memory.h"
#include "storage/encoding/chunk.h"
#include "storage/encoding/chunk_bytes.h"
#include "storage/kept_bytes.h"
#include "storage/save_pace.h"
#include "storage/shared_ref.h"

namespace diptych::storage {

class BlockFile;
class BufferManager;

class ChunkFailure : public std::exception {
 public:
  explicit ChunkFailure(base::Error error) : error_(std::move(error)) {}
  const base::Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  base::Error error_;
};

template <class Value>
Value value_or_throw(base::Result<Value> result) {
  if (!result.ok()) throw ChunkFailure(result.error());
  return std::move(*result);
}

// A chunk in the block file. The header is a copy: what scans and people ask of a chunk, they get
// without reading it.
struct SavedChunk {
  ChunkAddress address;
  encoding::ChunkHeader header;
};

// Bytes that were read from where the chunk lies, their checksum already verified. kCorrupt: they
// are no chunk (Chunk::open), or not the one that was saved.
base::Result<void> check_chunk(const SavedChunk& saved, std::span<const std::byte> bytes,
                               const BlockFile& file);

// What a write touches comes first, in one cache line.
class alignas(base::kLineBytes) BufferedChunk : public Shared {
 public:
  BufferedChunk() = default;  // empty: to be filled once
  BufferedChunk(const BufferedChunk&) = delete;
  BufferedChunk& operator=(const BufferedChunk&) = delete;
  ~BufferedChunk();

  // `manager`: nullptr, or outlives this. Without one the chunk stays in memory.
  void fill(BufferManager* manager, ChunkMemory bytes);
  void fill(BufferManager* manager, const SavedChunk& saved);

  // Readers.
  // The bytes stay in memory, and where they are, until the unpin() that follows.
  base::Result<encoding::Chunk> pin() const;
  void unpin() const;
  // Starts to read an evicted chunk, if there is room. False: there is none.
  bool read_ahead() const;
  // Of the present bytes.
  encoding::ChunkHeader header() const;
  bool in_memory() const;
  // It may leave memory between two pins.
  bool evictable() const;

  // Writers. All may throw ChunkFailure.
  [[nodiscard]] encoding::Patch patch(uint32_t row, const encoding::Cell& cell) {
    if (!is_changed()) begin_change();
    return encoding::Chunk::patch(memory_.bytes(), row, cell);
  }
  // As Chunk's.
  template <class RowAt, class KeyAt>
  size_t patch_numbers(size_t count, const RowAt& row_at, const KeyAt& key_at) {
    if (!is_changed()) begin_change();
    return encoding::Chunk::patch_numbers(memory_.bytes(), count, row_at, key_at);
  }
  // Of one that is the writer's own: where others could evict it meanwhile, it is left alone.
  template <class RowAt>
  void prefetch(size_t count, const RowAt& row_at) const {
    if (is_changed() || (!evictable() && in_memory())) {
      encoding::Chunk::trusted(memory_.bytes()).prefetch(count, row_at);
    }
  }
  void replace(encoding::ChunkBytes bytes);
  // Only snapshots have it from now on, or soon: its memory counts as theirs.
  void keep(std::atomic<size_t>* total) { kept_.count(total, memory_bytes()); }

  // As it is in the block file, to which it is written if it was changed since, or if it should
  // move there; `pace` hears of that. kNoSpace, kIo, and the pace's.
  base::Result<SavedChunk> save(const SavePace& pace = {}) const;

  size_t memory_bytes() const;  // 0: it is not in memory

 private:
  friend class BufferManager;

  // acquire: pairs with the release in save_held; who finds it unchanged sees where it lies.
  bool is_changed() const { return is_changed_.load(std::memory_order_acquire); }
  // Of save. The caller holds the manager's saving_.
  base::Result<SavedChunk> save_held() const;
  base::Result<SavedChunk> move() const;  // of one that is not changed
  void begin_change();
  // Its place in the file, if it has one, is free again.
  void give_up_place();

  // The swip's parts.
  static constexpr uint64_t kHot = 0;
  static constexpr uint64_t kCool = 1;
  static constexpr uint64_t kEvicted = 2;
  static constexpr uint64_t kLoading = 3;
  static constexpr uint64_t kStateMask = 3;
  static constexpr uint64_t kPin = uint64_t{1} << 48;
  static constexpr uint64_t kPlaceMask = (kPin - 1) & ~kStateMask;

  static bool is_resident(uint64_t swip) { return (swip & kStateMask) < kEvicted; }
  enum class Heat : uint8_t { kKeep, kWarm };
  bool try_pin(Heat heat) const;  // false: it is not in memory

  // For the manager, which holds its mutex.
  void set_resident(ChunkMemory memory, uint64_t state) const;
  void set_evicted() const;
  bool is_cool() const;  // and not pinned
  void cool() const;     // unless it is pinned
  // Of a cool chunk that is not changed. False: somebody has pinned it.
  bool evict(ChunkMemory* memory) const;

  // Where its bytes are is no part of what a chunk is: hence mutable.
  mutable std::atomic<uint64_t> swip_{kEvicted};  // writers: who pins, the manager, the writer
  // Its bytes are in memory only. Writers: the partition's writer sets, who saves clears.
  mutable std::atomic<bool> is_changed_{false};
  mutable ChunkMemory memory_;              // if it is in memory
  mutable size_t resident_index_ = 0;       // the manager's, as the next
  mutable bool in_arena_ = false;           // where its bytes were when they came
  mutable ChunkAddress address_;            // unless it is changed
  mutable encoding::ChunkHeader header_{};  // unless it is changed
  BufferManager* manager_ = nullptr;
  KeptBytes kept_;
};

// A chunk's bytes, in memory and where they are while this lives.
class ChunkPin {
 public:
  // Throws ChunkFailure.
  explicit ChunkPin(const BufferedChunk& chunk)
      : chunk_(chunk), pinned_(value_or_throw(chunk.pin())) {}
  ChunkPin(const ChunkPin&) = delete;
  ChunkPin& operator=(const ChunkPin&) = delete;
  ~ChunkPin() { chunk_.unpin(); }

  const encoding::Chunk& operator*() const { return pinned_; }
  const encoding::Chunk* operator->() const { return &pinned_; }

 private:
  const BufferedChunk& chunk_;
  const encoding::Chunk pinned_;
};

}  // namespace diptych::storage
