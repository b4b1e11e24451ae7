// BufferManager: keeps the chunks of a replica within a budget of memory.
//
//            read_ahead or pin                 a second pin
//   evicted ──────────────────► loading ─► cool ◄────────────► hot
//      ▲                                     │     the hand
//      └────────── the hand, no pins ────────┘
//
// A hand goes round the chunks in memory (the clock, which is LeanStore's cooling stage without a
// queue): a hot one cools, a cool one that nobody has pinned since goes. What a scan loads is cool
// until it is pinned again, so one large scan does not drive out what others use; what was read
// ahead for it and not pinned yet goes last.
//
// Chunks are read into an arena of huge pages, three quarters of the budget, where room is made
// before they are read: chunks that nobody changed go, which costs no write. What encode() and
// thaw() make lies on the heap, and goes between batches, written first where it was changed:
// trim(). Where all of the arena is pinned, a load goes to the heap, in place of unchanged chunks
// there; where these are pinned, too, over the budget rather than fail. An arena of at most 256 MiB
// is registered with io_uring; a larger one takes memory only as it is used.
//
// Threads    pins, loads, saves of chunks, read_ahead and figures: any number. trim(): between
//            batches, one at a time; a snapshot may be read or saved beside it.
// Memory     the budget counts chunks and the whole arena; pages that take inserts and string heaps
//            are not in it.
// Locks      nobody waits for the disk with mutex_ held: loads and writes open it meanwhile.
//
// Invariants
//   M1  resident_ has each managed chunk that is in memory, once, at its resident_index_.
//   M2  bytes_ is what the chunks of resident_ and the loads take.
//   M3  loads_ has each chunk whose swip says "loading", once.
//   M4  The chunk that trim() writes lives, and stays in memory, until it is written: it was
//       changed, so nobody evicts it, and leave() waits.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/block_file.h"
#include "storage/buffer_figures.h"
#include "storage/buffered_chunk.h"
#include "storage/chunk_memory.h"
#include "storage/chunk_reader.h"

namespace diptych::storage {

struct BufferOptions {
  size_t bytes_max = 0;  // the budget; 0: none, chunks stay once they are loaded
  base::NumaNode node;
  uint32_t reads_max = 32;  // in flight
};

class BufferManager {
 public:
  BufferManager(std::unique_ptr<BlockFile> file, const BufferOptions& options);
  ~BufferManager();

  BlockFile& file() const { return *file_; }
  bool has_budget() const { return options_.bytes_max != 0; }

  // Brings memory within the budget, writing changed chunks to the file where that is needed.
  // kNoSpace, kIo, kOutOfMemory: as far as it got; nothing is lost, and chunks stay in memory, over
  // the budget, until another one gets further. Does not throw.
  base::Result<void> trim();

  // Lets go every chunk that nobody has pinned and that is as in the file: an empty cache, for who
  // measures what reading takes.
  void evict_all();

  BufferFigures figures() const;

 private:
  friend class BufferedChunk;
  struct ChunkLoad;
  using Lock = std::unique_lock<std::mutex>;

  // Of the budget. What lies in the arena is in it as a whole.
  static size_t cost(const ChunkMemory& memory);

  // What a BufferedChunk tells: it came into memory, it has other bytes, it is gone.
  void enter(const BufferedChunk* chunk);
  void note_replaced(const BufferedChunk* chunk, size_t before, size_t after);
  void leave(const BufferedChunk* chunk);
  // Of one that is not in memory: loads it, unless another thread does so already.
  base::Result<encoding::Chunk> load_and_pin(const BufferedChunk* chunk);
  bool read_ahead(const BufferedChunk* chunk);

  // All below with the mutex held; those that take a Lock may open it for a while.
  static bool is_evicted(const BufferedChunk* chunk);
  static ChunkLoad* load_of(const BufferedChunk* chunk);  // nullptr: it is not loading
  void start_load(const BufferedChunk* chunk, ChunkMemory memory);
  // Until the load is done, with its result; where another thread waits for it, until some load has
  // ended: the caller looks again.
  base::Result<void> finish(ChunkLoad* load, Lock* held);
  // Loads that nobody waited for become chunks in memory, cool. True: there were some.
  enum class Which : uint8_t { kAll, kOld };  // kOld: whoever asked for them has gone
  bool settle_finished_loads(Which which, Lock* held);
  enum class Excess : uint8_t { kRefused, kAllowed };    // over the budget
  std::optional<ChunkMemory> evict_for(uint32_t bytes);  // in the arena
  void evict_from_heap(uint32_t bytes);  // until the budget has room for so many more
  std::optional<ChunkMemory> find_room(uint32_t bytes, Excess excess, Lock* held);
  // One step: a chunk that was cool already; else nullptr.
  const BufferedChunk* turn_hand();
  bool evict(const BufferedChunk* chunk);
  base::Result<void> write(const BufferedChunk* chunk, Lock* held);  // M4
  void make_room_for_resident();
  void add_resident(const BufferedChunk* chunk);
  void remove_resident(const BufferedChunk* chunk, const ChunkMemory& memory);

  const BufferOptions options_;
  const std::unique_ptr<BlockFile> file_;
  ChunkArena arena_;
  ChunkReader reader_;

  std::mutex saving_;  // held over the write of a changed chunk, so that one does it

  mutable std::mutex mutex_;                    // guards all below
  std::condition_variable loaded_;              // some load ended
  const BufferedChunk* written_now_ = nullptr;  // by trim(): M4
  std::condition_variable written_;
  std::vector<const BufferedChunk*> resident_;
  size_t hand_ = 0;  // at an index of resident_
  std::vector<std::unique_ptr<ChunkLoad>> loads_;
  BufferFigures figures_;
  size_t bytes_;
};

}  // namespace diptych::storage
