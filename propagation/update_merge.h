// UpdateMerge: step 1 of applying: the records of one table in VID order, some at a time.
//
// The sets of one worker are a run that is sorted by VID; the runs are merged. All records of one
// transaction are of one worker and move together, so the merge compares (workers) heads a
// transaction, not a record; with one worker nothing.
//
// Threads    one.
// Memory     refers to the sets, which stay as they are meanwhile.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "propagation/export/update_queue.h"

namespace diptych::propagation {

class UpdateMerge {
 public:
  UpdateMerge(const CollectedSets& collected, base::TableId table);

  bool done() const { return runs_.empty(); }
  // No more records than this are to come: of many rows one counts as many.
  size_t left_at_most() const { return left_; }
  // The next records, as many as there is room for, or all that are left: how many.
  size_t next(std::span<const UpdateRecord*> room);

 private:
  // Walks the records of one worker, set by set.
  class Run {
   public:
    explicit Run(base::WorkerId worker) : worker_(worker) {}

    base::WorkerId worker() const { return worker_; }
    void add(const UpdateSet* set) { sets_.push_back(set); }
    void start() { find_chunk(); }

    const UpdateRecord* head() const { return head_; }  // nullptr: at the end
    // Writes those of VIDs up to `last`, the head in any case, as far as there is room: how many.
    size_t take(base::Vid last, std::span<const UpdateRecord*> room);

   private:
    void find_chunk();

    base::WorkerId worker_;
    std::vector<const UpdateSet*> sets_;
    size_t set_ = 0;
    size_t chunk_ = 0;
    const UpdateRecord* head_ = nullptr;
    const std::byte* chunk_end_ = nullptr;
  };

  base::Vid snapshot_;
  size_t left_ = 0;
  std::vector<Run> runs_;  // that have a head
};

}  // namespace diptych::propagation
