// NeededColumns: which output columns of each operator of a plan anybody reads.
//
// A join's output repeats its keys, and a front end need not prune: columns that nothing above
// reads are neither loaded by scans, nor kept by joins and sorts, nor gathered. Such a column stays
// in its place as a Vector without values.
//
// Threads    immutable once built; the plan must stay.

#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "olap/plan.h"

namespace diptych::olap {

// The column of an inner join's probe side that a build column is equal to in every joined row, bit
// by bit: a key of integers. The joined row has that one in its place.
std::optional<uint32_t> probe_twin(const Operator& join, uint32_t build_column);

class NeededColumns {
 public:
  // Of the root, the first `root_columns` columns are needed.
  NeededColumns(const Operator& root, size_t root_columns);

  const std::vector<bool>& of(const Operator& op) const { return needed_.at(&op); }
  // The columns of a join's build side that its output or its residual predicates need, and of
  // which the probe side has no twin: those that its table keeps (keys are kept in packed form).
  const std::vector<bool>& kept_by(const Operator& join) const { return kept_.at(&join); }
  // Those of them that a joined row has: the others are only keys of a GROUP BY that takes them
  // from the table (group_join.h).
  const std::vector<bool>& gathered_by(const Operator& join) const { return gathered_.at(&join); }
  // The join that a GROUP BY takes its keys from; nullptr where it computes them from its rows.
  const Operator* key_join_of(const Operator& aggregate) const {
    const auto found = key_joins_.find(&aggregate);
    return found == key_joins_.end() ? nullptr : found->second;
  }
  // Whether some GROUP BY does so with this join.
  bool numbers_build_rows(const Operator& join) const { return key_columns_.contains(&join); }

 private:
  void visit(const Operator& op, std::vector<bool> needed);
  void visit_join(const Operator& op, const std::vector<bool>& needed);
  void visit_keys(const Operator& aggregate, std::vector<bool>* input);

  std::unordered_map<const Operator*, std::vector<bool>> needed_;
  std::unordered_map<const Operator*, std::vector<bool>> kept_;         // by join
  std::unordered_map<const Operator*, std::vector<bool>> gathered_;     // by join
  std::unordered_map<const Operator*, const Operator*> key_joins_;      // by aggregate
  std::unordered_map<const Operator*, std::vector<bool>> key_columns_;  // of the join's output
};

}  // namespace diptych::olap
