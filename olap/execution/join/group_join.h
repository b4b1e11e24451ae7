// Group join: if all keys of a GROUP BY come from the build side of one join below it, a build
// row's group is looked up once, at its first match, and not for each joined row.
//
//   aggregate [sum(a)] by [x, y]          x and y are build columns, which are not gathered
//     ...  filters; joins, whose probe side this is
//       inner join   puts its build rows' numbers into Batch::build_rows
//
// A joined row then costs one load of a group's number, whatever the keys are. The group table is
// the usual one: several build rows may share a group, and a build row without a match has none. If
// each build row is a group of its own, it needs no look-up. If the keys are also columns, the
// build row's number is the group's key, and the columns are late (late_columns.h): in CH's Q18
// they are gathered only for the groups that HAVING keeps.
//
// group_keys.h decides for which GROUP BY this pays.
//
// Threads    one worker.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "olap/execution/join/join_table.h"
#include "olap/execution/join/late_columns.h"
#include "olap/execution/vector/equal_runs.h"
#include "olap/plan.h"

namespace diptych::olap {

// BuildRowGroups: the groups of the build rows met so far.
class BuildRowGroups {
 public:
  // Finds the groups of rows, which are build rows or the rows that they refer to. Each row is
  // passed once.
  using FindGroups = std::function<void(std::span<const uint32_t> rows, uint32_t* groups)>;

  // A column of the join's output that the keys read, and its path from a build row.
  struct KeyColumn {
    uint32_t column;
    ColumnPath path;
  };

  // Each of `build_rows` build rows is a group.
  explicit BuildRowGroups(uint64_t build_rows);
  // The columns' stores outlive find(). If all columns belong to rows to which the build rows
  // refer, groups are found for those rows.
  explicit BuildRowGroups(std::vector<KeyColumn> key_columns);

  // Sets groups[k] to the group of the batch's k-th selected row; up to kFillAhead values behind
  // them may be overwritten. Benchmark: BM_GroupLinesByOrder.
  void find(const Batch& batch, const FindGroups& find_groups, uint32_t* groups);
  // The columns of the join's output that the keys read, for at most kVectorRows of those rows.
  const Batch& key_columns(std::span<const uint32_t> rows);

  // The largest possible number of groups.
  uint64_t groups_max() const { return group_of_row_.size(); }
  size_t memory_bytes() const { return group_of_row_.bytes(); }

 private:
  static constexpr uint32_t kUnknown = KeyTable::kNoKey;
  static constexpr uint32_t kAsked = kUnknown - 1;

  // Finds the groups of a list of build rows.
  void find_all(const uint32_t* rows, uint32_t count, const FindGroups& find_groups,
                uint32_t* groups);
  void number_new_rows(const FindGroups& find_groups);

  std::vector<KeyColumn> key_columns_;
  const uint32_t* referred_rows_ = nullptr;  // by build row: the one that has its keys
  GrowingArray<uint32_t> group_of_row_;      // or kUnknown
  EqualRuns runs_;
  std::vector<uint32_t> rows_;  // the batch's build rows
  std::vector<uint32_t> run_rows_;
  std::vector<uint32_t> run_groups_;
  std::vector<uint32_t> new_rows_;  // those of the batch without a group, each once
  std::vector<uint32_t> new_groups_;
  std::vector<VectorBuffer> buffers_;  // by key column
  Batch key_batch_;
  Selection all_new_;
};

}  // namespace diptych::olap
