// Subqueries of SelectBinder: [NOT] EXISTS and [NOT] IN as semi and anti joins, and scalar
// subqueries of one row as joins with it.

#include <algorithm>

#include "olap/sql/select_binder.h"

namespace diptych::olap {
namespace {

bool names_slot_below(const Expression& expression, uint32_t first_slot) {
  bool found = false;
  for_each_column(expression, [&](const Expression& c) { found = found || c.column < first_slot; });
  return found;
}

// True where the block's rows are those of its FROM and WHERE, up to duplicates and order.
bool is_plain(const QueryBlock& block) {
  return !block.aggregated && block.limit == kNoLimit && block.offset == 0 &&
         !block.from.members.empty();
}

// True where the block has exactly one row whatever the data.
bool has_one_row(const QueryBlock& block) {
  const bool one = (block.aggregated && block.group_keys.empty() && block.having.empty()) ||
                   (!block.aggregated && block.from.members.empty() &&
                    block.from.predicates.empty() && block.from.subqueries.empty());
  return one && block.limit >= 1 && block.offset == 0;
}

JoinMember derived_member(std::unique_ptr<QueryBlock> block) {
  JoinMember member;
  for (size_t i = 0; i < block->visible_outputs; ++i) {
    member.slots.push_back(block->outputs[i].slot);
  }
  member.block = std::move(block);
  return member;
}

}  // namespace

base::Result<void> SelectBinder::bind_subquery_join(const PgQuery__SubLink& subquery,
                                                    bool negated) {
  const bool exists = subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK;
  const bool in =
      subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK && subquery.n_oper_name == 0;
  if (!exists && !in) return source_.unsupported(subquery.location, "ANY or ALL (subquery)");
  const uint32_t first_slot = slots_.size();
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kInWhere);
  auto block = binder.bind(*subquery.subselect->select_stmt);
  if (!block) return block.error();
  if (in && (*block)->visible_outputs != 1) {
    return source_.wrong(subquery.location, "IN takes a subquery of one column");
  }
  auto conditions = take_correlated(**block, first_slot, subquery.location);
  if (!conditions) return conditions.error();
  SubqueryJoin join;
  join.kind = negated ? JoinKind::kAnti : JoinKind::kSemi;
  join.conditions = *std::move(conditions);
  ExpressionPtr inner;
  if (is_plain(**block)) {
    inner = std::move((*block)->outputs[0].expression);
    join.inner = std::move((*block)->from);
  } else {
    if (!join.conditions.empty()) {
      return source_.unsupported(subquery.location,
                                 "a correlated subquery with aggregates, LIMIT or no FROM");
    }
    inner = slots_.column((*block)->outputs[0].slot);
    join.inner.members.push_back(derived_member(*std::move(block)));
  }
  if (in) {
    auto added = add_in_condition(subquery, negated, std::move(inner), &join.conditions);
    if (!added) return added;
  }
  block_->from.subqueries.push_back(std::move(join));
  return {};
}

// Moves the conjuncts that name columns of this query out of the subquery's WHERE.
base::Result<Expressions> SelectBinder::take_correlated(QueryBlock& block, uint32_t first_slot,
                                                        int64_t offset) const {
  for (const SubqueryJoin& nested : block.from.subqueries) {
    for (const ExpressionPtr& condition : nested.conditions) {
      if (names_slot_below(*condition, first_slot)) {
        return source_.unsupported(offset, "a correlation across two levels of subqueries");
      }
    }
  }
  Expressions taken;
  Expressions kept;
  for (ExpressionPtr& predicate : block.from.predicates) {
    const bool correlated = names_slot_below(*predicate, first_slot);
    (correlated ? taken : kept).push_back(std::move(predicate));
  }
  block.from.predicates = std::move(kept);
  // What names only this query's outer queries would have to move further out.
  const uint32_t own_first = scope_.tables().empty() || scope_.tables()[0].columns.empty()
                                 ? first_slot
                                 : scope_.tables()[0].columns[0].slot;
  for (const ExpressionPtr& condition : taken) {
    if (names_slot_below(*condition, own_first)) {
      return source_.unsupported(offset, "a correlation across two levels of subqueries");
    }
  }
  return taken;
}

base::Result<void> SelectBinder::add_in_condition(const PgQuery__SubLink& subquery, bool negated,
                                                  ExpressionPtr inner, Expressions* conditions) {
  auto tested = expressions_.bind(subquery.testexpr, {"WHERE", false, false});
  if (!tested) return tested.error();
  Bound right{std::move(inner), std::nullopt, false, subquery.location};
  auto equality =
      bind_operator(source_, "=", subquery.location, *std::move(tested), std::move(right));
  if (!equality) return equality.error();
  if (negated && equality->expression->nullable) {
    return source_.unsupported(subquery.location,
                               "NOT IN where either side can be NULL (use NOT EXISTS)");
  }
  conditions->push_back(std::move(equality->expression));
  return {};
}

BoundResult SelectBinder::bind_scalar_subquery(const PgQuery__SubLink& subquery) {
  if (scalars_refused_) {
    return source_.unsupported(subquery.location, "a scalar subquery in the ON of an outer join");
  }
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kRefused);
  auto block = binder.bind(*subquery.subselect->select_stmt);
  if (!block) return block.error();
  if ((*block)->visible_outputs != 1) {
    return source_.wrong(subquery.location, "a subquery that stands for a value has one column");
  }
  if (!has_one_row(**block)) {
    return source_.unsupported(subquery.location,
                               "a scalar subquery that is not one aggregate over all rows");
  }
  JoinMember member = derived_member(*std::move(block));
  ExpressionPtr value = slots_.column(member.slots.front());
  offsets_[value.get()] = subquery.location;
  auto& destination = scalar_group_ != nullptr ? scalar_group_->members : scalars_;
  destination.push_back(std::move(member));
  return Bound{std::move(value), std::nullopt, false, subquery.location};
}

// Values that SELECT and HAVING use come in after the aggregation, where there is one.
void SelectBinder::place_scalars() {
  auto& destination = block_->aggregated ? block_->scalars : block_->from.members;
  for (JoinMember& member : scalars_) destination.push_back(std::move(member));
  scalars_.clear();
}

}  // namespace diptych::olap
