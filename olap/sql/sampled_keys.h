// How often a table's predicates hold for the keys that another table refers to, by sampled rows.
//
//   sales.day ─► calendar.day    in 2001
//
// Sales are of five years, the calendar of two centuries. Of all its days, one in 200 is in 2001;
// of those that sales refer to, one in five is. Dimensions with ascending keys are like this.
//
// Threads    any; nothing is shared.
// Cost       a copy of each column's sample that is compared, and a pass over its rows; only where
//            the bounds leave out half of the keys.

#pragma once

#include "base/ids.h"
#include "olap/plan.h"
#include "olap/table_statistics.h"

namespace diptych::olap {

// The share of rows for which the scan's predicates hold, among those with a key within the bounds,
// divided by their share among all. 1 if the samples do not say, or if the bounds leave out few.
double share_of_keys(const TableStatistics& statistics, const Operator& scan, base::ColumnId key,
                     const ColumnBounds& referred);

}  // namespace diptych::olap
