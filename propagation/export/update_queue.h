// UpdateQueue: hands sealed update sets from the OLTP side to the replica's applier.
//
// At each batch boundary the OLTP leader pushes the sets that its workers filled, with the VID up
// to which they are complete: the snapshot VID. Every transaction up to it is in what was pushed so
// far.
//
// Small sets that wait are joined to the one before them of the same worker and table: while a long
// query runs, short batches would otherwise leave thousands of sets with a page of memory each.
//
// Threads    one pusher (the OLTP leader), one collector (the OLAP dispatcher). Short critical
//            sections under one mutex: a push or collect moves a few pointers, and a push copies
//            small sets.
// Memory     the queue never drops updates. The bytes that wait are bounded by the OLTP dispatcher,
//            which starts no batch while pending_bytes() exceeds its limit (back-pressure). Bytes
//            are of whole pages, as a small set takes one. Up to kEmptySetsMax empty sets are kept
//            for reuse, with a chunk each; other chunks go to the next sets (update_chunks.h).
//
// Where we differ from BatchDB (section 8.3: pushed every 200 ms or when asked): a push is so cheap
// on one machine that every batch boundary pushes; a batch ends early at the push limit, so that no
// update is older than it when it is pushed.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "base/parker.h"
#include "propagation/export/update_set.h"

namespace diptych::propagation {

struct SealedSet {
  base::WorkerId worker;
  base::TableId table;
  std::unique_ptr<UpdateSet> updates;
};

// What waited in the queue: whole batches, in the order of their VIDs.
struct CollectedSets {
  std::vector<SealedSet> sets;  // of one worker and table: in VID order
  base::Vid snapshot;           // the sets are complete up to here
};

class UpdateQueue {
 public:
  static constexpr size_t kEmptySetsMax = 256;

  // `node`: where the workers run, who fill the memory.
  explicit UpdateQueue(base::NumaNode node = base::NumaNode(0)) : chunks_(node) {
    empty_sets_.reserve(kEmptySetsMax);
  }

  // The leader, at a batch boundary. Empty sets must not be pushed; `sets` may be empty.
  void push(std::vector<SealedSet> sets, base::Vid snapshot);

  // The collector: takes everything that waits.
  CollectedSets collect();

  // The collector gives applied sets back; the leader takes empty ones for its workers.
  void recycle(std::vector<SealedSet> sets);  // does not throw
  std::unique_ptr<UpdateSet> take_empty();

  size_t pending_bytes() const;  // of records, of sets pushed and not yet recycled
  size_t empty_bytes() const;    // of memory that is kept for reuse

  // Rings on push and on recycle: who waits for updates or for room waits here.
  base::Parker& parker() { return parker_; }

 private:
  // Appends the set to one that waits, where both are small; mutex_ is held.
  bool join(const SealedSet& set);

  UpdateChunks chunks_;  // the last to go
  mutable std::mutex mutex_;
  std::vector<SealedSet> waiting_;                      // guarded by mutex_
  std::vector<std::unique_ptr<UpdateSet>> empty_sets_;  // guarded by mutex_
  base::Vid snapshot_;                                  // guarded by mutex_
  std::atomic<size_t> pending_bytes_{0};                // writers: push and recycle
  base::Parker parker_;
};

}  // namespace diptych::propagation
