// Rolled-up groups: if a GROUP BY and a finer GROUP BY of the same plan group the same rows, the
// coarser one reads the groups of the finer one in place of the rows.
//
//   aggregate [sum(x)] by []                   aggregate [sum(sum(x))] by []
//     join ...                          ─►       aggregate [sum(x)] by [k]
//   ... aggregate [sum(x)] by [k]              ... aggregate [sum(x)] by [k]
//     join ...                                   join ...
//
// The two equal GROUP BYs are then computed once (execution/pipeline/repeated_operators.h). So CH's
// and TPC-H's Q11, whose HAVING compares a group's sum with the sum over all groups, joins once.
//
// Sums of integers and decimals roll up, because they are exact in any order; so do min and max,
// and counts if there are keys (over no rows they are not NULL). The rows are the same if the
// operators below are equal, except for columns that only the finer GROUP BY reads. If the finer
// one computes something else that could fail, and might otherwise not run, the two stay apart.

#pragma once

#include "olap/plan.h"

namespace diptych::olap {

void roll_up_groups(Operator* root);

}  // namespace diptych::olap
