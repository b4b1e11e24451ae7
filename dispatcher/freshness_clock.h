// FreshnessClock: how old the replica's snapshot is, from what both dispatchers tell it.
//
// The age is measured from the beginning of the first OLTP batch that may hold a commit which the
// snapshot lacks, so it bounds from above the age of every commit that the snapshot lacks, the
// oldest included. It is 0 where all commits are in the snapshot and no batch runs; a running
// batch counts as unseen from its beginning, though it may turn out to commit nothing.
//
// Threads    batch_begins, batch_ends: the OLTP leader. collect: who applies updates. age: any.
// Cost       a mutex that is held for a few instructions, twice an OLTP batch.

#pragma once

#include <cstdint>
#include <mutex>

#include "base/ids.h"
#include "propagation/export/update_queue.h"

namespace diptych::dispatcher {

class FreshnessClock {
 public:
  void batch_begins(uint64_t now_ns);
  // `last`: the engine's last VID; all up to it has been pushed (invariant E1 of the engine).
  void batch_ends(base::Vid last);

  // Collects the updates that wait, and takes their snapshot as what queries see from now on.
  propagation::CollectedSets collect(propagation::UpdateQueue* queue);

  uint64_t age_ns(uint64_t now_ns) const;
  base::Vid last() const;  // as of the last batch_ends

 private:
  mutable std::mutex mutex_;
  base::Vid last_;                 // guarded by mutex_
  base::Vid seen_;                 // guarded by mutex_: the newest snapshot that was collected
  uint64_t running_since_ns_ = 0;  // guarded by mutex_: 0: no OLTP batch runs
  uint64_t unseen_since_ns_ = 0;   // guarded by mutex_: 0: every commit is in seen_
};

}  // namespace diptych::dispatcher
