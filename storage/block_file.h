// BlockFile: DIRECTORY/blocks.dtb, the chunks of the columnar replica on disk.
//
//   page 0     0 magic "DTBLOCKS" | 8 version u32 | 12 page bytes u32 | 16 extent pages u32 |
//              zeroes | 4088 XXH3-64 of the bytes before; numbers are little-endian
//   page 1 ..  chunks, each of whole pages (chunk_address.h). What lies where, a manifest says.
//
// A save: write() what changed and release() what it replaces; sync(); begin_commit(); switch the
// manifest to the new addresses, durably; commit(). Until then, and after a failure at any step,
// the pages that the last state names stay as they are (space_map.h has the rule).
//
// Writes go through the page cache, so that they return at once and sync() writes in long runs.
// Reads are direct, past the page cache, which would keep everything twice; where the file system
// does not allow that they are buffered, which is said once on standard error.
// Space comes by fallocate(), so that a full disk is met when the file grows, and not by a write
// or a sync later; where a file system cannot do that, the file grows with holes.
//
// Errors     kNotFound, kUnsupported, kCorrupt, kIo, kNoSpace; each names the path, and damage the
//            byte. A call that fails changes nothing that others see.
// Threads    any number, on different chunks: a chunk that is read is not released meanwhile. No
//            lock is held over the writing, reading or syncing of chunks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "storage/chunk_address.h"
#include "storage/chunk_memory.h"
#include "storage/file_step.h"
#include "storage/space_map.h"

namespace diptych::storage {

enum class ReadCache : uint8_t {
  kBypass,  // direct reads, where the file system allows them
  kUse,     // reads through the page cache
};

class BlockFile {
 public:
  // A new file, durable when this returns; one that is there, which no manifest may name, is
  // emptied. The directory exists.
  static base::Result<std::unique_ptr<BlockFile>> create(const std::string& directory,
                                                         BeforeFileStep before_step = {},
                                                         ReadCache read_cache = ReadCache::kBypass);
  // Nothing in it is used before it is adopted. kCorrupt, too, where it is missing, since a
  // manifest names what it has.
  static base::Result<std::unique_ptr<BlockFile>> open(const std::string& directory,
                                                       BeforeFileStep before_step = {},
                                                       ReadCache read_cache = ReadCache::kBypass);
  // Likewise, for who only reads: it may lie on a read-only file system. What would write is kIo.
  static base::Result<std::unique_ptr<BlockFile>> open_to_read(const std::string& directory);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  // At least 1 byte. kNoSpace, kIo: no space is lost.
  [[nodiscard]] base::Result<ChunkAddress> write(std::span<const std::byte> chunk);
  // Into the arena where it has room, else onto the heap. kCorrupt: a wrong checksum, or the file
  // ends before the chunk does.
  [[nodiscard]] base::Result<ChunkMemory> read(const ChunkAddress& address,
                                               ChunkArena* arena = nullptr) const;
  void release(const ChunkAddress& address);
  // For what a manifest names. kCorrupt: not in the file, or it overlaps what was adopted before.
  [[nodiscard]] base::Result<void> adopt(const ChunkAddress& address);

  // All chunks whose write() has returned are durable. An error is one for good: later calls of
  // this and of commit() fail too, since the kernel may have dropped what it could not write.
  [[nodiscard]] base::Result<void> sync();
  // What is in use now is what the state to be made durable names.
  void begin_commit();
  // That state is durable: what only older ones named is free. Begins, too, if that was not done.
  // An error of giving space back to the file system leaves it in the file, free.
  [[nodiscard]] base::Result<void> commit();

  // A save begins that moves what lies at the end of a file longer than it should be
  // (SpaceMap::moves_from); nothing while a Hold lives, since the old places would stay, too.
  void begin_moves();
  bool should_move(const ChunkAddress& chunk) const;
  // Writes the chunk, which has these bytes, to a lower place, where there is one: where it lies
  // then. Its old place is the caller's to release. kIo: nothing happens.
  [[nodiscard]] base::Result<ChunkAddress> move(const ChunkAddress& chunk,
                                                std::span<const std::byte> bytes);

  // While it lives, what a manifest that was there names stays as it is: no commit() frees pages,
  // and the file grows instead. They are freed by the first one after it.
  class Hold {
   public:
    explicit Hold(BlockFile* file);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    BlockFile* const file_;
  };

  uint64_t bytes() const;       // of the file
  uint64_t free_bytes() const;  // of these, free to be written
  uint64_t held_bytes() const;  // of these, released, but durable until the next commit
  const std::string& path() const { return path_; }

  // For ChunkReader.
  int read_descriptor() const { return read_file_; }
  bool reads_directly() const { return direct_; }  // for tests
  // Reads on behind the first `bytes_read` bytes, until all of the chunk is there; blocking.
  [[nodiscard]] base::Result<void> read_rest(const ChunkAddress& address, size_t bytes_read,
                                             std::span<std::byte> pages) const;
  [[nodiscard]] base::Result<void> verify(const ChunkAddress& address,
                                          std::span<const std::byte> chunk) const;

 private:
  BlockFile(std::string path, BeforeFileStep before_step);

  base::Result<void> create_empty(const std::string& directory);
  base::Result<void> open_existing(int access);  // O_RDWR, O_RDONLY
  base::Result<void> read_header();
  base::Result<void> open_for_reading(ReadCache read_cache);
  base::Result<uint32_t> allocate(uint32_t pages);
  base::Result<void> grow(uint32_t extents);  // mutex_ is held
  base::Result<void> write_at(uint64_t offset, std::span<const std::byte> chunk);

  const std::string path_;
  const BeforeFileStep before_step_;
  int file_ = -1;       // for writes, and for reads through the page cache
  int read_file_ = -1;  // file_, or a descriptor of its own for direct reads
  bool direct_ = false;

  mutable std::mutex mutex_;
  SpaceMap space_;      // guarded by mutex_, as all below
  uint32_t holds_ = 0;  // that live
  uint32_t moves_from_ = UINT32_MAX;
  uint64_t file_bytes_ = 0;  // at least what space_ has; more if giving space back failed

  std::mutex sync_mutex_;                   // taken before mutex_
  std::optional<base::Error> sync_failed_;  // guarded by sync_mutex_
};

}  // namespace diptych::storage
