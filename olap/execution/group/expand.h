// Expand: copies every row once for each grouping set, for GROUPING SETS, ROLLUP and CUBE.
//
// A set's copy has NULL in the key columns that the set leaves out, and the set's number in one
// more column. So one GROUP BY over the keys and the number makes the groups of all sets in one
// pass over the input. If groups are much fewer than rows, the input is grouped by all keys first,
// and the groups are expanded (GroupTable::add_sets).
//
// Threads    one worker.

#pragma once

#include "olap/execution/pipeline/pipeline.h"

namespace diptych::olap {

// The kExpand below a GROUP BY whose input should be grouped before it is expanded, or nullptr.
const Operator* expand_of_groups(const Operator& aggregate);

class ExpandStage : public Stage {
 public:
  ExpandStage(const Operator& expand, StagePtr next);
  bool push(Batch& batch) override;

 private:
  const Operator& expand_;
  StagePtr next_;
  VectorBuffer numbers_;
  uint64_t all_null_[kVectorWords];
  Batch output_;
};

}  // namespace diptych::olap
