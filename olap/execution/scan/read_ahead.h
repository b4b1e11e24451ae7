// ReadAhead: asks for the columns of the next leaves of a pass before its workers come to them, so
// that the disk is never idle while a replica that is larger than its memory is scanned.
//
// Each scan has its own columns, of the leaves that it wants. Predicates' columns are read ahead
// from the start, output columns from the first row on that the predicates let through: a scan that
// selects nothing reads nothing for its output. As many chunks are under way as the buffer manager
// takes; it says when there is no room.
//
// Threads    reach() by the workers of one pass; one of them asks at a time, the others go on.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "olap/execution/scan/scan.h"
#include "olap/plan.h"

namespace diptych::olap {

class ReadAhead {
 public:
  // All outlive this. Does nothing where all chunks are in memory for good.
  ReadAhead(const std::vector<ScanMorsel>& morsels, bool replica_leaves_memory)
      : morsels_(morsels), is_needed_(replica_leaves_memory) {}
  // Scan s is the s-th that is added, before the pass.
  void add(const Operator& scan, const std::vector<bool>& needed);

  // A worker begins with this morsel.
  void reach(uint64_t morsel);
  // A row has passed all predicates of the scan.
  void note_output(size_t scan) {
    const uint64_t bit = uint64_t{1} << scan;
    // relaxed: a hint, and looked at first so that the workers share the line.
    if ((has_output_.load(std::memory_order_relaxed) & bit) != 0) return;
    // relaxed: as above.
    has_output_.fetch_or(bit, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kMorselsAhead = 256;

  struct Columns {
    std::vector<base::ColumnId> predicate;
    std::vector<base::ColumnId> output;  // that no predicate reads
  };
  bool ask(const ScanMorsel& morsel);  // false: no room for more

  const std::vector<ScanMorsel>& morsels_;
  const bool is_needed_;
  std::vector<Columns> scans_;
  std::atomic<uint64_t> has_output_{0};  // bit s: scan s; writers: the workers
  std::mutex mutex_;
  // Guarded by mutex_. The first morsel that was not asked for (the one that is reached, too: where
  // there was no room for it, it comes before all that follows), and the leaf before it.
  size_t next_ = 0;
  const storage::Leaf* asked_ = nullptr;
};

}  // namespace diptych::olap
