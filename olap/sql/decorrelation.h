// Decorrelation: a subquery's block, or its FROM, without references to the query around it, so
// that it is computed once for all outer rows and joined to them: no nested loops.
//
// What the block needs of an outer row becomes conditions over its outputs and the outer slots:
//
//   inner = outer          inner becomes an output, in any block (of an aggregate, a group key; of
//                          a window, a partition; of a limit, one for each value)
//   predicate of both      its inner columns become outputs, in a block of FROM and WHERE alone
//   predicate of outer     moves as it is
//
// Where references would remain, no predicate moves, and the block is unnested (unnesting.h).
// Slots below `first_slot` are the outer query's.

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

bool names_slot_below(const Expression& expression, uint32_t first_slot);
bool names_slot_below(const JoinGroup& group, uint32_t first_slot);
bool names_slot_below(const QueryBlock& block, uint32_t first_slot);

// True where the block is FROM and WHERE, and outputs of single rows.
bool is_simple(const QueryBlock& block);

// True where the block is one group of all rows, or has such a group among others: it has a row
// even where no row is in it.
bool has_standing_group(const QueryBlock& block);

// How a decorrelated block is joined to the outer rows.
struct Ties {
  Expressions conditions;
  Domain domain;
};

// What the caller does with the block.
struct TiesWanted {
  bool equalities = false;      // rows are told apart by conditions: only equalities, or none
  bool groups_lifted = false;   // the row of a group without rows is made above the join
  bool outer_nullable = false;  // the outer slots may be NULL though their columns are not
};

// Whether conditions will do.
bool moves_out(const QueryBlock& block, uint32_t first_slot, TiesWanted wanted);

Ties decorrelate(SlotTable& slots, QueryBlock& block, uint32_t first_slot, TiesWanted wanted);
Ties decorrelate(SlotTable& slots, JoinGroup& group, uint32_t first_slot, TiesWanted wanted);

// By a domain of all the group's references that `is_outer` says.
Ties unnest(SlotTable& slots, JoinGroup& group, const std::function<bool(uint32_t)>& is_outer);

}  // namespace diptych::olap
