// JoinTable: the rows of a join's build side by key, and the stage that collects them.
//
// Each worker collects rows, keys and hashes (BuildStage into its BuildPart); JoinTable combines
// the parts and builds the key table. Dense integer keys, also of several columns, have places
// (dense_keys.h, key_places.h); others are hashed (key_table.h).
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
#include "olap/execution/join/key_choices.h"
#include "olap/execution/join/key_values.h"
#include "olap/execution/join/range_rows.h"
#include "olap/execution/key/dense_keys.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_places.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"
#include "olap/plan_report.h"

namespace diptych::olap {

// True if only the existence of a match counts for a probe row.
inline bool asks_existence(JoinKind kind) {
  return kind == JoinKind::kSemi || kind == JoinKind::kAnti || kind == JoinKind::kMark;
}

// The build rows that one worker collected.
struct BuildPart {
  // One of `parts` parts.
  BuildPart(const Operator& join, const NeededColumns& needed, MemoryBudget* memory,
            uint32_t parts);

  size_t memory_bytes() const {
    return rows.memory_bytes() + unmatchable.memory_bytes() + integer_keys.memory_bytes() +
           keys.bytes() + hashes.bytes() + heap.memory_bytes();
  }

  ColumnStore rows;
  ColumnStore unmatchable;        // kBuildAnti: rows with a null key
  ColumnStore integer_keys;       // the keys, if all are integers, because they may be dense
  GrowingArray<uint64_t> keys;    // otherwise the packed keys
  GrowingArray<uint64_t> hashes;  // and their hashes
  QueryHeap heap;                 // long texts of packed keys
  MemoryCharge charge;
};

class JoinTable {
 public:
  JoinTable(const Operator& join, const QueryLimits& limits);

  const KeyPacker& packer() const { return packer_; }
  bool has_keys() const { return has_keys_; }
  // True if build parts keep keys as integers.
  bool has_integer_keys() const { return has_integer_keys_; }

  // The bytes of rows and keys.
  size_t kept_bytes() const { return charge_.bytes(); }

  // Takes over the parts. Called once.
  void build(std::vector<std::unique_ptr<BuildPart>> parts, const Workers& workers);

  const ColumnStore& rows() const { return *rows_; }
  // kBuildAnti: further rows, which match nothing.
  const ColumnStore& unmatchable() const { return *unmatchable_; }
  // Gives away the rows' texts, when no row is read any more.
  QueryHeap take_texts();
  // True if all build rows have different keys; then a key's number is its row.
  bool unique() const { return row_starts_.size() == 0; }
  // True if a probe row has at most one match; without keys, if there is one build row.
  bool joins_once() const { return has_keys_ ? unique() : rows_->row_count() == 1; }
  uint32_t key_count() const { return key_count_; }
  // True if keys are looked up by place, and so are neither packed nor hashed.
  bool is_direct() const { return dense_.has_value(); }
  // The bounds of an order predicate for each key; nullptr: no such predicate, or unique().
  const KeyBounds* bounds() const { return bounds_.has_value() ? &*bounds_ : nullptr; }
  // The order of the build rows by a value that comparisons of the join bound; nullptr: no such
  // comparison, or too few rows.
  const RangeRows* ranges() const { return ranges_.has_value() ? &*ranges_ : nullptr; }
  // The build rows by the keys of an OR of equalities; nullptr: the join has keys, or no such
  // predicate.
  const KeyChoices* choices() const { return choices_.has_value() ? &*choices_ : nullptr; }
  JoinMethod method() const;
  // The bounds of each key column, if all are integers and there are rows; otherwise empty.
  const std::vector<ValueBounds>& key_bounds() const { return key_bounds_; }
  // The values of a key of one column, if is_direct().
  std::optional<KeyValues> key_values() const;
  // If keys are hashed and far fewer than the probe rows are expected to be: the values of each
  // integer column of the keys. Otherwise empty.
  const std::vector<KeyColumnSet>& column_sets() const { return column_sets_; }
  // Sets numbers[k] to the number of the k-th selected row's key, or KeyTable::kNoKey. Requires
  // is_direct(). Benchmark: BM_ProbeSmall, BM_ProbeLarge.
  void find(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const;
  // Selects the rows that have a key; match() also sets numbers[k] to the number of the k-th one's
  // key. Both require is_direct(). *with_match is not `rows`.
  void select(std::span<const Vector> keys, const Selection& rows, Selection* with_match) const;
  void match(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers,
             Selection* with_match) const;
  // find() for packed keys without nulls. Requires !is_direct().
  void find(const uint64_t* keys, const uint64_t* hashes, uint32_t count, uint32_t* numbers) const {
    table_.find(keys, hashes, count, numbers);
  }
  // The rows of key `number` are build_row(i) for i in [row_begin(number), row_begin(number + 1)).
  uint32_t row_begin(uint32_t number) const { return unique() ? number : row_starts_[number]; }
  uint32_t build_row(uint32_t index) const { return unique() ? index : rows_by_key_[index]; }

 private:
  size_t memory_bytes() const;
  // Numbers the parts' keys, by build row: by place if they are dense integers, otherwise through
  // the key table.
  bool number_directly(const std::vector<std::unique_ptr<BuildPart>>& parts,
                       GrowingArray<uint32_t>* numbers, const StopSignal& stop);
  void number_by_hash(const std::vector<std::unique_ptr<BuildPart>>& parts,
                      GrowingArray<uint32_t>* numbers, const Workers& workers);
  void number_by_hash_shared(const std::vector<std::unique_ptr<BuildPart>>& parts,
                             GrowingArray<uint32_t>* numbers, const Workers& workers);
  void chain(const GrowingArray<uint32_t>& numbers, const StopSignal& stop);
  void find_column_sets(const StopSignal& stop);
  // For a join without keys.
  void find_candidates();
  void find_ranges();

  // The index of a row with a hashed key takes at most this: its place in a chain, the key's bound
  // and the key's slots.
  static constexpr size_t kIndexBytesARow = 64;
  // Sets of the keys' columns are made if there are so many probe rows for each key.
  static constexpr double kProbeRowsAKeyMin = 4;

  const Operator& join_;
  const QueryLimits limits_;
  bool has_keys_;
  double probe_rows_;  // estimated
  std::vector<PhysicalType> key_types_;
  bool has_integer_keys_;
  KeyPacker packer_;
  KeyTable table_;
  std::optional<DenseKeys> dense_;
  KeyPlaces places_;  // the places of dense_
  std::vector<ValueBounds> key_bounds_;
  std::vector<KeyColumnSet> column_sets_;
  uint32_t key_count_ = 0;
  std::vector<QueryHeap> heaps_;
  std::unique_ptr<ColumnStore> rows_;
  std::unique_ptr<ColumnStore> unmatchable_;
  GrowingArray<uint32_t> row_starts_;  // by key number, and the end; empty if unique
  GrowingArray<uint32_t> rows_by_key_;
  std::optional<KeyBounds> bounds_;
  std::optional<RangeRows> ranges_;
  std::optional<KeyChoices> choices_;
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

}  // namespace diptych::olap
