// Hash join: the stage that joins batches of probe rows to the table of a build side (join_table.h).
//
// Probe      a batch's keys are packed and looked up at once. Where a probe row has at most one
//            match (a unique build side), the result is the probe's batch with a narrower selection
//            and the build columns gathered into its slots: no probe column is copied, and a build
//            column that is a key is the probe's own (probe_twin). Where it has more, the k-th
//            matches of all rows form the k-th such batch; when only a few rows have many left,
//            they are repeated beside vectors of their build rows.
// Nulls      a row with a null key matches nothing. Left joins push such rows with nulls.
// Residual   predicates over probe and build columns decide whether a pair matches. Where several
//            build rows have a key, probe rows that an order between two columns refuses for all of
//            them make no pair (key_bounds.h).
// No keys    every build row matches every probe row. One row, as a subquery's value is, is a
//            unique build side.
// Ranges     where comparisons of the join bound a value of the build side, only the build rows
//            between the bounds make pairs (range_rows.h): of all rows, or of a key's.
// Build rows kBuildSemi and kBuildAnti mark the build rows that have a match, each worker in bits
//            of its own, and push nothing; plan_runner.cpp then reads those rows or the others. A
//            key's rows that have a mark are not looked at again for each row that has the key.
// Stopping   checked once a morsel by the source, and here while the table is built and once a
//            round: a join may multiply rows.
//
// Threads    one worker's.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/join/join_table.h"
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
  // Marks the build rows that have a match. `matched` outlives this.
  ProbeStage(const RunContext& context, const Operator& join, const NeededColumns& needed,
             const JoinTable& table, MatchedRows* matched);
  // Benchmark: BM_ProbeSmall, BM_ProbeLarge.
  bool push(Batch& batch) override;

 private:
  // A probe row and what it has yet to be joined with: build rows [next, end).
  struct Cursor {
    uint32_t slot;
    uint32_t next;
    uint32_t end;
    uint64_t least;  // of RangeRows
  };

  static constexpr uint32_t kUnaskedBatches = 15;

  void evaluate_keys(const Batch& batch);
  void find_numbers(const Batch& batch);
  // The same of rows without nulls, by the keys that were evaluated last.
  void find_packed(const Selection& rows, uint32_t* numbers);
  void match(const Batch& batch);
  void extend_output(const Batch& batch);
  // Of all pairs, without residual predicates; and of those that are left in output_selection_.
  void mark_all();
  void mark_pairs();
  void skip_marked();
  // What a cursor passes through: the rows of a key, or those of them without a mark; all, where
  // there are no keys.
  RowRange build_rows(uint32_t number);
  uint32_t build_row(uint32_t index) const;
  void fill_cursors(const Batch& batch);
  void fill_ranges(const Batch& batch);
  void settle(Cursor* cursor) const;
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
  // Fills the output's build columns, and its build rows where somebody asks, for rows_[].
  void gather_build_columns();
  void gather_compared();
  void gather(size_t column);

  const RunContext& context_;
  const Operator& join_;
  const JoinTable& table_;
  StagePtr next_;
  std::vector<NodePtr> keys_;
  std::vector<Vector> key_vectors_;
  std::vector<ExpressionPtr> row_comparisons_;  // by predicate: with the only build row's value
  Predicates residual_;
  Selection with_key_;
  std::vector<uint64_t> packed_;  // keys of with_key_
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;  // by position in with_key_; without keys 0
  DifferingRows differing_;        // in texts that come again
  std::vector<uint32_t> differing_numbers_;
  std::optional<RangeFinder> finder_;  // where the table has ranges
  std::vector<RangeFinder::Range> ranges_;
  std::vector<Cursor> cursors_;
  uint64_t matched_[kVectorWords];  // slots that were joined
  std::vector<uint32_t> rows_;      // build rows of the output's selected slots
  std::vector<VectorBuffer> build_buffers_;
  std::vector<std::optional<uint32_t>> twins_;  // by build column
  std::vector<bool> gathered_;                  // by build column
  const std::vector<bool> late_;                // by build column
  const bool has_group_keys_;
  std::vector<bool> compared_;  // those that residual predicates read
  Selection pairs_;             // before residual predicates
  MatchedRows* build_matched_ = nullptr;
  uint32_t mark_count_ = 0;               // in build_matched_
  std::optional<UnmarkedRows> unmarked_;  // where pairs are asked, of keys with several rows
  uint32_t batches_unasked_ = 0;          // still to come, by skip_marked()
  std::vector<uint32_t> rows_by_slot_;    // empty where nobody asks for them
  VectorBuffer marks_{PhysicalType::kBool};
  std::vector<VectorBuffer> repeated_buffers_;  // of a probe row that many build rows match
  std::vector<uint32_t> repeated_rows_;
  Batch repeated_;
  Batch output_;
  Selection output_selection_;
};

}  // namespace diptych::olap
