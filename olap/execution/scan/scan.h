// Scan: the rows of a table that satisfy a conjunction, vector by vector.
//
// A morsel is up to kMorselRows rows of one leaf. Leaves whose summaries exclude every row give no
// morsel (leaf_filter.h). If an earlier scan of the plan has found rows for this one, it looks at
// no others (found_rows.h). In a vector, these tests run in turn on the remaining rows:
//   1. predicates on the codes of a column (column_predicate.h), resolved once for each morsel
//   2. other predicates as expressions, and those that the form of a chunk cannot test undecoded
//   3. the bound of a sort with a LIMIT above (top_bound.h)
//   4. joins above that drop rows (join_filter.h)
// A column is loaded when the first test needs it, or for the output, once all tests have left a
// row: late materialisation (leaf_columns.h).
//
// Several scans of one table may pass over it together (scan_pass.h); a morsel lists the scans that
// need it.
//
// Threads    one thread makes the morsels, which are then immutable; a ScanSource has one worker.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/join/join_filter.h"
#include "olap/execution/pipeline/compact_stage.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/scan/column_predicate.h"
#include "olap/execution/scan/found_rows.h"
#include "olap/execution/scan/leaf_columns.h"
#include "olap/execution/scan/leaf_filter.h"
#include "olap/execution/scan/top_bound.h"

namespace diptych::olap {

inline constexpr uint32_t kMorselRows = 16 * kVectorRows;

struct ScanMorsel {
  const storage::Leaf* leaf;
  uint32_t first;  // position in the leaf; a multiple of kVectorRows
  uint32_t count;
  uint64_t scans = 1;  // bit s: scan s of the pass needs it
};

inline constexpr size_t kScansMax = 64;  // scans of a pass

struct ScanLeaves {
  uint64_t with_rows = 0;
  uint64_t skipped = 0;  // of the leaves with rows
};

// The morsels that any of the scans needs, in the order of partitions and ordinals. *leaves gets
// the counts of leaves by scan.
std::vector<ScanMorsel> scan_morsels(std::span<const LeafFilter> scans, const storage::Table& table,
                                     std::vector<ScanLeaves>* leaves);

// A key that is equal for scans of a table with equal predicates, which the same rows pass.
std::string predicates_key(const Operator& scan);

class ScanSource {
 public:
  // All arguments but `next` outlive this object. Columns that are not `needed` are loaded only for
  // predicates. `top` is the bound of a sort above, or nullptr.
  ScanSource(const RunContext& context, const Operator& scan, const std::vector<bool>& needed,
             const std::vector<JoinFilter>& filters, const RepeatedScans::Roles& roles,
             const TopBound* top, LeafReader* reader, StagePtr next);

  // Adds the bytes of decompressed values to *bytes from now on; the counter outlives this object.
  void count_decoded(uint64_t* bytes) { columns_.count_decoded(bytes); }
  // Likewise counts the rows that tests on codes dropped.
  void count_filtered(uint64_t* rows) { filtered_rows_ = rows; }
  // Likewise counts the rows that joins dropped.
  void count_joinless(uint64_t* rows) { joinless_rows_ = rows; }
  // Likewise counts the rows that the sort's bound dropped.
  void count_worse(uint64_t* rows) { worse_rows_ = rows; }

  // Called when the reader goes on to another morsel.
  void start_morsel(const storage::Leaf& leaf);
  // Runs the reader's vector. *selected holds the rows that pass the predicates; if it is nullptr,
  // this scan computes and sets it. Returns false if no more rows are wanted. Benchmark:
  // BM_ScanSum.
  bool run_vector(const storage::Leaf& leaf, const Selection** selected);
  // Called before the reader leaves the morsel. Returns false if no more rows are wanted.
  bool end_morsel() { return next_.flush(); }
  // True if some row has passed the predicates so far.
  bool has_output() const { return has_output_; }

 private:
  // The filter of a condition on codes in this morsel.
  struct Answer {
    bool is_known = false;  // the filter has been requested
    std::optional<storage::encoding::ChunkFilter> filter;
  };

  // Sets selection_ to the rows that pass all predicates, or those that pass the filters on codes.
  void select(const storage::Leaf& leaf);
  void select_on_codes(const storage::Leaf& leaf);
  void keep_found(const Selection& rows);
  uint64_t live_rows(const storage::Leaf& leaf) const;  // in the vector
  const Answer& answer(size_t condition);
  // Clears the bits in *rows of rows that fail conditions [first, end). Returns true if some
  // condition was tested that rows may fail.
  bool narrow_on_codes(size_t first, size_t end, uint64_t* rows);
  // Takes over the current bound of the sort above, if there is one.
  void follow_top(const storage::Leaf& leaf);
  // The rows that pass conditions [first, end).
  const Selection* keep_on_codes(size_t first, size_t end, const Selection* rows);
  // The rows that may be among the best.
  const Selection* keep_best(const Selection* rows);
  // The rows that the joins above would keep.
  const Selection* ask_joins(const Selection* rows);

  const std::vector<bool>& needed_;
  const RepeatedScans::Roles& roles_;
  const uint64_t* within_ = nullptr;  // bits of the morsel's leaf, if only some rows are scanned
  uint64_t* found_ = nullptr;         // likewise, if rows are found for another scan
  LeafReader& reader_;
  CompactStage next_;
  Predicates predicates_;
  // The conditions of predicates, then those that joins imply, then the bound of the sort above.
  std::vector<ColumnCondition> conditions_;
  size_t predicate_conditions_;
  size_t standing_conditions_;  // all but the bound
  const TopBound* const top_;
  bool is_ruled_out_ = false;    // the bound excludes the morsel's leaf
  std::vector<Answer> answers_;  // by condition
  std::vector<bool> answered_;   // by predicate: it is tested on codes in this morsel
  uint64_t* filtered_rows_ = nullptr;
  std::vector<JoinFilterProbe> joins_;
  uint64_t* joinless_rows_ = nullptr;
  uint64_t* worse_rows_ = nullptr;
  std::vector<std::vector<uint32_t>> predicate_columns_;  // by predicate
  LeafColumns columns_;
  Selection selection_;
  Selection joined_;  // the rows that the bound and the joins leave
  bool has_output_ = false;
};

}  // namespace diptych::olap
