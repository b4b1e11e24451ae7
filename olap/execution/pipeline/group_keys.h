// Finds the join below a GROUP BY whose build side has all group keys, so that groups can be found
// by the numbers of build rows (group_join.h).
//
// Threads    any.

#pragma once

#include "olap/plan.h"

namespace diptych::olap {

// The join below a GROUP BY whose build side has all its keys. nullptr if there is none, or if the
// array of group numbers would cost more than it saves.
const Operator* join_of_group_keys(const Operator& aggregate);

// True if the group keys include the join's build keys. Then, if the join finds at most one build
// row for a key (JoinTable::unique), no two build rows have equal group keys.
bool has_build_keys(const Operator& aggregate, const Operator& join);
// True if, in addition, the group keys are columns of the build rows, so that the number of a build
// row determines all of them.
bool build_rows_may_be_groups(const Operator& aggregate, const Operator& join);

}  // namespace diptych::olap
