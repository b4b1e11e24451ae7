// Aggregate: GROUP BY and the aggregates over it.
//
// Every worker has its own GroupTable. At the end the tables are merged (merged_groups.h) into one,
// or into one for each partition of the keys. Their groups are a source of batches again: keys,
// then aggregates. Without keys there is one group, also over no rows. Nulls in keys are equal to
// each other.
//
// Threads    a GroupTable has one worker. When it is split, several workers may each merge one of
//            its partitions at the same time. Any number of threads may read.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/group/coded_groups.h"
#include "olap/execution/group/direct_groups.h"
#include "olap/execution/join/group_join.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/differing_rows.h"

namespace diptych::olap {

class GroupTable {
 public:
  // Groups by the first `keys` keys of the aggregate, or by all of them.
  GroupTable(const Operator& aggregate, const QueryLimits& limits);
  GroupTable(const Operator& aggregate, const QueryLimits& limits, size_t keys);
  // For an aggregate without a child; `source` gives the rows.
  GroupTable(const Operator& aggregate, const Operator& source, const QueryLimits& limits,
             size_t keys);

  // From now on takes the keys from the tables of joins below, which outlive every update().
  // `rows_differ` says that no two build rows have equal keys.
  void take_keys_from(std::vector<BuildRowGroups::KeyColumn> columns, bool rows_differ);
  // Alternatively, uses the number of the build row, below `build_rows`, as the group's key; read()
  // gives it in place of each key (group_join.h).
  void key_by_build_row(uint64_t build_rows);
  bool is_keyed_by_build_row() const { return is_keyed_by_build_row_; }

  void update(const Batch& batch);
  // numbers()[k] is the group of the k-th selected row of the last update().
  std::span<const uint32_t> numbers() const { return numbers_; }
  // Splits this table's groups, which are then merged into other tables, a partition at a time.
  void split(uint32_t partitions, const StopSignal& stop);
  // Adds the groups of a partition of the other table, or all if it is not split. The other table's
  // texts are shared and outlive this table. Returns the groups' numbers in this table. If workers
  // share the search of many groups, the next one to look up a key makes the slots of new ones.
  // Benchmark: BM_MergeGroups.
  std::vector<uint32_t> merge(const GroupTable& other, uint32_t partition, const Workers& workers);
  // Adds the groups of `finest` once for each grouping set. That table groups the rows before they
  // are expanded (expand.h) and has this table's keys without the last, the set's number.
  void add_sets(const GroupTable& finest, const std::vector<std::vector<bool>>& sets);
  // Makes the group with these keys (literals), if it does not exist.
  void add_group(const std::vector<ExpressionPtr>& keys);
  // The work of a merge: the number of groups and of values kept beside them.
  uint64_t merge_rows() const;
  // Called once after the last merge.
  void finish(const Workers& workers);
  // Gives away the keys' texts, to which read() refers. Called after the last read().
  QueryHeap take_texts();

  size_t kept_bytes() const { return charge_.bytes(); }
  uint32_t groups() const { return has_keys_ ? table_.size() : 1; }
  // Reads the rows of groups [first, first + count): keys, then aggregates.
  void read(uint32_t first, uint32_t count, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;

 private:
  // Adds the columns of all aggregates. Sums, averages and counts of one argument share a column.
  void add_columns();
  uint32_t add_column(const Aggregate& aggregate);
  void charge();
  // Sets numbers[k] to the group of the k-th selected row, which may be new. Reads only the batch's
  // columns that the keys need.
  void find_groups(const Batch& batch, uint32_t* numbers);
  // Does so by the keys evaluated last.
  void number_rows(const Selection& rows, StringLife life, uint32_t* numbers);
  // Does so for rows of a join's table that are met for the first time.
  void find_groups(std::span<const uint32_t> build_rows, uint32_t* numbers);
  // Evaluates the keys and returns the lifetime of their long texts.
  StringLife evaluate_keys(const Batch& batch);
  // Updates a column in which repeated arguments do not count, of a table without keys, with those
  // of argument_vectors_ that have not come yet. Returns false if that cannot be told by codes.
  bool update_unmet(size_t column, const Selection& rows);
  // Sets to[i] to the number of the i-th merged group; new ones are inserted.
  void merge_keys(const GroupTable& other, const GroupSplit& split, uint32_t partition,
                  const StopSignal& stop, uint32_t* to);
  // Does so for all groups with several workers; new ones are appended.
  void merge_all_keys(const GroupTable& other, const Workers& workers, uint32_t* to);
  // Appends the keys of the selected rows, which all differ, to the table.
  void append_groups(const Selection& rows);

  const Operator& aggregate_;
  const std::span<const ExpressionPtr> key_expressions_;
  const QueryLimits limits_;
  bool has_keys_;
  std::vector<NodePtr> keys_;
  std::vector<std::vector<NodePtr>> arguments_;  // by column; none for count(*)
  NullKeys nulls_;
  KeyPacker packer_;
  KeyTable table_;
  DirectGroups direct_;  // replaces searches in the table
  std::vector<std::unique_ptr<AggregateColumn>> columns_;
  std::vector<uint32_t> column_of_;  // by aggregate
  std::vector<Vector> key_vectors_;
  std::vector<Vector> argument_vectors_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  CodedGroups coded_;
  std::vector<CodedGroups> met_;  // by column, in a table without keys: arguments that have come
  DifferingRows differing_;       // in coded texts
  std::vector<uint32_t> differing_numbers_;
  bool wants_runs_ = false;  // several columns want runs
  GroupRuns runs_;           // of the rows of update()
  std::optional<BuildRowGroups> by_build_row_;
  bool build_rows_differ_ = false;  // each build row is a group of its own
  bool is_keyed_by_build_row_ = false;
  std::optional<GroupSplit> split_;
  MemoryCharge charge_;
};

class AggregateStage : public Stage {
 public:
  explicit AggregateStage(GroupTable* groups) : groups_(groups) {}
  bool push(Batch& batch) override {
    groups_->update(batch);
    return true;
  }

 private:
  GroupTable* groups_;
};

}  // namespace diptych::olap
