// Hash join: a table over the build side's rows, and the stage that joins a batch of probe rows to
// it.
//
// Build      every worker collects rows, keys and hashes (BuildStage into its BuildPart); JoinTable
//            puts the parts together and builds the key table. Dense integer keys, of several
//            columns too, have places (dense_keys.h, key_places.h); others are hashed.
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
// Build rows kBuildSemi and kBuildAnti mark the build rows that have a match, each worker in bits
//            of its own, and push nothing; plan_runner.cpp then reads those rows or the others. A
//            key's rows that have a mark are not looked at again for each row that has the key.
// Stopping   checked once a morsel by the source, and here while the table is built and once a
//            round: a join may multiply rows.
//
// Threads    a BuildPart has one worker; a JoinTable is immutable once built.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/join/key_bounds.h"
#include "olap/execution/key/dense_keys.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_places.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/differing_rows.h"

namespace diptych::olap {

// What one worker collected.
struct BuildPart {
  // One of so many `parts`.
  BuildPart(const Operator& join, const NeededColumns& needed, MemoryBudget* memory,
            uint32_t parts);

  size_t memory_bytes() const {
    return rows.memory_bytes() + unmatchable.memory_bytes() + integer_keys.memory_bytes() +
           keys.bytes() + hashes.bytes() + heap.memory_bytes();
  }

  ColumnStore rows;
  ColumnStore unmatchable;   // kBuildAnti: rows with a null among their keys
  ColumnStore integer_keys;  // the keys, where all columns are integers; they may prove to be dense
  GrowingArray<uint64_t> keys;    // else: packed
  GrowingArray<uint64_t> hashes;  // and hashed
  QueryHeap heap;                 // long texts of packed keys
  MemoryCharge charge;
};

// The values of a key of one integer column.
struct KeyValues {
  int64_t min;
  std::vector<uint64_t> bits;  // bit i: min + i is one

  bool has_all(const KeyValues& others) const;
};

class JoinTable {
 public:
  JoinTable(const Operator& join, const QueryLimits& limits);

  const KeyPacker& packer() const { return packer_; }
  bool has_keys() const { return has_keys_; }
  // Whether build parts keep keys as integers.
  bool has_integer_keys() const { return has_integer_keys_; }

  // Of rows and keys.
  size_t kept_bytes() const { return charge_.bytes(); }

  // Takes over the parts; called once.
  void build(std::vector<std::unique_ptr<BuildPart>> parts, const Workers& workers);

  const ColumnStore& rows() const { return *rows_; }
  // kBuildAnti: further rows, which match nothing.
  const ColumnStore& unmatchable() const { return *unmatchable_; }
  // The rows' texts, when no row is read any more.
  QueryHeap take_texts();
  // True where no two build rows have one key; then a key's number is its row.
  bool unique() const { return row_starts_.size() == 0; }
  // True where a probe row has one match at most: of no keys, where there is one build row.
  bool joins_once() const { return has_keys_ ? unique() : rows_->row_count() == 1; }
  uint32_t key_count() const { return key_count_; }
  // True where keys are looked up by their place, so that they are neither packed nor hashed.
  bool is_direct() const { return dense_.has_value(); }
  // What a predicate of the join asks of each key's rows; nullptr: none does, or rows are unique().
  const KeyBounds* bounds() const { return bounds_.has_value() ? &*bounds_ : nullptr; }
  // Of each key column, where all are integers and there are rows; else none.
  const std::vector<ValueBounds>& key_bounds() const { return key_bounds_; }
  // Of a key of one column, where is_direct(); else nothing.
  std::optional<KeyValues> key_values() const;
  // numbers[k] = the number of the k-th selected row's key, or KeyTable::kNoKey. Where is_direct().
  // Benchmark: BM_ProbeSmall, BM_ProbeLarge.
  void find(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const;
  // Selects those of the rows that have a key; match(): with their keys' numbers, numbers[k] the
  // k-th one's. Where is_direct(). *with_match is not `rows`.
  void select(std::span<const Vector> keys, const Selection& rows, Selection* with_match) const;
  void match(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers,
             Selection* with_match) const;
  // find() of packed keys, which have no nulls. Where not is_direct().
  void find(const uint64_t* keys, const uint64_t* hashes, uint32_t count, uint32_t* numbers) const {
    table_.find(keys, hashes, count, numbers);
  }
  // The rows of key `number` are build_row(i) for i in [row_begin(number), row_begin(number + 1)).
  uint32_t row_begin(uint32_t number) const { return unique() ? number : row_starts_[number]; }
  uint32_t build_row(uint32_t index) const { return unique() ? index : rows_by_key_[index]; }

 private:
  size_t memory_bytes() const;
  // Numbers the parts' keys in numbers, by build row: by their places where they are
  // dense integers, else through the key table.
  bool number_directly(const std::vector<std::unique_ptr<BuildPart>>& parts,
                       GrowingArray<uint32_t>* numbers, const StopSignal& stop);
  void number_by_hash(const std::vector<std::unique_ptr<BuildPart>>& parts,
                      GrowingArray<uint32_t>* numbers, const Workers& workers);
  void number_by_hash_shared(const std::vector<std::unique_ptr<BuildPart>>& parts,
                             GrowingArray<uint32_t>* numbers, const Workers& workers);
  void chain(const GrowingArray<uint32_t>& numbers, const StopSignal& stop);

  // Of rows whose keys are hashed: a place in a chain, the key's bound, and the slots that the key
  // may take, at most.
  static constexpr size_t kIndexBytesARow = 64;

  const Operator& join_;
  bool has_keys_;
  double probe_rows_;  // estimated
  std::vector<PhysicalType> key_types_;
  bool has_integer_keys_;
  KeyPacker packer_;
  KeyTable table_;
  std::optional<DenseKeys> dense_;
  KeyPlaces places_;  // of dense_
  std::vector<ValueBounds> key_bounds_;
  uint32_t key_count_ = 0;
  std::vector<QueryHeap> heaps_;
  std::unique_ptr<ColumnStore> rows_;
  std::unique_ptr<ColumnStore> unmatchable_;
  GrowingArray<uint32_t> row_starts_;  // by key number, and one more; empty where unique
  GrowingArray<uint32_t> rows_by_key_;
  std::optional<KeyBounds> bounds_;
  MemoryCharge charge_;
};

class BuildStage : public Stage {
 public:
  BuildStage(const RunContext& context, const Operator& join, const JoinTable& table,
             BuildPart* part);
  bool push(Batch& batch) override;

 private:
  void keep(const Batch& batch);

  const JoinTable& table_;
  const bool keeps_unmatchable_;
  BuildPart* part_;
  std::vector<NodePtr> keys_;
  std::vector<Vector> key_vectors_;
  Selection with_key_;
  Selection without_key_;
};

// The build rows that matched, a bit a row.
using MatchedRows = std::vector<uint64_t>;

// Of a key's build rows, those that have no mark yet: no further pair is wanted of the others. One
// worker's.
class UnmarkedRows {
 public:
  // Whether some key has rows enough.
  static bool pay(const JoinTable& table);
  UnmarkedRows(const JoinTable& table, MemoryBudget* memory);

  // Those of key `number` are row(i) for i in the range; there are so many marks by now.
  RowRange find(uint32_t number, const MatchedRows& matched, uint32_t marks);
  uint32_t row(uint64_t index) const { return rows_[index]; }

 private:
  struct Key {
    uint32_t begin;
    uint32_t end;
    uint32_t marks;  // when its rows were looked at
  };
  // Of fewer rows the marks are not looked at: that took as long as to ask some of them again.
  static constexpr uint32_t kRowsMin = 16;

  MemoryCharge charge_;
  std::vector<Key> keys_;
  std::vector<uint32_t> rows_;  // of each key the unmarked ones first
};

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
  void fill_cursors();
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

// The selected rows none of whose keys is null.
void select_without_nulls(std::span<const Vector> keys, const Selection& rows, Selection* result);

}  // namespace diptych::olap
