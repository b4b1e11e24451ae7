// Shared blocks: what the uses of a CTE ask of the groups that are computed once for all of them.
//
//   WITH g AS (SELECT a, b, sum(x) FROM t GROUP BY a, b)
//   SELECT ... FROM g AS p, g AS q WHERE p.a = 1 AND q.a = 2 AND p.b = 7
//     ->  the rows of t in both copies of g are asked: (a = 1 AND b = 7) OR a = 2
//
// A CTE is bound at each use. A predicate of one use alone would make its groups differ from those
// of the others, which would then be computed several times. The disjunction of what all uses ask
// leaves them equal, and each use still filters its groups. It is added if each use has a predicate
// that could move into the block (predicate_pushdown.h).

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

// Adds the disjunctions to the shared blocks of the statement, outer ones first. Before planning,
// which moves predicates out of their clauses.
void ask_shared_blocks(QueryBlock& statement, const PlanningWork& work);

}  // namespace diptych::olap
