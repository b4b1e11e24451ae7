// FirstRows: the first row of each partition of a window, in the window's order. It is what
// `row_number() = 1` keeps, for example the latest order of each customer. DISTINCT ON uses the
// same plan.
//
// Nothing is sorted. Partitions are numbered like the groups of a GROUP BY, and a row is kept if it
// comes before its partition's current row: by the first sort key's 8-byte prefix (sort_prefix.h),
// then by the full keys. Overtaken rows are dropped when they are as many as the current ones. Of
// rows with equal keys, the earliest is kept.
//
// Threads    a FirstRows has one worker; once absorbed, any number of readers.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/group/direct_groups.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// The window below this filter, if the filter keeps only the first row of each partition and the
// window computes nothing but the row number; otherwise nullptr.
const Operator* window_of_first_rows(const Operator& filter);

class FirstRows {
 public:
  FirstRows(const RunContext& context, const Operator& window, const NeededColumns& needed);

  void append(const Batch& batch);
  // Adds the rows of another worker, which come after this one's.
  void absorb(const FirstRows& other);

  uint64_t rows() const { return first_.size(); }  // one for each partition
  size_t memory_bytes() const { return charge_.bytes(); }
  // Reads the rows of partitions [first, first + selection.count), as the window's output.
  void read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;
  std::vector<VectorBuffer> make_buffers() const;

 private:
  // Sets numbers_[k] to the partition of the k-th selected row.
  void find_partitions(const Batch& batch);
  void make_prefixes(const Batch& batch);
  // True if the slot's row comes before the kept row, which may be in the same batch.
  bool is_before(const Batch& batch, uint32_t slot, uint32_t kept) const;
  void drop_overtaken();

  const StopSignal& stop_;
  const Operator& window_;
  const std::vector<bool>& needed_;
  const std::vector<uint32_t>& partition_;
  std::vector<SortKey> keys_;  // without columns that are equal within a partition
  ColumnStore rows_;
  KeyPacker packer_;
  KeyTable table_;
  DirectGroups direct_;
  GrowingArray<uint32_t> first_;   // by partition: a row of rows_
  GrowingArray<uint64_t> prefix_;  // by partition: prefix of the first sort key
  std::vector<Vector> key_vectors_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  std::vector<uint64_t> prefixes_;  // by selected row
  bool prefixes_decide_ = true;     // so far, equal prefixes mean equal keys
  std::vector<uint16_t> added_;     // the batch's slots that are added to rows_
  MemoryCharge charge_;
};

}  // namespace diptych::olap
