// JoinTable: the rows of a join's build side by key, and the stage that collects them.
//
// Every worker collects rows, keys and hashes (BuildStage into its BuildPart); JoinTable puts the
// parts together and builds the key table. Dense integer keys, of several columns too, have places
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

namespace diptych::olap {

// True where a probe row's matches only count as some or none.
inline bool asks_existence(JoinKind kind) {
  return kind == JoinKind::kSemi || kind == JoinKind::kAnti || kind == JoinKind::kMark;
}

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
  // Where comparisons of the join say which of a key's rows may match; else nullptr.
  const RangeRows* ranges() const { return ranges_.has_value() ? &*ranges_ : nullptr; }
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
  void find_ranges();

  // Of rows whose keys are hashed: a place in a chain, the key's bound, and the slots that the key
  // may take, at most.
  static constexpr size_t kIndexBytesARow = 64;

  const Operator& join_;
  const QueryLimits limits_;
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
  std::optional<RangeRows> ranges_;
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

// The selected rows none of whose keys is null.
void select_without_nulls(std::span<const Vector> keys, const Selection& rows, Selection* result);

}  // namespace diptych::olap
