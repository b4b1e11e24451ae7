// Unnesting: computes a subquery of any shape for all outer rows at once, after Neumann and Kemper,
// "Unnesting Arbitrary Queries" (BTW 2015).
//
// The domain is the set of distinct values of the outer columns that the subquery names. It is
// joined into the subquery's FROM, replaces these columns there, and is carried up as outputs,
// which gives the subquery's rows for each value. The join with the outer rows is null-safe
// (same_value).
//
//   grouping           the domain's columns are group keys; a group that exists even without rows
//                      is left-joined to the domain, and its counts are then 0
//   windows, limits    the domain's columns become partitions; limits apply to each value
//   set operations     each input has the domain, as columns of the operation
//   derived tables     each has the domain; their domains are joined
//   outer joins        both sides have the domain if both need it
//
// The planner makes the domain from a copy of the outer rows' plan (plan_builder.h).

#pragma once

#include "olap/sql/query_block.h"

namespace diptych::olap {

class Unnesting {
 public:
  // `nullable` says that the outer slots may be NULL although their columns are not.
  Unnesting(SlotTable& slots, std::vector<uint32_t> outer, bool nullable);

  // Adds the domain to the group and returns the expressions that replace the outer slots, in
  // order.
  Expressions add_to(JoinGroup& group);
  // As above, over the block's outputs. kLeftOut: the caller adds groups without rows.
  enum class EmptyGroups : uint8_t { kKept, kLeftOut };
  Expressions add_to(QueryBlock& block, EmptyGroups empty);

  // For the join of the unnested subquery with the outer rows.
  Domain domain() const;
  // The conditions that the result of add_to() equals the outer slots.
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

// Makes the expression a visible output that tells the block's rows apart, and returns its slot. It
// is over the block's own slots; in a grouped block, over those below the grouping.
uint32_t expose(SlotTable& slots, QueryBlock& block, ExpressionPtr expression);

// The column of a left join with groups, corrected for groups without rows, which have no row
// there.
ExpressionPtr over_no_rows(AggregateKind kind, ExpressionPtr column);

}  // namespace diptych::olap
