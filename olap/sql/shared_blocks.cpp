#include "olap/sql/shared_blocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "olap/sql/predicate_pushdown.h"

namespace diptych::olap {
namespace {

constexpr size_t kBranchesMax = 32;  // of a disjunction

using Asked = std::vector<const Expression*>;
// The counter that all copies of a block have.
using BlockId = const unsigned*;

struct Use {
  QueryBlock* block;
  Asked asked;  // predicates on its outputs that the block could ask of its rows
};

bool has_never_true(const Asked& asked) {
  return std::any_of(asked.begin(), asked.end(),
                     [](const Expression* predicate) { return is_never_true(*predicate); });
}

// The member of a group that a predicate is about.
class MemberSlots {
 public:
  explicit MemberSlots(const JoinGroup& group) {
    for (size_t i = 0; i < group.members.size(); ++i) {
      for (const uint32_t slot : group.members[i].slots) members_[slot] = i;
    }
  }

  // The number of members: it is about several, or about none.
  size_t only_member(const Expression& predicate, size_t members) const {
    size_t only = members;
    bool is_one = true;
    for_each_column(predicate, [&](const Expression& column) {
      const auto found = members_.find(column.column);
      const size_t member = found == members_.end() ? members : found->second;
      is_one = is_one && member != members && (only == members || only == member);
      only = member;
    });
    return is_one ? only : members;
  }

 private:
  std::unordered_map<uint32_t, size_t> members_;
};

// A walk through a statement that meets all uses of shared blocks, with what is asked of each. It
// goes into a shared block only once that block has been asked.
class SharedUses {
 public:
  SharedUses(const std::unordered_set<BlockId>* asked_blocks, const PlanningWork& work)
      : asked_blocks_(asked_blocks), work_(work) {}

  void visit(QueryBlock& block, Asked asked);
  const std::unordered_map<BlockId, std::vector<Use>>& uses() const { return uses_; }

 private:
  void visit(JoinGroup& group, const Asked& asked);
  void visit(JoinMember& member, const Asked& asked);
  void visit_left_join(LeftJoin& join, const Asked& asked);
  Asked placed_in_rows(QueryBlock& block, const Asked& asked);
  const Expression* keep(ExpressionPtr made) {
    made_.push_back(std::move(made));
    return made_.back().get();
  }

  const std::unordered_set<BlockId>* asked_blocks_;  // nullptr: the walk goes into all
  const PlanningWork& work_;
  std::unordered_map<BlockId, std::vector<Use>> uses_;
  Expressions made_;  // what `asked` points to, beside the statement's own
};

// The predicates that can be asked of the block's rows before grouping, in terms of these.
Asked SharedUses::placed_in_rows(QueryBlock& block, const Asked& asked) {
  Asked placed;
  for (const Expression* const predicate : asked) {
    PlacedPredicate place = place_in(block, *predicate);
    if (place.expression == nullptr || is_true_literal(*place.expression)) continue;
    const bool is_never = is_never_true(*place.expression);
    if (is_never || place.clause == &block.from.predicates) {
      placed.push_back(keep(std::move(place.expression)));
    }
  }
  return placed;
}

void SharedUses::visit(QueryBlock& block, Asked asked) {
  work_.step();
  if (is_computed_once(block)) {
    std::erase_if(asked, [&](const Expression* predicate) {
      return place_in(block, *predicate).expression == nullptr;
    });
    uses_[block.times_bound].push_back({&block, std::move(asked)});
    if (asked_blocks_ != nullptr && !asked_blocks_->contains(block.times_bound)) return;
    asked.clear();  // what all uses ask is among its predicates
  }
  visit(block.from, placed_in_rows(block, asked));
  for (SubqueryJoin& subquery : block.subqueries) visit(subquery.inner, {});
  for (SubqueryJoin& subquery : block.window_subqueries) visit(subquery.inner, {});
}

void SharedUses::visit(JoinGroup& group, const Asked& asked) {
  const MemberSlots slots(group);
  const size_t count = group.members.size();
  std::vector<Asked> own(count);
  const auto give = [&](const Expression& predicate) {
    if (is_never_true(predicate)) {
      for (Asked& each : own) each.push_back(&predicate);
      return;
    }
    const size_t member = slots.only_member(predicate, count);
    if (member != count) own[member].push_back(&predicate);
  };
  for (const Expression* const predicate : asked) give(*predicate);
  for (const ExpressionPtr& predicate : group.predicates) give(*predicate);
  for (size_t i = 0; i < count; ++i) visit(group.members[i], own[i]);
  for (SubqueryJoin& subquery : group.subqueries) visit(subquery.inner, {});
}

void SharedUses::visit(JoinMember& member, const Asked& asked) {
  if (member.block != nullptr) visit(*member.block, asked);
  if (member.left_join != nullptr) visit_left_join(*member.left_join, asked);
  if (member.set_operation == nullptr) return;
  SetOperation& operation = *member.set_operation;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    Asked of_input;
    for (const Expression* const predicate : asked) {
      if (operation.recursion != 0) break;
      ExpressionPtr moved = over_input(member, i, *predicate);
      if (moved == nullptr || is_true_literal(*moved)) continue;
      of_input.push_back(keep(std::move(moved)));
    }
    visit(*operation.inputs[i], std::move(of_input));
  }
}

// What is asked of the join's rows is asked of the preserved side's, and ON of the optional side's.
// A full join keeps the rows of both sides.
void SharedUses::visit_left_join(LeftJoin& join, const Asked& asked) {
  Asked of_optional;
  for (const ExpressionPtr& condition : join.on) of_optional.push_back(condition.get());
  visit(join.preserved, join.full ? Asked() : asked);
  visit(join.optional, join.full ? Asked() : of_optional);
}

// The same predicates, over the outputs of another copy of the block; nullptr if a predicate names
// an output that the copies do not have in common.
ExpressionPtr over_copy(const Expression& predicate, const QueryBlock& from, const QueryBlock& to) {
  bool is_common = true;
  ExpressionPtr copy = clone(predicate);
  substitute(&copy, [&](const Expression& column) -> ExpressionPtr {
    for (size_t i = 0; i < std::min(from.outputs.size(), to.outputs.size()); ++i) {
      if (from.outputs[i].slot != column.column) continue;
      const Expression& output = *to.outputs[i].expression;
      is_common = is_common && output.type == from.outputs[i].expression->type;
      return make_column(to.outputs[i].slot, column.type, output.nullable);
    }
    is_common = false;
    return nullptr;
  });
  return is_common ? std::move(copy) : nullptr;
}

// The disjunction of what the uses ask, over the outputs of the first one's block; nullptr if a use
// may need any row.
ExpressionPtr disjunction_of(const std::vector<Use>& uses) {
  Expressions branches;
  for (const Use& use : uses) {
    if (has_never_true(use.asked)) continue;
    Expressions conjuncts;
    for (const Expression* const predicate : use.asked) {
      ExpressionPtr copy = over_copy(*predicate, *use.block, *uses[0].block);
      if (copy != nullptr) conjuncts.push_back(std::move(copy));
    }
    if (conjuncts.empty()) return nullptr;
    ExpressionPtr branch = conjunction(std::move(conjuncts));
    const bool is_known =
        std::any_of(branches.begin(), branches.end(),
                    [&](const ExpressionPtr& other) { return equal(*other, *branch); });
    if (!is_known) branches.push_back(std::move(branch));
    if (branches.size() > kBranchesMax) return nullptr;
  }
  return branches.empty() ? nullptr : disjunction(std::move(branches));
}

// Gives the block's copies what all its uses ask, if each copy can take it.
void ask_copies(const std::vector<Use>& uses) {
  const ExpressionPtr asked = disjunction_of(uses);
  if (asked == nullptr) return;
  std::vector<PlacedPredicate> placed;
  for (const Use& use : uses) {
    const ExpressionPtr copy = over_copy(*asked, *uses[0].block, *use.block);
    if (copy == nullptr) return;
    placed.push_back(place_in(*use.block, *copy));
    if (placed.back().expression == nullptr) return;
  }
  for (PlacedPredicate& place : placed) place.clause->push_back(std::move(place.expression));
}

}  // namespace

void ask_shared_blocks(QueryBlock& statement, const PlanningWork& work) {
  SharedUses all(nullptr, work);
  all.visit(statement, {});
  std::unordered_set<BlockId> asked_blocks;
  while (asked_blocks.size() < all.uses().size()) {
    SharedUses reached(&asked_blocks, work);
    reached.visit(statement, {});
    const size_t before = asked_blocks.size();
    for (const auto& [block, uses] : reached.uses()) {
      // All uses are reached once the blocks around them have been asked.
      if (uses.size() != all.uses().at(block).size()) continue;
      if (asked_blocks.insert(block).second) ask_copies(uses);
    }
    // Lifted groups have the counter of the block around them (unnesting.cpp).
    if (asked_blocks.size() == before) return;
  }
}

}  // namespace diptych::olap
