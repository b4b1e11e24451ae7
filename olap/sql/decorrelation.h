// Decorrelation: removes the references of a subquery's block, or of its FROM, to the query around
// it. The block is then computed once for all outer rows and joined to them, without nested loops.
//
// References to the outer row become conditions over the block's outputs and the outer slots:
//
//   inner = outer          `inner` becomes an output, in any block: a group key of an aggregate, a
//                          partition of a window, a value for each of which a limit holds
//   predicate of both      its inner columns become outputs, if the block has only FROM and WHERE
//   predicate of outer     moves unchanged
//
// If references would remain, no predicate moves, and the block is unnested (unnesting.h). Slots
// below `first_slot` belong to the outer query.

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

bool names_slot_below(const Expression& expression, uint32_t first_slot);
bool names_slot_below(const QueryBlock& block, uint32_t first_slot);

// True if the block has only FROM, WHERE, and outputs computed from single rows.
bool is_simple(const QueryBlock& block);

// True if the block has a group of all rows, which gives an output row even over no rows.
bool has_standing_group(const QueryBlock& block);

// The join of a decorrelated block to the outer rows.
struct Ties {
  Expressions conditions;
  Domain domain;
};

// The caller's requirements.
struct TiesWanted {
  bool equalities = false;      // conditions must be equalities, since they tell rows apart
  bool groups_lifted = false;   // the caller makes the row of a group without rows above the join
  bool outer_nullable = false;  // the outer slots may be NULL although their columns are not
};

// True if conditions are enough, so that the block need not be unnested.
bool moves_out(const QueryBlock& block, uint32_t first_slot, TiesWanted wanted);

Ties decorrelate(SlotTable& slots, QueryBlock& block, uint32_t first_slot, TiesWanted wanted);
Ties decorrelate(SlotTable& slots, JoinGroup& group, uint32_t first_slot, TiesWanted wanted);

// Unnests the group by a domain of all its references for which `is_outer` is true.
Ties unnest(SlotTable& slots, JoinGroup& group, const std::function<bool(uint32_t)>& is_outer);

}  // namespace diptych::olap
