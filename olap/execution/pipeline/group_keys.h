// Where the keys of a GROUP BY come from: the join below it whose build side has them all, so that
// groups are numbers of build rows (group_join.h).
//
// Threads    any.

#pragma once

#include "olap/plan.h"

namespace diptych::olap {

// The join below a GROUP BY whose build side has all its keys; nullptr where there is none, or
// where the array of group numbers would cost more than it saves.
const Operator* join_of_group_keys(const Operator& aggregate);

// Whether the keys hold those by which the join finds a build row: where it finds at most one
// (JoinTable::unique), no two build rows have equal keys.
bool has_build_keys(const Operator& aggregate, const Operator& join);
// The same, and whether the keys are columns of the build rows: the number of one has them all.
bool build_rows_may_be_groups(const Operator& aggregate, const Operator& join);

}  // namespace diptych::olap
