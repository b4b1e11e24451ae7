// Empty operators: operators that give no rows, whatever the data, are replaced and do not run.
//
//   join                                       values no rows
//     filter false                    ─►
//       scan ...
//     scan ...
//
// These are conditions that are FALSE or NULL, a LIMIT of 0, and operators above them. Tools use
// them to ask for a query's columns (WHERE 1 = 0, LIMIT 0), and generated queries to switch parts
// off. A GROUP BY without keys gives a row even over no rows. The LIMIT of a correlated subquery is
// a window's filter at this stage, and is not examined.

#pragma once

#include "olap/plan.h"

namespace diptych::olap {

void drop_empty_operators(OperatorPtr* root);

}  // namespace diptych::olap
