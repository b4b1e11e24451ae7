// Aggregate: GROUP BY and the aggregates over it.
//
// Every worker has a GroupTable of its own; at the end they are merged (merged_groups.h) into one,
// or into one for each partition of the keys, whose groups are a source of batches again: keys,
// then aggregates. Without keys there is one group, also over no rows. Nulls in keys are equal to
// each other.
//
// Threads    a GroupTable has one worker; of one that is split, several may merge a partition each
//            at the same time. Reading by any number.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/group/direct_groups.h"
#include "olap/execution/join/group_join.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/differing_rows.h"

namespace diptych::olap {

class GroupTable {
 public:
  // The needs of a GroupTable are its own: its keys, the first ones of the aggregate's (no number:
  // all), and aggregates.
  GroupTable(const Operator& aggregate, const QueryLimits& limits);
  GroupTable(const Operator& aggregate, const QueryLimits& limits, size_t keys);
  // An aggregate without a child: `source` gives the rows.
  GroupTable(const Operator& aggregate, const Operator& source, const QueryLimits& limits,
             size_t keys);

  // From here on the keys come from the tables of joins below, which outlive every update().
  // `rows_differ`: no two build rows have equal keys.
  void take_keys_from(std::vector<BuildRowGroups::KeyColumn> columns, bool rows_differ);
  // Or a group's key is the number of its build row, of so many, which read() gives in place of
  // each key (group_join.h).
  void key_by_build_row(uint64_t build_rows);
  bool is_keyed_by_build_row() const { return is_keyed_by_build_row_; }

  void update(const Batch& batch);
  // numbers()[k] = the group of the k-th selected row of the last update().
  std::span<const uint32_t> numbers() const { return numbers_; }
  // From here on this table's groups are merged into others, a partition at a time.
  void split(uint32_t partitions, const StopSignal& stop);
  // Adds the groups of a partition of the other table, of all where it is not split. Its texts are
  // shared: they must stay until this table is done with. Returns the groups' numbers here.
  std::vector<uint32_t> merge(const GroupTable& other, uint32_t partition, const StopSignal& stop);
  // Adds another table's groups once for each grouping set: that table has this one's keys but the
  // last, which is the set's number (expand.h: of its input's rows, not of copies of them).
  void add_sets(const GroupTable& finest, const std::vector<std::vector<bool>>& sets);
  // Makes the group with these keys (literals), if it is not there.
  void add_group(const std::vector<ExpressionPtr>& keys);
  // What a merge has to look at: groups, and values kept beside them.
  uint64_t merge_rows() const;
  // Called once after the last merge.
  void finish();
  // The keys' texts, which read() refers to; called when it is called no more.
  QueryHeap take_texts();

  size_t kept_bytes() const { return charge_.bytes(); }
  uint32_t groups() const { return has_keys_ ? table_.size() : 1; }
  // Rows of groups [first, first + count): keys, then aggregates.
  void read(uint32_t first, uint32_t count, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns) const;

 private:
  // Columns for all aggregates: sums, averages and counts of one argument share one.
  void add_columns();
  uint32_t add_column(const Aggregate& aggregate);
  void charge();
  // numbers[k] = the group of the k-th selected row, which may be new. Only the keys' columns of
  // the batch are read.
  void find_groups(const Batch& batch, uint32_t* numbers);
  // The same by the keys that were evaluated last.
  void number_rows(const Selection& rows, StringLife life, uint32_t* numbers);
  // The same of rows of a join's table that come for the first time.
  void find_groups(std::span<const uint32_t> build_rows, uint32_t* numbers);
  // Evaluates the keys; their long texts stay so long.
  StringLife evaluate_keys(const Batch& batch);
  // Puts the selected rows' keys into the table, where no key is one of another row.
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
  DirectGroups direct_;  // in place of a search in the table
  std::vector<std::unique_ptr<AggregateColumn>> columns_;
  std::vector<uint32_t> column_of_;  // by aggregate
  std::vector<Vector> key_vectors_;
  std::vector<Vector> argument_vectors_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  DifferingRows differing_;  // in texts that come again
  std::vector<uint32_t> differing_numbers_;
  bool wants_runs_ = false;  // several columns do
  GroupRuns runs_;           // of the rows of update()
  std::optional<BuildRowGroups> by_build_row_;
  bool build_rows_differ_ = false;  // each is a group of its own
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
