// Unnesting: a subquery of any shape computed for all outer rows at once, after Neumann and Kemper,
// "Unnesting Arbitrary Queries" (BTW 2015).
//
// The domain, the distinct values of the outer columns that the subquery names, is joined into the
// subquery's FROM, stands for these columns there, and is carried up as outputs: the subquery's
// rows for each value. Who joins them to the outer rows compares null-safely (same_value).
//
//   grouping           the domain's columns are group keys; a group that is there even without rows
//                      is left-joined to the domain, and its counts are then 0
//   windows, limits    partitions, and limits by value
//   set operations     each input has the domain, as columns of the operation
//   derived tables     each has the domain; theirs are joined
//   outer joins        both sides have it, where both need it
//
// The planner makes the domain of a copy of the outer rows' plan (plan_builder.h).

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

class Unnesting {
 public:
  // The outer slots; `nullable`: they may be NULL though their columns are not.
  Unnesting(SlotTable& slots, std::vector<uint32_t> outer, bool nullable);

  // Gives, in the order of the outer slots, what stands for them in the group.
  Expressions add_to(JoinGroup& group);
  // The same over the block's outputs. A group without rows is there, or the caller sees to it.
  enum class EmptyGroups : uint8_t { kKept, kLeftOut };
  Expressions add_to(QueryBlock& block, EmptyGroups empty);

  // For those who join what was unnested to the outer rows.
  Domain domain() const;
  // What add_to gave equals the outer slots.
  Expressions conditions(Expressions given) const;

 private:
  Expressions add_to(JoinMember& member);
  Expressions add_to_left_join(JoinMember& member);
  Expressions add_to_set_operation(JoinMember& member);
  Expressions lift_groups(QueryBlock& block);
  Expressions join_domains(JoinMember& member, Expressions preserved, const Expressions& optional);
  JoinMember domain_member();
  uint32_t own_slot(uint32_t outer);
  bool is_outer(uint32_t slot) const;
  template <class Tree>
  bool names_outer(const Tree& tree) const;
  Expressions columns_of(const std::vector<uint32_t>& slots) const;
  ExpressionPtr outer_column(size_t i) const;
  void replace(ExpressionPtr* expression, const Expressions& given) const;
  void replace(Expressions* expressions, const Expressions& given) const {
    for (ExpressionPtr& expression : *expressions) replace(&expression, given);
  }

  SlotTable& slots_;
  std::vector<uint32_t> outer_;  // ascending
  bool nullable_;
  uint32_t id_;
};

// a IS NOT DISTINCT FROM b, as equalities that a join can hash.
Expressions same_value(ExpressionPtr a, ExpressionPtr b);

// Makes the expression, over the block's own slots (of a grouped block: those below the grouping),
// a visible output by which its rows are told apart; gives its slot.
uint32_t expose(SlotTable& slots, QueryBlock& block, ExpressionPtr expression);

// The column of a left join with groups, where a group without rows has no row there.
ExpressionPtr over_no_rows(AggregateKind kind, ExpressionPtr column);

}  // namespace diptych::olap
