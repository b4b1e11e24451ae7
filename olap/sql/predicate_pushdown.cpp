#include "olap/sql/predicate_pushdown.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "olap/sql/constant_folding.h"
#include "olap/sql/planned.h"
#include "olap/sql/predicate_rules.h"

namespace diptych::olap {
namespace {

bool names_slot_of(const std::vector<uint32_t>& slots, const Expression& expression) {
  bool names = false;
  for_each_column(expression, [&](const Expression& column) {
    names = names || std::find(slots.begin(), slots.end(), column.column) != slots.end();
  });
  return names;
}

// The predicate over expressions in place of slots; nullptr where it could fail.
template <class ValueOf>
ExpressionPtr over(const Expression& predicate, ValueOf&& value_of) {
  ExpressionPtr moved = clone(predicate);
  substitute(&moved, [&](const Expression& column) -> ExpressionPtr {
    const Expression* const value = value_of(column.column);
    return value == nullptr ? nullptr : clone(*value);
  });
  moved = fold_tree(std::move(moved));
  return cannot_fail(*moved) ? std::move(moved) : nullptr;
}

const Expression* group_key(const QueryBlock& block, uint32_t slot) {
  const auto found = std::find(block.group_slots.begin(), block.group_slots.end(), slot);
  if (found == block.group_slots.end()) return nullptr;
  return block.group_keys[static_cast<size_t>(found - block.group_slots.begin())].get();
}

// Of a condition over the block's groups, the same over its rows in FROM; nullptr where it is on
// something else too.
ExpressionPtr over_rows(const QueryBlock& block, const Expression& condition) {
  if (!block.grouping_sets.empty() || !names_a_column(condition)) return nullptr;
  bool is_of_keys = true;
  for_each_column(condition, [&](const Expression& column) {
    is_of_keys = is_of_keys && group_key(block, column.column) != nullptr;
  });
  if (!is_of_keys) return nullptr;
  return over(condition, [&](uint32_t slot) { return group_key(block, slot); });
}

bool is_partitioned_by(const Window& window, const Expression& value) {
  return std::any_of(window.partition.begin(), window.partition.end(), [&](size_t column) {
    return equal(*window.columns[column].expression, value);
  });
}

const Expression* output_of(const QueryBlock& block, uint32_t slot) {
  for (const OutputColumn& output : block.outputs) {
    if (output.slot == slot) return output.expression.get();
  }
  return nullptr;
}

bool chooses_rows(const QueryBlock& block) {
  return block.limit != kNoLimit || block.offset != 0 || block.with_ties ||
         !block.distinct_on.empty() || !block.limit_partition.empty();
}

// Whether the block's rows could be asked the predicate, on its outputs; if so, they are.
bool push_into(QueryBlock& block, const Expression& predicate) {
  PlacedPredicate placed = place_in(block, predicate);
  if (placed.expression == nullptr) return false;
  if (is_true_literal(*placed.expression)) return true;
  // A use that needs no row does not need the groups either.
  if (is_computed_once(block) && !is_literal(*placed.expression)) return false;
  placed.clause->push_back(std::move(placed.expression));
  return true;
}

bool push_into(JoinMember& member, const Expression& predicate) {
  if (member.block != nullptr) return push_into(*member.block, predicate);
  if (member.set_operation == nullptr || member.set_operation->recursion != 0) return false;
  SetOperation& operation = *member.set_operation;
  bool are_asked = true;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const ExpressionPtr moved = over_input(member, i, predicate);
    are_asked = moved != nullptr && push_into(*operation.inputs[i], *moved) && are_asked;
  }
  return are_asked;
}

// The other column, where the condition equates one with the slot.
const Expression* equal_column(const Expression& condition, uint32_t slot) {
  if (condition.kind != ExpressionKind::kEqual) return nullptr;
  const Expression& left = *condition.children[0];
  const Expression& right = *condition.children[1];
  if (left.kind != ExpressionKind::kColumn || right.kind != ExpressionKind::kColumn) return nullptr;
  return left.column == slot ? &right : right.column == slot ? &left : nullptr;
}

}  // namespace

bool is_computed_once(const QueryBlock& block) {
  if (block.times_bound == nullptr || *block.times_bound < 2) return false;
  const auto& members = block.from.members;
  return block.aggregated || block.distinct || !block.windows.empty() || rows_may_differ(block) ||
         std::any_of(members.begin(), members.end(), [](const JoinMember& member) {
           return member.set_operation != nullptr && !member.set_operation->all;
         });
}

PlacedPredicate place_in(QueryBlock& block, const Expression& predicate) {
  if (chooses_rows(block) || block.has_working || block.repeat_slot != 0) return {};
  bool is_partition = true;
  for_each_column(predicate, [&](const Expression& column) {
    const Expression* const value = output_of(block, column.column);
    is_partition =
        is_partition && value != nullptr && !names_a_subquery(block.window_subqueries, *value) &&
        std::all_of(block.windows.begin(), block.windows.end(),
                    [&](const Window& window) { return is_partitioned_by(window, *value); });
  });
  if (!is_partition) return {};
  ExpressionPtr moved = over(predicate, [&](uint32_t slot) { return output_of(block, slot); });
  if (moved == nullptr) return {};
  if (!block.aggregated) return {&block.from.predicates, std::move(moved)};
  ExpressionPtr below = over_rows(block, *moved);
  if (below != nullptr) return {&block.from.predicates, std::move(below)};
  const bool keeps_groups = block.windows.empty() && !is_literal(*moved);
  return keeps_groups ? PlacedPredicate() : PlacedPredicate{&block.having, std::move(moved)};
}

ExpressionPtr over_input(const JoinMember& member, size_t input, const Expression& predicate) {
  return over(predicate, [&](uint32_t slot) -> const Expression* {
    const auto found = std::find(member.slots.begin(), member.slots.end(), slot);
    if (found == member.slots.end()) return nullptr;
    return member.set_operation->columns[input][found - member.slots.begin()].get();
  });
}

void push_down(JoinMember& member, Expressions* predicates) {
  std::erase_if(*predicates, [&](const ExpressionPtr& predicate) {
    return names_slot_of(member.slots, *predicate) && push_into(member, *predicate);
  });
}

void push_down_having(QueryBlock& block) {
  if (!block.aggregated) return;
  std::erase_if(block.having, [&](const ExpressionPtr& condition) {
    if (names_a_subquery(block.subqueries, *condition)) return false;
    ExpressionPtr moved = over_rows(block, *condition);
    if (moved == nullptr) return false;
    block.from.predicates.push_back(std::move(moved));
    return true;
  });
}

Expressions carried_over(const Expressions& predicates, const Expression& condition) {
  Expressions carried;
  for (const ExpressionPtr& predicate : predicates) {
    std::optional<uint32_t> slot;
    bool is_one = true;
    for_each_column(*predicate, [&](const Expression& column) {
      is_one = is_one && slot.value_or(column.column) == column.column;
      slot = column.column;
    });
    if (!slot || !is_one) continue;
    const Expression* const other = equal_column(condition, *slot);
    if (other == nullptr) continue;
    ExpressionPtr moved = over(*predicate, [&](uint32_t /*slot*/) { return other; });
    if (moved != nullptr) carried.push_back(std::move(moved));
  }
  return carried;
}

}  // namespace diptych::olap
