// NeededColumns: which output columns of each operator of a plan anybody reads.
//
// A join's output repeats its keys, and a front end need not prune: columns that nothing above
// reads are neither loaded by scans, nor kept by joins and sorts, nor gathered. Such a column stays
// in its place as a Vector without values.
//
// Threads    immutable once built; the plan must stay.

#pragma once

#include <unordered_map>
#include <vector>

#include "olap/plan.h"

namespace diptych::olap {

class NeededColumns {
 public:
  // Of the root, the first `root_columns` columns are needed.
  NeededColumns(const Operator& root, size_t root_columns);

  const std::vector<bool>& of(const Operator& op) const { return needed_.at(&op); }
  // The columns of a join's build side that its output or its residual predicates need: those that
  // its table keeps (keys are kept in packed form).
  const std::vector<bool>& kept_by(const Operator& join) const { return kept_.at(&join); }

 private:
  void visit(const Operator& op, std::vector<bool> needed);
  void visit_join(const Operator& op, const std::vector<bool>& needed);

  std::unordered_map<const Operator*, std::vector<bool>> needed_;
  std::unordered_map<const Operator*, std::vector<bool>> kept_;  // by join
};

}  // namespace diptych::olap
