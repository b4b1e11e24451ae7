// ChunkReader: reads chunks of a block file asynchronously, many at a time, through io_uring.
//
//   start()                             reap()                  wait()
//   ───────► queued ──► in flight ─────────────────► arrived ─────────────► verifying ──► done
//                 submit(), `depth` at most                                        its Result
//
// At most `depth` reads are in flight; others queue and follow as those arrive. Whoever waits reaps
// the completions of all and submits what queues; one thread at a time is that one, the
// others sleep until their own read has arrived or the role is free. What remains, a checksum and
// the rest of a read that was cut short or refused, is done by who waits, outside of all locks.
//
// Memory     of the arena where it has room, else of the heap, unless the read brings its own. The
//            arena is registered with the ring, which saves pinning its pages anew for each read.
// Fallback   no registration (memlock limit): plain reads through the ring. No io_uring (old
//            kernel, seccomp): blocking reads in wait(). Each is said once on standard error.
// Errors     of wait(): kIo; kCorrupt for a wrong checksum or a file that ends before the chunk.
//            Both name path and byte.
//
// Threads    any number; any number may wait for one read. A ChunkRead stays where it is from
//            start() until all wait() for it have returned. The chunk is not released meanwhile.
//            The file and the arena outlive the reader. Only start() and wait() reap and submit:
//            done() alone gets no queued read on its way.
//
// Invariants
//   R1  in_flight_ <= depth; a read queues only while others are in flight.
//   R2  Only the reaper, whom reaping_ announces, reads the completion queue.
//   R3  A read that has arrived is in neither queue nor ring: its memory is its owner's again.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "storage/block_file.h"
#include "storage/chunk_address.h"
#include "storage/chunk_memory.h"

namespace diptych::storage {

struct ChunkRead {
  ChunkAddress address;
  // Empty: start() takes some. Whole pages for the chunk's bytes: it is read into.
  ChunkMemory memory;

 private:
  friend class ChunkReader;
  enum class State : uint32_t { kIdle, kStarted, kArrived, kVerifying, kDone };

  std::atomic<State> state_{State::kIdle};  // writers: start(), the reaper, then who verifies
  ChunkRead* next_ = nullptr;               // in a list
  size_t bytes_read_ = 0;                   // by the ring
  base::Result<void> result_;
};

// Ways to read, the best first.
enum class ReadWay : uint8_t {
  kRegisteredRing,  // through the ring, into registered memory where the chunk's is
  kRing,
  kBlocking,  // in wait()
};

class ChunkReader {
 public:
  // `best`: nothing better is tried. Depth: 1 to 1024.
  ChunkReader(const BlockFile* file, ChunkArena* arena, uint32_t depth,
              ReadWay best = ReadWay::kRegisteredRing);
  // Waits for what is in flight. Afterwards no read's memory is written any more; a read that was
  // not waited for has no result.
  ~ChunkReader();
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // Returns at once. The address is set; the read is new, or was waited for.
  void start(ChunkRead* read);
  // Whether wait() will not wait for the disk.
  [[nodiscard]] bool done(const ChunkRead& read) const;
  // Until the read is done; the memory then has the chunk, unless the result is an error.
  [[nodiscard]] base::Result<void> wait(ChunkRead* read);

  ReadWay way() const { return way_; }

 private:
  struct Ring;
  enum class IfNone : uint8_t { kWait, kReturn };
  // First in, first out. A read is in one at most, so that nothing needs memory on its way.
  class List {
   public:
    bool empty() const { return first_ == nullptr; }
    void push_back(ChunkRead* read);
    ChunkRead* pop_front();  // it is not empty
    // Appends the other, which is empty then.
    void absorb(List* other);

   private:
    ChunkRead* first_ = nullptr;
    ChunkRead* last_ = nullptr;
  };

  void open_ring();
  void register_memory();
  // Gets queued reads on their way, as many as R1 allows; submission_mutex_ is held. What the
  // system does not take now is appended to `arrived`, for its waiter to read.
  void submit_queued(List* arrived);
  void prepare(ChunkRead* read);
  // By the reaper. Marks what has arrived, and has the next ones submitted.
  void reap(IfNone if_none);
  void reap_if_nobody_does();
  void mark_arrived(List reads);
  void wait_for_arrival(const ChunkRead& read);
  base::Result<void> finish(ChunkRead* read) const;

  const BlockFile* const file_;
  ChunkArena* const arena_;
  const uint32_t depth_;
  ReadWay way_;

  std::mutex submission_mutex_;  // of the ring's submission queue and of the next three
  std::unique_ptr<Ring> ring_;
  List queue_;
  uint32_t in_flight_ = 0;

  std::mutex reaping_mutex_;  // never taken together with submission_mutex_
  std::condition_variable arrival_or_role_;
  bool reaping_ = false;  // guarded by reaping_mutex_
};

}  // namespace diptych::storage
