// Predicate pushdown: moves conditions on the outputs of a derived table, a set operation or a
// GROUP BY down to its inputs, so that fewer rows are grouped, numbered and joined.
//
//   GROUP BY        a condition on group keys holds for all rows of a group or for none
//   windows         a condition on columns by which all windows are partitioned holds for all rows
//                   of a partition or for none
//   set operations  a condition on a row is evaluated on the inputs' rows
//   left joins      an equality of ON carries a condition on one side's column to the other's
//
// Only conditions that cannot fail move, because they are then evaluated for further rows. No
// condition moves into a block that chooses rows by order or number (LIMIT, DISTINCT ON). What is
// computed once for all uses of a CTE takes no condition of one use alone (shared_blocks.h).

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

// True if the block has groups, windows or distinct rows and is bound several times, because a CTE
// is named several times. Execution computes such groups once if the blocks are equal
// (execution/pipeline/repeated_operators.h).
bool is_computed_once(const QueryBlock& block);

// A predicate on a block's outputs in terms of the block's rows before or after its grouping, and
// the clause that would ask it: WHERE or HAVING. Without an expression: the block cannot ask it.
struct PlacedPredicate {
  Expressions* clause = nullptr;
  ExpressionPtr expression;
};
PlacedPredicate place_in(QueryBlock& block, const Expression& predicate);

// A predicate on the slots of a set operation, on the outputs of one of its inputs; nullptr if it
// could fail there.
ExpressionPtr over_input(const JoinMember& member, size_t input, const Expression& predicate);

// Moves those of the predicates into the member that its inputs can evaluate. All are over its
// slots alone. The remaining ones apply to its rows.
void push_down(JoinMember& member, Expressions* predicates);

// Moves conditions of HAVING over group keys alone below the grouping.
void push_down_having(QueryBlock& block);

// The predicates carried over to columns that the condition equates with theirs.
Expressions carried_over(const Expressions& predicates, const Expression& condition);

}  // namespace diptych::olap
