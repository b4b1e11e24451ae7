// Predicate pushdown: conditions on what a derived table, a set operation or a GROUP BY gives, put
// where its rows come from, so that fewer are grouped, numbered and joined.
//
//   GROUP BY        a condition on group keys holds for all rows of a group or for none
//   windows         so does one on what all of them are partitioned by, for a partition's rows
//   set operations  a row's condition is asked of the inputs' rows
//   left joins      what a condition says of a column, an equality of ON says of the other side's
//
// Only conditions that cannot fail move, since they meet rows that they would not have met. Blocks
// that choose rows by their order or number (LIMIT, DISTINCT ON), and CTEs that are named several
// times, which are computed once, keep theirs above them.

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

// Moves into the member those of the predicates, which are on its slots alone, that its rows'
// sources can be asked. What is left holds for its rows.
void push_down(JoinMember& member, Expressions* predicates);

// Moves conditions of HAVING that are on group keys alone in front of the grouping.
void push_down_having(QueryBlock& block);

// What the predicates say of columns that the condition equates with those that they name.
Expressions carried_over(const Expressions& predicates, const Expression& condition);

}  // namespace diptych::olap
