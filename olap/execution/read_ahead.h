// ReadAhead: asks for the columns of a scan's next leaves before its workers come to them, so that
// the disk is never idle while a replica that is larger than its memory is scanned.
//
// Predicates' columns are read ahead from the start, output columns from the first row on that the
// predicates let through: a scan that selects nothing reads nothing for its output. As many chunks
// are under way as the buffer manager takes; it says when there is no room.
//
// Threads    reach() by the workers of one scan; one of them asks at a time, the others go on.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "olap/execution/scan.h"
#include "olap/plan.h"

namespace diptych::olap {

class ReadAhead {
 public:
  // All outlive this. Does nothing where all chunks are in memory for good.
  ReadAhead(const Operator& scan, const std::vector<bool>& needed,
            const std::vector<ScanMorsel>& morsels, bool replica_leaves_memory);

  // A worker begins with this morsel.
  void reach(uint64_t morsel);
  // A row has passed all predicates.
  void note_output() {
    // relaxed: a hint, and looked at first so that the workers share the line.
    if (has_output_.load(std::memory_order_relaxed)) return;
    // relaxed: as above.
    has_output_.store(true, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kMorselsAhead = 256;

  bool ask(const storage::Leaf& leaf);  // false: no room for more

  const std::vector<ScanMorsel>& morsels_;
  const bool is_needed_;
  std::vector<base::ColumnId> predicate_columns_;
  std::vector<base::ColumnId> output_columns_;  // that no predicate reads
  std::atomic<bool> has_output_;                // writers: the workers
  std::mutex mutex_;
  size_t next_ = 0;  // the first morsel that was not asked for; guarded by mutex_
};

}  // namespace diptych::olap
