// FirstRows: the first row of each partition of a window, in its order, and no other: what
// `row_number() = 1` leaves of it, as for the latest order of each customer. DISTINCT ON is planned
// so, too.
//
// Nothing is sorted. The partitions' keys are numbered as a GROUP BY's are, and a row is kept if it
// comes before the one that its partition has so far: by the first sort key's 8 bytes
// (sort_prefix.h), and where these tie by all that follows. Rows that were overtaken go when they
// are as many as those that count. Of rows that tie in all keys it is the one that came first.
//
// Threads    a FirstRows has one worker; once absorbed, any number of readers.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "olap/execution/group/direct_groups.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// The window below the filter of which it keeps no row but the first of each partition. nullptr: it
// keeps others, or the window says more of a row than its number.
const Operator* window_of_first_rows(const Operator& filter);

class FirstRows {
 public:
  FirstRows(const RunContext& context, const Operator& window, const NeededColumns& needed);

  void append(const Batch& batch);
  // Adds another worker's, whose rows come after this one's.
  void absorb(const FirstRows& other);

  uint64_t rows() const { return first_.size(); }  // one a partition
  size_t memory_bytes() const { return charge_.bytes(); }
  // Those of partitions [first, first + selection.count): the window's output.
  void read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;
  std::vector<VectorBuffer> make_buffers() const;

 private:
  // numbers_[k] = the partition of the k-th selected row.
  void find_partitions(const Batch& batch);
  void make_prefixes(const Batch& batch);
  // Whether the slot's row comes before the kept row, which may be one of the batch.
  bool is_before(const Batch& batch, uint32_t slot, uint32_t kept) const;
  void drop_overtaken();

  const StopSignal& stop_;
  const Operator& window_;
  const std::vector<bool>& needed_;
  const std::vector<uint32_t>& partition_;
  std::vector<SortKey> keys_;  // without columns that are equal in a partition
  ColumnStore rows_;
  KeyPacker packer_;
  KeyTable table_;
  DirectGroups direct_;
  GrowingArray<uint32_t> first_;   // by partition: a row of rows_
  GrowingArray<uint64_t> prefix_;  // by partition: of its first sort key
  std::vector<Vector> key_vectors_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  std::vector<uint64_t> prefixes_;  // by selected row
  bool prefixes_decide_ = true;     // those that are equal are of equal keys, of all rows so far
  std::vector<uint16_t> added_;     // the batch's slots that come to rows_
  MemoryCharge charge_;
};

}  // namespace diptych::olap
