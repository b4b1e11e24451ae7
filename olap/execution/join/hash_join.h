// Hash join: the stage that joins batches of probe rows to a build side's table (join_table.h).
//
// Probe      the keys of a batch are packed and looked up at once. If a probe row has at most one
//            match (a unique build side), the result is the probe batch with a narrower selection,
//            and build columns are gathered into its slots: no probe column is copied, and a build
//            column that is a key is taken from the probe side (probe_twin). Otherwise the k-th
//            matches of all rows form the k-th such batch; when only a few rows still have many
//            matches, these rows are repeated beside vectors of their build rows.
// Nulls      a row with a null key matches nothing. Left joins push such rows with nulls.
// Residual   predicates over probe and build columns decide whether a pair matches. If a key has
//            several build rows, an order comparison of two columns may exclude all of them at
//            once for a probe row (key_bounds.h).
// No keys    every build row matches every probe row. A single row, such as a subquery's value, is
//            a unique build side.
// Ranges     if comparisons of the join bound a value of the build side, only the build rows
//            between the bounds make pairs (range_rows.h), of all rows or of a key's.
// Choices    without keys, if a predicate is an OR of equalities, only the build rows with the key
//            of one of its branches make pairs (key_choices.h).
// Build rows kBuildSemi and kBuildAnti mark the build rows that have a match, each worker in its
//            own bits, and push nothing; plan_runner.cpp then reads the marked rows or the others.
//            Marked rows of a key are not compared again with further probe rows of the key.
// Stopping   the source checks once a morsel; this code checks while the table is built, and once
//            a round, because a join may multiply rows.
//
// Threads    one worker's.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/join/join_table.h"
#include "olap/execution/join/key_choices.h"
#include "olap/execution/join/range_rows.h"
#include "olap/execution/join/unmarked_rows.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/differing_rows.h"

namespace diptych::olap {

class ProbeStage : public Stage {
 public:
  ProbeStage(const RunContext& context, const Operator& join, const NeededColumns& needed,
             const JoinTable& table, StagePtr next);
  // Marks the build rows that have a match. `matched` outlives the stage.
  ProbeStage(const RunContext& context, const Operator& join, const NeededColumns& needed,
             const JoinTable& table, MatchedRows* matched);
  // Benchmark: BM_ProbeSmall, BM_ProbeLarge.
  bool push(Batch& batch) override;

 private:
  // A probe row and the build rows with which it is still to be joined, [next, end).
  struct Cursor {
    uint32_t slot;
    uint32_t next;
    uint32_t end;
    uint64_t least;       // of RangeRows
    uint32_t choice = 0;  // of ChoiceFinder
  };

  static constexpr uint32_t kUnaskedBatches = 15;

  void evaluate_keys(const Batch& batch);
  void find_numbers(const Batch& batch);
  // As find_numbers(), for rows without nulls, by the keys evaluated last.
  void find_packed(const Selection& rows, uint32_t* numbers);
  void match(const Batch& batch);
  void extend_output(const Batch& batch);
  // Mark all pairs, without residual predicates, or the pairs in output_selection_.
  void mark_all();
  void mark_pairs();
  void skip_marked();
  // The range of a cursor: the rows of a key, or those without a mark; all rows if there are no
  // keys.
  RowRange build_rows(uint32_t number);
  uint32_t build_row(uint32_t index) const;
  void fill_cursors(const Batch& batch);
  void fill_ranges(const Batch& batch);
  void fill_choices();
  void seek_candidate(Cursor* cursor);
  void keep_pairs();
  bool push_existence(Batch& batch);
  bool push_matched(const Batch& batch);
  bool push_left(const Batch& batch);
  bool push_one_match(Batch& batch);
  bool push_rounds(Batch& batch);
  bool push_long_cursors(const Batch& batch);
  bool push_repeated(const Batch& batch, Cursor cursor);
  void repeat(const Batch& batch, uint32_t slot);
  bool push_unmatched(const Selection& probe);
  // Fills the output's build columns, and its build rows if they are needed, for rows_[].
  void gather_build_columns();
  void gather_compared();
  void gather(size_t column);

  const RunContext& context_;
  const Operator& join_;
  const JoinTable& table_;
  StagePtr next_;
  std::vector<NodePtr> keys_;
  std::vector<Vector> key_vectors_;
  std::vector<ExpressionPtr> row_comparisons_;  // by predicate: over the only build row's value
  Predicates residual_;
  Selection with_key_;
  std::vector<uint64_t> packed_;  // keys of with_key_
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;  // by position in with_key_; 0 without keys
  DifferingRows differing_;        // in coded texts
  std::vector<uint32_t> differing_numbers_;
  std::optional<RangeFinder> finder_;  // if the table has ranges
  std::vector<RangeFinder::Range> ranges_;
  std::optional<ChoiceFinder> chooser_;  // if the table has choices
  bool by_choice_ = false;               // chooser_ has the candidates of this batch
  std::vector<Cursor> cursors_;
  uint64_t matched_[kVectorWords];  // slots that were joined
  std::vector<uint32_t> rows_;      // build rows of the output's selected slots
  std::vector<VectorBuffer> build_buffers_;
  std::vector<std::optional<uint32_t>> twins_;  // by build column
  std::vector<bool> gathered_;                  // by build column
  const std::vector<bool> late_;                // by build column
  const bool has_group_keys_;
  std::vector<bool> compared_;  // columns that residual predicates read
  Selection pairs_;             // before residual predicates
  MatchedRows* build_matched_ = nullptr;
  uint32_t mark_count_ = 0;                        // in build_matched_
  std::optional<UnmarkedRows> unmarked_;           // for pairs of keys with several rows
  std::optional<UnmarkedPlaces> unmarked_places_;  // the same in the order of finder_
  uint32_t batches_unasked_ = 0;                   // batches that skip_marked() still passes over
  std::vector<uint32_t> rows_by_slot_;             // empty if nobody needs them
  VectorBuffer marks_{PhysicalType::kBool};
  std::vector<VectorBuffer> repeated_buffers_;  // a probe row with many matches
  std::vector<uint32_t> repeated_rows_;
  Batch repeated_;
  Batch output_;
  Selection output_selection_;
};

}  // namespace diptych::olap
