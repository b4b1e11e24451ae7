// WITH RECURSIVE before its names are resolved: which of its queries name themselves, and that they
// do so as PostgreSQL's grammar of it says (parse_cte.c there):
//
//   name AS (first term UNION [ALL] recursive term)
//
// with one reference, in the FROM of the recursive term: in no subquery, where no row is made NULL,
// on no side of EXCEPT or INTERSECT ALL. Queries that name each other in a ring are refused.

#pragma once

#include <vector>

#include "olap/sql/parse_tree.h"

namespace diptych::olap {

// By query of the clause: whether it is recursive. Fails with 42P19, or kUnsupported.
base::Result<std::vector<bool>> recursive_queries(const SourceText& source,
                                                  const PgQuery__WithClause& with);

}  // namespace diptych::olap
