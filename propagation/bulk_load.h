// BulkLoad: brings the rows of one load into the columnar replica while the OLTP side takes the
// next ones.
//
//   loading thread      rows ──► chunk ──full──► waiting chunks (bounded) ─┐
//   replica's thread    ┌──────────────────────────────────────────────────┘
//                       └─► route by partition_of ─► a block's rows together: append_block
//                                                    what is left at the end: hot pages
//
// Rows are not copied on the way: chunks have pointers to the rows in the OLTP tables, and a block
// is encoded from there. Partitions are worked on side by side through `for_each`, once one of them
// has more than a block's rows: then nearly all have, as rows are spread evenly.
//
//   idle ──the first full chunk──► running (the replica's thread lives) ──┬─ finish  ─► ended
//    └──────────────────────── a small load never leaves the caller's ────┴─ discard ─► ended
//
// Use        The replica has applied every update that was committed before the load: a row may get
//            the RowID of one whose delete would else still be on its way. Nobody reads or writes
//            it until finish or discard.
// Threads    take, finish, discard: one, who loads. for_each runs on the thread of the replica's
//            that this object has, or on the caller's while there is none.
// When full  take waits for the replica.
// Memory     at most a block's rows a partition that wait in chunks, as pointers (16 bytes
//            each), and about 1.25 blocks' rows a partition that are routed (24 bytes each);
//            however large the load is.
//
// Invariants
//   B1  A row is in a chunk, in a partition's `waiting`, or in the partition and its index; it goes
//       that way in the order of the load.
//   B2  After finish the partitions' full ranges are blocks, but for those with too much text for
//       one, which stay pages. After discard the replica has the rows that it had: those of the
//       load are erased, and ranges of them alone are dropped.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/alignment.h"
#include "base/for_each.h"
#include "base/ids.h"
#include "base/thread.h"
#include "propagation/applier.h"
#include "propagation/export/load_sink.h"
#include "storage/table.h"

namespace diptych::propagation {

class BulkLoad final : public LoadSink {
 public:
  static constexpr size_t kChunkRows = 8192;

  // `cores`: where the replica's thread is pinned. All pointers outlive the object.
  BulkLoad(storage::Replica* replica, Applier* applier, base::TableId table, base::ForEach for_each,
           std::vector<uint32_t> cores);
  ~BulkLoad() override;  // finish or discard was called, or take never

  void take(std::span<const LoadedRow> rows) override;
  void discard(const RowIdRuns& loaded) override;
  // The load has committed as `vid`, which the replica then shows, unless it failed.
  void finish(base::Vid vid);
  // For who has called finish or discard: the disk failed, a damaged chunk was met, or memory ran
  // out. The replica is then useless.
  const std::optional<base::Error>& failure() const { return failure_; }

 private:
  using Chunk = std::vector<LoadedRow>;

  // A cache line of its own, as partitions run side by side.
  struct alignas(base::kLineBytes) PartitionLoad {
    PartitionApplier* applier;
    std::vector<storage::NewRow> waiting;  // B1
  };
  enum class Rest : uint8_t { kWaits, kIsWritten };

  void hand_over();
  void run();  // the replica's thread
  enum class Waiting : uint8_t { kIsRouted, kIsDropped };
  void end_thread(Waiting waiting);
  void take_in(const Chunk& chunk);
  void route(const Chunk& chunk);
  void write(Rest rest);
  // Calls body(), unless it has failed before; a ChunkFailure is kept, and a bad_alloc.
  template <class Body>
  void guarded(const Body& body);

  storage::Replica* const replica_;
  const base::TableId table_;
  const base::ForEach for_each_;
  const std::vector<uint32_t> cores_;
  const size_t block_rows_;
  const size_t chunks_max_;

  Chunk open_;  // the loading thread's: not full yet
  // The replica's thread's while there is one.
  std::vector<PartitionLoad> partitions_;
  std::optional<base::Error> failure_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;  // guarded by mutex_: waiting
  std::vector<Chunk> empty_;  // guarded by mutex_: for reuse
  bool ends_ = false;         // guarded by mutex_
  base::Thread thread_;
};

}  // namespace diptych::propagation
