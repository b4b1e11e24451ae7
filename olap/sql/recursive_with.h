// WITH RECURSIVE before its names are resolved: finds the queries that name themselves, and checks
// that they have the form that PostgreSQL requires (parse_cte.c there):
//
//   name AS (first term UNION [ALL] recursive term)
//
// There is one reference, in the FROM of the recursive term. It is not in a subquery, not on the
// nullable side of an outer join, and not in EXCEPT or INTERSECT ALL. Queries that name each other
// in a ring are refused.

#pragma once

#include <vector>

#include "olap/sql/parse_tree.h"

namespace diptych::olap {

// For each query of the clause, whether it is recursive. Fails with 42P19 or kUnsupported.
base::Result<std::vector<bool>> recursive_queries(const SourceText& source,
                                                  const PgQuery__WithClause& with);

}  // namespace diptych::olap
