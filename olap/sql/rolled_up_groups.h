// Rolled-up groups: a GROUP BY whose rows are those of a finer one of the same plan reads that
// one's groups in place of the rows.
//
//   aggregate [sum(x)] by []                   aggregate [sum(sum(x))] by []
//     join ...                          ─►       aggregate [sum(x)] by [k]
//   ... aggregate [sum(x)] by [k]              ... aggregate [sum(x)] by [k]
//     join ...                                   join ...
//
// The two that are then equal are computed once (execution/pipeline/repeated_operators.h): CH's and
// TPC-H's Q11 join once, whose HAVING compares a group's sum with all groups'.
//
// What rolls up: sums of integers and decimals, which are exact in any order; min and max; counts
// where there are keys, since over no rows they are not NULL. The rows are the same where the
// operators below are, but for columns that only the finer one reads. What it computes beside, of
// which an error could come where the plan runs no finer one, keeps the two apart.

#pragma once

#include "olap/plan.h"

namespace diptych::olap {

void roll_up_groups(Operator* root);

}  // namespace diptych::olap
