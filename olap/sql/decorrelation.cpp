#include "olap/sql/decorrelation.h"

#include <algorithm>
#include <unordered_map>

#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

bool any_below(const Expressions& expressions, uint32_t first_slot) {
  return std::any_of(expressions.begin(), expressions.end(),
                     [&](const ExpressionPtr& e) { return names_slot_below(*e, first_slot); });
}

bool names_own(const Expression& expression, uint32_t first_slot) {
  bool found = false;
  for_each_column(expression,
                  [&](const Expression& c) { found = found || c.column >= first_slot; });
  return found;
}

bool member_names_below(const JoinMember& member, uint32_t first_slot) {
  if (member.block != nullptr && names_slot_below(*member.block, first_slot)) return true;
  for (const Expressions& row : member.rows) {
    if (any_below(row, first_slot)) return true;
  }
  if (member.left_join != nullptr) {
    const LeftJoin& join = *member.left_join;
    return names_slot_below(join.preserved, first_slot) ||
           names_slot_below(join.optional, first_slot) || any_below(join.on, first_slot);
  }
  if (member.set_operation == nullptr) return false;
  const auto& inputs = member.set_operation->inputs;
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const auto& input) { return names_slot_below(*input, first_slot); });
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

ExpressionPtr group_key(SlotTable& slots, QueryBlock& block, ExpressionPtr key) {
  for (size_t i = 0; i < block.group_keys.size(); ++i) {
    if (block.grouping_sets.empty() && equal(*block.group_keys[i], *key)) {
      return slots.column(block.group_slots[i]);
    }
  }
  const Slot slot{"", key->type, key->nullable, nullptr, {}};
  block.group_slots.push_back(slots.add(slot));
  block.group_keys.push_back(std::move(key));
  if (!block.grouping_sets.empty()) block.expanded_slots.push_back(slots.add(slot));
  for (std::vector<bool>& set : block.grouping_sets) set.push_back(true);
  return slots.column(block.group_slots.back());
}

}  // namespace

bool names_slot_below(const Expression& expression, uint32_t first_slot) {
  bool found = false;
  for_each_column(expression, [&](const Expression& c) { found = found || c.column < first_slot; });
  return found;
}

bool names_slot_below(const JoinGroup& group, uint32_t first_slot) {
  if (any_below(group.predicates, first_slot)) return true;
  for (const JoinMember& member : group.members) {
    if (member_names_below(member, first_slot)) return true;
  }
  return std::any_of(group.subqueries.begin(), group.subqueries.end(),
                     [&](const SubqueryJoin& subquery) {
                       return names_slot_below(subquery.inner, first_slot) ||
                              any_below(subquery.conditions, first_slot);
                     });
}

bool names_slot_below(const QueryBlock& block, uint32_t first_slot) {
  if (names_slot_below(block.from, first_slot) || any_below(block.group_keys, first_slot) ||
      any_below(block.having, first_slot)) {
    return true;
  }
  for (const Aggregate& aggregate : block.aggregates) {
    if (any_below(aggregate.further, first_slot)) return true;
    if (aggregate.argument != nullptr && names_slot_below(*aggregate.argument, first_slot)) {
      return true;
    }
  }
  for (const Window& window : block.windows) {
    for (const WindowColumn& column : window.columns) {
      if (names_slot_below(*column.expression, first_slot)) return true;
    }
  }
  for (const SubqueryJoin& subquery : block.subqueries) {
    if (names_slot_below(subquery.inner, first_slot) ||
        any_below(subquery.conditions, first_slot)) {
      return true;
    }
  }
  return std::any_of(block.outputs.begin(), block.outputs.end(), [&](const OutputColumn& output) {
    return names_slot_below(*output.expression, first_slot);
  });
}

bool is_simple(const QueryBlock& block) {
  return !block.aggregated && block.windows.empty() && !block.distinct &&
         block.distinct_on.empty() && block.limit == kNoLimit && block.offset == 0;
}

uint32_t expose(SlotTable& slots, QueryBlock& block, ExpressionPtr expression) {
  if (block.aggregated) expression = group_key(slots, block, std::move(expression));
  for (Window& window : block.windows) {
    const uint32_t slot = slots.add({"", expression->type, expression->nullable, nullptr, {}});
    window.partition.push_back(window.columns.size());
    window.columns.push_back({clone(*expression), slot});
  }
  const size_t place = block.visible_outputs++;
  const uint32_t slot = slots.add({"", expression->type, expression->nullable, nullptr, {}});
  block.outputs.insert(block.outputs.begin() + static_cast<std::ptrdiff_t>(place),
                       {"", std::move(expression), slot, false});
  for (SortItem& item : block.sort) item.output += item.output >= place ? 1 : 0;
  for (size_t& output : block.distinct_on) output += output >= place ? 1 : 0;
  if (!block.distinct_on.empty()) block.distinct_on.push_back(place);
  if (block.limit != kNoLimit || block.offset != 0) {
    block.limit_partition.push_back(place);
    block.number_slot = slots.add({"", kBigIntType, false, nullptr, {}});
  }
  return slot;
}

base::Result<void> decorrelate_members(const SourceText& source, int64_t offset, SlotTable& slots,
                                       QueryBlock& block, uint32_t first_slot) {
  for (JoinMember& member : block.from.members) {
    if (member.block == nullptr || !names_slot_below(*member.block, first_slot)) continue;
    auto conditions = decorrelate(source, offset, slots, *member.block, first_slot);
    if (!conditions) return conditions.error();
    member.slots.clear();
    for (size_t i = 0; i < member.block->visible_outputs; ++i) {
      member.slots.push_back(member.block->outputs[i].slot);
    }
    for (ExpressionPtr& c : *conditions) block.from.predicates.push_back(std::move(c));
  }
  return {};
}

base::Result<Expressions> decorrelate(const SourceText& source, int64_t offset, SlotTable& slots,
                                      QueryBlock& block, uint32_t first_slot) {
  auto members = decorrelate_members(source, offset, slots, block, first_slot);
  if (!members) return members.error();
  const bool simple = is_simple(block);
  Expressions conditions;
  Expressions kept;
  for (ExpressionPtr& predicate : block.from.predicates) {
    size_t own = 0;
    if (!names_slot_below(*predicate, first_slot)) {
      kept.push_back(std::move(predicate));
    } else if (is_key(*predicate, first_slot, &own)) {
      const uint32_t slot = expose(slots, block, std::move(predicate->children[own]));
      predicate->children[own] = slots.column(slot);
      conditions.push_back(std::move(predicate));
    } else if (simple || !names_own(*predicate, first_slot)) {
      for_each_column(*predicate, [&](Expression& column) {
        if (column.column < first_slot) return;
        column.column = expose(slots, block, slots.column(column.column));
      });
      conditions.push_back(std::move(predicate));
    } else {
      kept.push_back(std::move(predicate));
    }
  }
  block.from.predicates = std::move(kept);
  const bool ties = block.with_ties && !conditions.empty();
  if (ties || names_slot_below(block, first_slot)) {
    return source.unsupported(offset,
                              "a correlation like this one, other than by equality in the "
                              "subquery's own WHERE,");
  }
  return conditions;
}

}  // namespace diptych::olap
