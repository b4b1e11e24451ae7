// Scan: the rows of a table that satisfy a conjunction, vector by vector.
//
// A morsel is up to kMorselRows rows of one leaf. Leaves whose summaries exclude every row give no
// morsel (leaf_filter.h). In a vector, predicates run one after the other on the rows that are
// left: first those that the codes of a column answer (column_predicate.h), resolved once a morsel;
// then, by expressions, the others, and what the form of a chunk cannot answer undecoded; then the
// bound of a sort above with a LIMIT (top_bound.h); then joins above that drop rows
// (join_filter.h). Where an earlier scan of the plan has found rows for this one, no others are
// looked at (found_rows.h). A column is loaded when the first of them needs it, or, once all have
// run and left a row, for the output: late materialisation (leaf_columns.h).
//
// Several scans of one table may go over it together (scan_pass.h): a morsel knows which of them
// want it.
//
// Threads    Morsels are made by one and then immutable; a ScanSource belongs to one worker.

#pragma once

#include <cstdint>
#include <memory>
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
  uint64_t scans = 1;  // bit s: the pass's scan s wants it
};

inline constexpr size_t kScansMax = 64;  // of a pass

struct ScanLeaves {
  uint64_t with_rows = 0;
  uint64_t skipped = 0;  // of those
};

// The morsels that one of the scans wants, in the order of partitions and ordinals, and what each
// scan finds, by scan.
std::vector<ScanMorsel> scan_morsels(std::span<const LeafFilter> scans, const storage::Table& table,
                                     std::vector<ScanLeaves>* leaves);

// Equal for scans of a table whose predicates are: the same rows pass them.
std::string predicates_key(const Operator& scan);

class ScanSource {
 public:
  // All but `next` outlive this. Columns that are not `needed` are loaded for predicates only.
  // `top`: the bound of a sort above; nullptr: there is none.
  ScanSource(const RunContext& context, const Operator& scan, const std::vector<bool>& needed,
             const std::vector<JoinFilter>& filters, const RepeatedScans::Roles& roles,
             const TopBound* top, LeafReader* reader, StagePtr next);

  // Adds the bytes of what is decompressed to *bytes, which outlives this.
  void count_decoded(uint64_t* bytes) { columns_.count_decoded(bytes); }
  // The same of rows that codes ruled out.
  void count_filtered(uint64_t* rows) { filtered_rows_ = rows; }
  // The same of rows that joins ruled out.
  void count_joinless(uint64_t* rows) { joinless_rows_ = rows; }
  // The same of rows that are not among the best.
  void count_worse(uint64_t* rows) { worse_rows_ = rows; }

  // The reader goes on to another morsel.
  void start_morsel(const storage::Leaf& leaf);
  // The reader's vector. False: no more rows are wanted. *selected: its rows that the predicates
  // let through; nullptr: nobody knows them yet, and it sets them. Benchmark: BM_ScanSum.
  bool run_vector(const storage::Leaf& leaf, const Selection** selected);
  // The reader is about to leave the morsel. False: no more rows are wanted.
  bool end_morsel() { return next_.flush(); }
  // Some row has passed the predicates so far.
  bool has_output() const { return has_output_; }

 private:
  // How a condition is answered in this morsel.
  struct Answer {
    bool is_known = false;  // whether it was asked for yet
    std::optional<storage::encoding::ChunkTest> test;
  };

  // Leaves in selection_ the rows that pass all predicates; those that pass what codes tell.
  void select(const storage::Leaf& leaf);
  void select_on_codes(const storage::Leaf& leaf);
  void keep_found(const Selection& rows);
  uint64_t live_rows(const storage::Leaf& leaf) const;  // of the vector
  const Answer& answer(size_t condition);
  // Leaves in *rows, bits of a vector, those that pass conditions [first, end). True: a condition
  // was answered that some row may not pass.
  bool narrow_on_codes(size_t first, size_t end, uint64_t* rows);
  // The morsel's bound, if the sort above has one.
  void follow_top(const storage::Leaf& leaf);
  // Those of the rows that pass conditions [first, end).
  const Selection* keep_on_codes(size_t first, size_t end, const Selection* rows);
  // Those of the rows that may be among the best.
  const Selection* keep_best(const Selection* rows);
  // Those of the rows that the joins which the scan may ask would keep.
  const Selection* ask_joins(const Selection* rows);

  const std::vector<bool>& needed_;
  const RepeatedScans::Roles& roles_;
  const uint64_t* within_ = nullptr;  // of the morsel's leaf, if only some rows are looked at
  uint64_t* found_ = nullptr;         // likewise, if rows are found for another scan
  LeafReader& reader_;
  CompactStage next_;
  Predicates predicates_;
  // Of the predicates, then those that joins imply, then the bound of the sort above.
  std::vector<ColumnCondition> conditions_;
  size_t predicate_conditions_;
  size_t standing_conditions_;  // all but the bound
  const TopBound* const top_;
  bool is_ruled_out_ = false;    // the morsel's leaf, by the bound
  std::vector<Answer> answers_;  // by condition
  std::vector<bool> answered_;   // by predicate: codes answered it in this morsel
  uint64_t* filtered_rows_ = nullptr;
  std::vector<JoinFilterProbe> joins_;
  uint64_t* joinless_rows_ = nullptr;
  uint64_t* worse_rows_ = nullptr;
  std::vector<std::vector<uint32_t>> predicate_columns_;  // by predicate
  LeafColumns columns_;
  Selection selection_;
  Selection joined_;  // of selection_, or of an equal scan's: what bound and joins leave
  bool has_output_ = false;
};

}  // namespace diptych::olap
