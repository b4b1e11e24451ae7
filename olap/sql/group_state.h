// GroupState: a JoinGroup while PlanBuilder plans it.

#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "olap/sql/plan_builder.h"

namespace diptych::olap {

// Subquery joins that no single member takes are planned last.
struct PlanBuilder::GroupState {
  struct Condition {
    ExpressionPtr expression;
    MemberSet members = 0;
  };
  struct Subquery {
    SubqueryJoin* join;
    std::optional<Planned> inner;  // planned before the joins, unless it has a domain
  };

  std::unordered_map<uint32_t, MemberSet> members_by_slot;
  std::vector<Planned> members;
  std::vector<Condition> conditions;            // over two members and more; taken when placed
  std::vector<TextPart>* text_parts = nullptr;  // the group's
  std::vector<Subquery> subqueries;

  MemberSet members_of(const Expression& expression) const {
    MemberSet set = 0;
    for_each_column(expression, [&](const Expression& column) {
      const auto found = members_by_slot.find(column.column);
      if (found != members_by_slot.end()) set |= found->second;
    });
    return set;
  }
  void add_slots(size_t member, const std::vector<uint32_t>& slots) {
    for (const uint32_t slot : slots) members_by_slot[slot] |= MemberSet{1} << member;
  }
};

}  // namespace diptych::olap
