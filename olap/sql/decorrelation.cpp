#include "olap/sql/decorrelation.h"

#include <algorithm>
#include <set>

#include "olap/sql/unnesting.h"

namespace diptych::olap {
namespace {

bool names_own(const Expression& expression, uint32_t first_slot) {
  bool found = false;
  for_each_column(expression,
                  [&](const Expression& c) { found = found || c.column >= first_slot; });
  return found;
}

template <class Tree>
bool any_below(const Tree& tree, uint32_t first_slot) {
  bool found = false;
  for_each_column(tree, [&](const Expression& c) { found = found || c.column < first_slot; });
  return found;
}

template <class Tree>
std::vector<uint32_t> named_slots(const Tree& tree, const std::function<bool(uint32_t)>& wanted) {
  std::set<uint32_t> found;
  for_each_column(tree, [&](const Expression& c) {
    if (wanted(c.column)) found.insert(c.column);
  });
  return {found.begin(), found.end()};
}

// The two sides of `own = outer`, if the predicate is one.
bool is_key(const Expression& predicate, uint32_t first_slot, size_t* own_side) {
  if (predicate.kind != ExpressionKind::kEqual) return false;
  for (size_t side = 0; side < 2; ++side) {
    const Expression& own = *predicate.children[side];
    const Expression& outer = *predicate.children[1 - side];
    if (names_slot_below(own, first_slot) || names_own(outer, first_slot) ||
        !names_own(own, first_slot)) {
      continue;
    }
    *own_side = side;
    return true;
  }
  return false;
}

bool only_predicates_name_below(const JoinGroup& group, uint32_t first_slot, bool equalities);

bool only_predicates_name_below(const JoinGroup& group, uint32_t first_slot, bool equalities) {
  for (const JoinMember& member : group.members) {
    if (!any_below(member, first_slot)) continue;
    if (member.block == nullptr) return false;
    if (!moves_out(*member.block, first_slot, {.equalities = equalities})) return false;
  }
  for (const SubqueryJoin& subquery : group.subqueries) {
    for (const Expressions* part : {&subquery.conditions, &subquery.domain.values}) {
      for (const ExpressionPtr& e : *part) {
        if (names_slot_below(*e, first_slot)) return false;
      }
    }
  }
  return std::all_of(group.predicates.begin(), group.predicates.end(), [&](const ExpressionPtr& p) {
    size_t side = 0;
    return !equalities || !names_slot_below(*p, first_slot) || !names_own(*p, first_slot) ||
           is_key(*p, first_slot, &side);
  });
}

Expressions move_out(SlotTable& slots, QueryBlock& block, uint32_t first_slot);

// Takes the predicates that name outer slots out of the group, and those in its derived tables.
Expressions take_correlated(SlotTable& slots, JoinGroup& group, uint32_t first_slot) {
  for (JoinMember& member : group.members) {
    if (member.block == nullptr || !names_slot_below(*member.block, first_slot)) continue;
    Expressions conditions = move_out(slots, *member.block, first_slot);
    member = derived_member(std::move(member.block));
    for (ExpressionPtr& c : conditions) group.predicates.push_back(std::move(c));
  }
  const auto first_taken = std::stable_partition(
      group.predicates.begin(), group.predicates.end(),
      [&](const ExpressionPtr& p) { return !names_slot_below(*p, first_slot); });
  Expressions taken(std::make_move_iterator(first_taken),
                    std::make_move_iterator(group.predicates.end()));
  group.predicates.erase(first_taken, group.predicates.end());
  return taken;
}

Expressions move_out(SlotTable& slots, QueryBlock& block, uint32_t first_slot) {
  Expressions conditions = take_correlated(slots, block.from, first_slot);
  for (ExpressionPtr& condition : conditions) {
    size_t own = 0;
    if (is_key(*condition, first_slot, &own)) {
      ExpressionPtr& side = condition->children[own];
      side = slots.column(expose(slots, block, std::move(side)));
      continue;
    }
    for_each_column(*condition, [&](Expression& column) {
      if (column.column < first_slot) return;
      column.column = expose(slots, block, slots.column(column.column));
    });
  }
  return conditions;
}

}  // namespace

bool names_slot_below(const Expression& expression, uint32_t first_slot) {
  return any_below(expression, first_slot);
}

bool names_slot_below(const QueryBlock& block, uint32_t first_slot) {
  return any_below(block, first_slot);
}

bool is_simple(const QueryBlock& block) {
  return !block.aggregated && block.windows.empty() && !block.distinct &&
         block.distinct_on.empty() && block.limit == kNoLimit && block.offset == 0 &&
         block.repeat_slot == 0;
}

bool has_standing_group(const QueryBlock& block) {
  if (!block.aggregated) return false;
  if (block.grouping_sets.empty()) return block.group_keys.empty();
  return std::any_of(block.grouping_sets.begin(), block.grouping_sets.end(),
                     [](const std::vector<bool>& set) {
                       return std::find(set.begin(), set.end(), true) == set.end();
                     });
}

bool moves_out(const QueryBlock& block, uint32_t first_slot, TiesWanted wanted) {
  if (has_standing_group(block) && !wanted.groups_lifted) return false;
  size_t in_from = 0;
  size_t in_all = 0;
  const auto count_in = [first_slot](size_t* count) {
    return [count, first_slot](const Expression& c) { *count += c.column < first_slot ? 1 : 0; };
  };
  for_each_column(block.from, count_in(&in_from));
  for_each_column(block, count_in(&in_all));
  return in_from == in_all &&
         only_predicates_name_below(block.from, first_slot, wanted.equalities || !is_simple(block));
}

Ties decorrelate(SlotTable& slots, QueryBlock& block, uint32_t first_slot, TiesWanted wanted) {
  if (moves_out(block, first_slot, wanted)) return {move_out(slots, block, first_slot), {}};
  const std::vector<uint32_t> outer =
      named_slots(block, [&](uint32_t slot) { return slot < first_slot; });
  if (outer.empty()) return {};
  Unnesting unnesting(slots, outer, wanted.outer_nullable);
  Expressions given =
      unnesting.add_to(block, wanted.groups_lifted ? Unnesting::EmptyGroups::kLeftOut
                                                   : Unnesting::EmptyGroups::kKept);
  return {unnesting.conditions(std::move(given)), unnesting.domain()};
}

Ties decorrelate(SlotTable& slots, JoinGroup& group, uint32_t first_slot, TiesWanted wanted) {
  if (only_predicates_name_below(group, first_slot, wanted.equalities)) {
    return {take_correlated(slots, group, first_slot), {}};
  }
  const auto is_outer = [&](uint32_t slot) { return slot < first_slot; };
  Unnesting unnesting(slots, named_slots(group, is_outer), wanted.outer_nullable);
  Expressions given = unnesting.add_to(group);
  return {unnesting.conditions(std::move(given)), unnesting.domain()};
}

Ties unnest(SlotTable& slots, JoinGroup& group, const std::function<bool(uint32_t)>& is_outer) {
  Unnesting unnesting(slots, named_slots(group, is_outer), false);
  Expressions given = unnesting.add_to(group);
  return {unnesting.conditions(std::move(given)), unnesting.domain()};
}

}  // namespace diptych::olap
