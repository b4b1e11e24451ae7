// LeadingRows: the leading rows of each partition of a window, in the window's order. They are what
// a filter such as `row_number() <= 3` or `rank() = 1` keeps. DISTINCT ON uses the same plan.
//
// The rows are not sorted as a whole. Partitions are numbered like the groups of a GROUP BY. A row
// is a candidate unless it comes behind its partition's bound: the last of the leading rows that
// were known when the candidates were last sorted. This happens when the rows that do not lead may
// be as many as the others; they are dropped. Rows are compared by the first sort key's 8-byte
// prefix (sort_prefix.h), then by the full keys. Of rows with equal keys, the earliest comes first.
//
// If one row of each partition is wanted, the bound is that row, and nothing is ever sorted.
//
// Threads    a LeadingRows has one worker; once finished, any number of readers.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/group/direct_groups.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/key/sort_prefix.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// The rows that a filter keeps of a window's: those whose number is at most `most`.
struct LeadingNumbers {
  const Operator* window;
  uint64_t most;
};
// nullopt unless the filter bounds row_number(), rank() or dense_rank() to few numbers
// (kLeadingNumbersMax), and the window computes nothing else.
std::optional<LeadingNumbers> leading_numbers(const Operator& filter);

class LeadingRows {
 public:
  LeadingRows(const RunContext& context, const LeadingNumbers& wanted, const NeededColumns& needed);

  void append(const Batch& batch);
  // Ends with the rows of other workers, which come after this one's in the order of the parts.
  void finish(std::span<const std::unique_ptr<LeadingRows>> others);

  // Once finished:
  uint64_t rows() const { return order_.size(); }
  size_t memory_bytes() const { return charge_.bytes(); }
  // Reads rows [first, first + selection.count), as the window's output, partition by partition.
  void read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;
  std::vector<VectorBuffer> make_buffers() const;

 private:
  // So many rows that do not lead may lie beside as many as do.
  static constexpr uint64_t kOthersMin = 32 * kVectorRows;

  struct Candidate {
    uint64_t prefix;  // of the first sort key
    uint32_t row;     // of rows_
    uint32_t partition;
  };
  // The last leading row of a partition, of those that were known; kNoRow: there may be more.
  struct Bound {
    uint64_t prefix = UINT64_MAX;
    uint32_t row = ColumnStore::kNoRow;
    uint32_t candidates = 0;
  };

  // Sets numbers_[k] to the partition of the k-th selected row.
  void find_partitions(const Batch& batch);
  void make_prefixes(const Batch& batch);
  bool prefixes_say_all() const { return keys_.size() <= 1 && prefixes_decide_; }
  KeyCell cell_of(const SortKey& key, uint32_t row) const {
    return {rows_.values<std::byte>(key.column), row, rows_.is_null(key.column, row)};
  }
  // Below 0 if the slot's row comes before the row of rows_, or of those that are being added.
  int order_to(const Batch& batch, uint32_t slot, uint32_t row) const;
  int order_of_equal_prefixes(uint32_t a, uint32_t b) const;  // of two rows of rows_
  bool are_ranked_alike(const Candidate& a, const Candidate& b) const;
  // Bounds beyond the near caches are asked for some rows before the k-th of `count` needs its own.
  void prefetch_bound(uint32_t k, uint32_t count) const;
  // False if the k-th selected row, which is in the slot, cannot lead its partition.
  bool may_lead(const Batch& batch, uint32_t k, uint32_t slot) const;
  void keep_added(const Batch& batch);
  void count_memory();
  void drop_others();
  GrowingArray<uint32_t> leading_rows() const;
  void keep_rows(const GrowingArray<uint32_t>& rows);
  void sort_candidates(GrowingArray<uint32_t>* ranks);
  uint64_t keep_leading(std::span<Candidate> members, GrowingArray<uint32_t>* ranks);
  void absorb(const LeadingRows& other);
  void gather(const uint32_t* rows, const Selection& selection, std::vector<VectorBuffer>* buffers,
              std::vector<Vector>* columns) const;

  const StopSignal& stop_;
  const Operator& window_;
  const WindowKind kind_;
  const uint64_t most_;
  const std::vector<bool>& needed_;
  const std::vector<uint32_t>& partition_;
  std::vector<SortKey> keys_;  // without columns that are equal within a partition
  const bool is_first_alone_;  // the bounds are the leading rows; there are no candidates
  ColumnStore rows_;
  KeyPacker packer_;
  KeyTable table_;
  DirectGroups direct_;
  GrowingArray<Bound> bounds_;  // by partition
  GrowingArray<Candidate> candidates_;
  uint64_t others_ = 0;  // rows that do not lead, at least unless they tie with some that do
  uint64_t comparisons_ = 0;
  GrowingArray<uint32_t> order_;  // once finished: the leading rows of rows_,
  GrowingArray<uint32_t> ranks_;  // and their numbers, unless all are 1
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
