// Empty operators: what gives no rows, whatever the data, is not run.
//
//   join                                       values no rows
//     filter false                    ─►
//       scan ...
//     scan ...
//
// A condition that is FALSE or NULL, a LIMIT of 0, and what stands on these: so tools ask for a
// query's columns (WHERE 1 = 0, LIMIT 0), and whole parts of generated queries are switched off. A
// group by no key is a row even of nothing; the LIMIT of a correlated subquery is a window's filter
// by then, and is not looked at.

#pragma once

#include "olap/plan.h"

namespace diptych::olap {

void drop_empty_operators(OperatorPtr* root);

}  // namespace diptych::olap
