// Group join: where all keys of a GROUP BY are computed from the build side of one join below it, a
// build row's group is looked up once, when its first match comes, and not once a joined row.
//
//   aggregate [sum(a)] by [x, y]          x and y are the build side's: they are not gathered
//     ...  filters; joins, whose probe side this is
//       inner join   puts its build rows' numbers into Batch::build_rows
//
// A joined row then costs the load of a group's number, whatever the keys are. The group table
// itself is as ever: groups of several build rows are one, and a build row without a match is in
// none. Where each build row is a group of its own, it is not looked up; if the keys are columns,
// its number is then the group's key, and they are late (late_columns.h): of CH's Q18 only the
// groups that HAVING leaves get them.
//
// For which GROUP BY it pays: group_keys.h.
//
// Threads    one worker's.

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

// BuildRowGroups: the groups of the build rows that were met.
class BuildRowGroups {
 public:
  // The numbers of the groups of rows, each given once: build rows, or those that they refer to.
  using FindGroups = std::function<void(std::span<const uint32_t> rows, uint32_t* groups)>;

  // What the keys read: a column of the join's output, and the way to it from a build row.
  struct KeyColumn {
    uint32_t column;
    ColumnPath path;
  };

  // Of so many build rows, each a group.
  explicit BuildRowGroups(uint64_t build_rows);
  // The columns' stores outlive find(). Where all are of rows that the build rows refer to, these
  // have the groups.
  explicit BuildRowGroups(std::vector<KeyColumn> key_columns);

  // groups[k] = the group of the batch's k-th selected row; kFillAhead behind them may be
  // overwritten. Benchmark: BM_GroupLinesByOrder.
  void find(const Batch& batch, const FindGroups& find_groups, uint32_t* groups);
  // The columns that the keys read, of the join's output, for at most kVectorRows of those rows.
  const Batch& key_columns(std::span<const uint32_t> rows);

  // How many there can be.
  uint64_t groups_max() const { return group_of_row_.size(); }
  size_t memory_bytes() const { return group_of_row_.bytes(); }

 private:
  static constexpr uint32_t kUnknown = KeyTable::kNoKey;
  static constexpr uint32_t kAsked = kUnknown - 1;

  // Of a list of build rows.
  void find_all(const uint32_t* rows, uint32_t count, const FindGroups& find_groups,
                uint32_t* groups);
  void number_new_rows(const FindGroups& find_groups);

  std::vector<KeyColumn> key_columns_;
  const uint32_t* referred_rows_ = nullptr;  // by build row: the one that has its keys
  GrowingArray<uint32_t> group_of_row_;      // or kUnknown
  EqualRuns runs_;
  std::vector<uint32_t> rows_;  // of this batch
  std::vector<uint32_t> run_rows_;
  std::vector<uint32_t> run_groups_;
  std::vector<uint32_t> new_rows_;  // of this batch, each once
  std::vector<uint32_t> new_groups_;
  std::vector<VectorBuffer> buffers_;  // by key column
  Batch key_batch_;
  Selection all_new_;
};

}  // namespace diptych::olap
