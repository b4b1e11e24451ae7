// ReadAhead: requests the columns of the next leaves of a pass before its workers reach them, so
// that the disk is never idle while a replica larger than its memory is scanned.
//
// Each scan requests its own columns, for the leaves that it scans. Columns of predicates are read
// ahead from the start, output columns only once a row has passed the predicates, so a scan that
// selects nothing reads nothing for its output. Requests stop when the buffer manager has no room.
//
// Threads    reach() by the workers of one pass; one of them makes requests at a time, the others
//            go on.

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
  // The arguments outlive this object. It does nothing if all chunks are in memory permanently.
  ReadAhead(const std::vector<ScanMorsel>& morsels, bool replica_leaves_memory)
      : morsels_(morsels), is_needed_(replica_leaves_memory) {}
  // Adds a scan before the pass; the s-th one added is scan s.
  void add(const Operator& scan, const std::vector<bool>& needed);

  // Called when a worker begins with this morsel.
  void reach(uint64_t morsel);
  // Called when a row has passed all predicates of the scan.
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
    std::vector<base::ColumnId> output;  // columns that no predicate reads
  };
  bool ask(const ScanMorsel& morsel);  // false: no room for more

  const std::vector<ScanMorsel>& morsels_;
  const bool is_needed_;
  std::vector<Columns> scans_;
  std::atomic<uint64_t> has_output_{0};  // bit s: scan s; writers: the workers
  std::mutex mutex_;
  // Guarded by mutex_: the first morsel that was not requested, and the leaf before it. The reached
  // morsel may be it: if there was no room for its chunks, they are requested before all others.
  size_t next_ = 0;
  const storage::Leaf* asked_ = nullptr;
};

}  // namespace diptych::olap
