// Decorrelation: a subquery's block without references to the query around it.
//
// What ties the block's rows to an outer row moves into conditions over the block's outputs and the
// outer slots, and the block's keys become outputs (of an aggregate, group keys; of a window,
// partitions; of a limit, one for each value), so that the block is computed once for all outer
// rows and joined: no nested loops.
//
//   inner = outer          inner becomes an output, in any block
//   predicate of both      its inner columns become outputs, in a block of FROM and WHERE alone
//   predicate of outer     moves as it is
//
// Slots below `first_slot` are the outer query's.

#pragma once

#include "olap/sql/query_block.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

bool names_slot_below(const Expression& expression, uint32_t first_slot);
bool names_slot_below(const JoinGroup& group, uint32_t first_slot);
bool names_slot_below(const QueryBlock& block, uint32_t first_slot);

// True where the block is FROM and WHERE, and outputs of single rows.
bool is_simple(const QueryBlock& block);

// Makes the expression, over the block's own slots, a visible output of it; gives its slot.
uint32_t expose(SlotTable& slots, QueryBlock& block, ExpressionPtr expression);

// Moves what the block's derived tables have of the outer query into its own predicates.
base::Result<void> decorrelate_members(const SourceText& source, int64_t offset, SlotTable& slots,
                                       QueryBlock& block, uint32_t first_slot);

// Takes the correlated predicates out of the block, and gives the conditions that stand for them.
// Fails with kUnsupported at the offset, where references to the outer query remain.
base::Result<Expressions> decorrelate(const SourceText& source, int64_t offset, SlotTable& slots,
                                      QueryBlock& block, uint32_t first_slot);

}  // namespace diptych::olap
