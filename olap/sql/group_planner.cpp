// FROM and WHERE of PlanBuilder: members, their predicates, subquery joins and the join tree.

#include <algorithm>
#include <bit>

#include "olap/sql/group_state.h"
#include "olap/sql/predicate_pushdown.h"
#include "olap/sql/predicate_rules.h"

namespace diptych::olap {
namespace {

constexpr double kSubquerySelectivity = 0.5;
// A semi or anti join builds on the outer side where the subquery has so many times its rows.
constexpr double kBuildOuterFactor = 1.5;
// Values and marks that nobody reads are not computed. `read` gets what the others compare.
void drop_unread(std::vector<SubqueryJoin>* subqueries, SlotSet* read) {
  for (size_t i = subqueries->size(); i-- != 0;) {  // one may read what those before it give
    const SubqueryJoin& subquery = (*subqueries)[i];
    const bool unread = (subquery.kind == JoinKind::kMark && !read->has(subquery.mark)) ||
                        (subquery.kind == JoinKind::kLeft &&
                         !read->has_any(subquery.first_slot, subquery.end_slot));
    if (unread) {
      subqueries->erase(subqueries->begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      read->add(subquery);
    }
  }
}

// Of EXISTS and IN, what the subquery's rows alone decide is asked of them once, and not for every
// row around them.
void ask_inner_rows(SubqueryJoin& subquery) {
  const bool is_value = subquery.kind == JoinKind::kLeft || subquery.kind == JoinKind::kInner;
  if (is_value) return;
  std::erase_if(subquery.conditions, [&](ExpressionPtr& condition) {
    bool is_inner = names_a_column(*condition);
    for_each_column(std::as_const(*condition), [&](const Expression& column) {
      is_inner =
          is_inner && column.column >= subquery.first_slot && column.column < subquery.end_slot;
    });
    if (is_inner) subquery.inner.predicates.push_back(std::move(condition));
    return is_inner;
  });
}

}  // namespace

Planned PlanBuilder::plan_group(JoinGroup& group, const SlotSet& needed) {
  slots_.work().step();
  simplify(group);
  DIPTYCH_CHECK(group.members.size() <= kJoinMembersMax, "the binder refuses wider joins");
  GroupState state;
  state.text_parts = &group.text_parts;
  for (size_t i = 0; i < group.members.size(); ++i) state.add_slots(i, group.members[i].slots);
  add_implied_predicates(group, state);
  SlotSet used = needed;
  used.add(group.predicates);
  drop_unread(&group.subqueries, &used);
  std::vector<Expressions> own(group.members.size());
  Expressions constants;
  Expressions above;  // over the marks of subqueries
  for (ExpressionPtr& predicate : group.predicates) {
    const MemberSet set = state.members_of(*predicate);
    if (names_a_subquery(group.subqueries, *predicate)) {
      above.push_back(std::move(predicate));
    } else if (set == 0) {
      constants.push_back(std::move(predicate));
    } else if (std::has_single_bit(set)) {
      own[static_cast<size_t>(std::countr_zero(set))].push_back(std::move(predicate));
    } else {
      state.conditions.push_back({std::move(predicate), set});
    }
  }
  carry_over(group, state, own);
  for (size_t i = 0; i < group.members.size(); ++i) {
    state.members.push_back(plan_member(group.members[i], std::move(own[i]), used));
  }
  plan_subqueries(group, state, used);
  transfer_restrictions(state);
  Planned joined = join_members(state);
  for (GroupState::Subquery& subquery : state.subqueries) {
    offer_domain(subquery.join->domain, &joined);
    if (!subquery.inner) subquery.inner = plan_group(subquery.join->inner, used);
    joined = apply_subquery(*subquery.join, std::move(joined), *std::move(subquery.inner));
  }
  for (ExpressionPtr& predicate : above) constants.push_back(std::move(predicate));
  const double share = estimator_.selectivity(constants);
  joined = make_filter(std::move(joined), std::move(constants));
  joined.root->estimated_rows *= share;
  return joined;
}

// A group without members, over one row: its subqueries and predicates.
Planned PlanBuilder::finish_group(JoinGroup& group, Planned input, const SlotSet& needed) {
  SlotSet used = needed;
  used.add(group.predicates);
  input = apply_subqueries(group.subqueries, std::move(input), used);
  return make_filter(std::move(input), std::move(group.predicates));
}

Planned PlanBuilder::apply_subqueries(std::vector<SubqueryJoin>& subqueries, Planned input,
                                      SlotSet needed) {
  drop_unread(&subqueries, &needed);
  for (SubqueryJoin& subquery : subqueries) {
    ask_inner_rows(subquery);
    subquery.conditions = null_safe_keys(std::move(subquery.conditions));
    offer_domain(subquery.domain, &input);
    Planned inner = plan_group(subquery.inner, needed);
    input = apply_subquery(subquery, std::move(input), std::move(inner));
  }
  return input;
}

// Factors ORs, and turns LEFT JOINs whose NULL rows a predicate drops into inner joins.
void PlanBuilder::simplify(JoinGroup& group) {
  group.predicates = factor_common(std::move(group.predicates));
  for (size_t i = 0; i < group.members.size(); ++i) {
    if (group.members[i].left_join == nullptr || group.members[i].left_join->full) continue;
    std::vector<uint32_t> optional;
    for (const JoinMember& member : group.members[i].left_join->optional.members) {
      optional.insert(optional.end(), member.slots.begin(), member.slots.end());
    }
    const bool inner =
        std::any_of(group.predicates.begin(), group.predicates.end(),
                    [&](const ExpressionPtr& p) { return rejects_nulls(*p, optional); });
    if (!inner) continue;
    const LeftJoin& join = *group.members[i].left_join;
    const size_t width =
        group.members.size() - 1 + join.preserved.members.size() + join.optional.members.size();
    if (width > kJoinMembersMax) continue;
    if (group.members[i].left_join->domain.id != 0) {
      group.members[i].left_join->inner = true;
      continue;
    }
    const auto left_join = std::move(group.members[i].left_join);
    group.members.erase(group.members.begin() + static_cast<std::ptrdiff_t>(i));
    for (JoinGroup* side : {&left_join->preserved, &left_join->optional}) {
      for (JoinMember& member : side->members) group.members.push_back(std::move(member));
      for (ExpressionPtr& p : side->predicates) group.predicates.push_back(std::move(p));
      for (SubqueryJoin& s : side->subqueries) group.subqueries.push_back(std::move(s));
    }
    for (ExpressionPtr& p : left_join->on) group.predicates.push_back(std::move(p));
    group.predicates = factor_common(std::move(group.predicates));
    i = static_cast<size_t>(-1);  // the new predicates may convert others
  }
}

// What the predicate, which is on several members, implies for the rows of one of them; nullptr:
// nothing. What may fail is asked of joined rows alone.
ExpressionPtr PlanBuilder::implied_for(size_t member, const Expression& predicate,
                                       const GroupState& state) {
  const MemberSet only = MemberSet{1} << member;
  slots_.work().step();
  return implied_disjunction(predicate, [&](const Expression& e) {
    return state.members_of(e) == only && cannot_fail(e);
  });
}

void PlanBuilder::add_implied_predicates(JoinGroup& group, const GroupState& state) {
  const size_t written = group.predicates.size();
  for (size_t p = 0; p < written; ++p) {
    const MemberSet set = state.members_of(*group.predicates[p]);
    if (std::has_single_bit(set)) continue;
    for (MemberSet left = set; left != 0; left &= left - 1) {
      const auto member = static_cast<size_t>(std::countr_zero(left));
      ExpressionPtr implied = implied_for(member, *group.predicates[p], state);
      if (implied != nullptr) group.predicates.push_back(std::move(implied));
    }
  }
}

// The share of joined rows that satisfy the condition, among those whose members have been asked
// what it implies.
double PlanBuilder::share_beyond_implied(const Expression& condition, MemberSet members,
                                         const GroupState& state) {
  double share = estimator_.selectivity(condition);
  if (condition.kind != ExpressionKind::kOr) return share;
  for (MemberSet left = members; left != 0; left &= left - 1) {
    const auto member = static_cast<size_t>(std::countr_zero(left));
    const ExpressionPtr implied = implied_for(member, condition, state);
    if (implied != nullptr) share /= estimator_.selectivity(*implied);
  }
  return std::min(share, 1.0);
}

// What members' own predicates say, by the conditions between them, of derived tables and set
// operations, and of the rows of subqueries. (Scans ask the joins, which takes less than one more
// predicate.)
void PlanBuilder::carry_over(JoinGroup& group, const GroupState& state,
                             const std::vector<Expressions>& own) {
  for (const Expressions& predicates : own) {
    for (const GroupState::Condition& condition : state.conditions) {
      slots_.work().step();
      for (ExpressionPtr& predicate : carried_over(predicates, *condition.expression)) {
        const MemberSet of = state.members_of(*predicate);
        if (!std::has_single_bit(of)) continue;
        Expressions one;
        one.push_back(std::move(predicate));
        push_down(group.members[static_cast<size_t>(std::countr_zero(of))], &one);
      }
    }
    for (SubqueryJoin& subquery : group.subqueries) {
      for (const ExpressionPtr& condition : subquery.conditions) {
        slots_.work().step();
        for (ExpressionPtr& predicate : carried_over(predicates, *condition)) {
          SlotSet named;
          named.add(*predicate);
          if (!named.has_any(subquery.first_slot, subquery.end_slot)) continue;
          subquery.inner.predicates.push_back(std::move(predicate));
        }
      }
    }
  }
}

Planned PlanBuilder::plan_member(JoinMember& member, Expressions predicates,
                                 const SlotSet& needed) {
  if (member.table != nullptr) return plan_table(member, std::move(predicates), needed);
  if (member.left_join != nullptr) return plan_left_join(member, std::move(predicates), needed);
  push_down(member, &predicates);
  Planned derived = member.set_operation != nullptr ? plan_set_operation(member, needed)
                    : member.domain != 0            ? plan_domain(member)
                    : member.working != 0           ? plan_working_rows(member)
                    : member.block == nullptr       ? plan_values(member, needed)
                                              : plan_block(*member.block, needed, Order::kFree);
  const double rows = derived.rows() * estimator_.selectivity(predicates);
  derived = make_filter(std::move(derived), std::move(predicates));
  derived.root->estimated_rows = rows;
  return derived;
}

Planned PlanBuilder::plan_table(JoinMember& member, Expressions predicates, const SlotSet& needed) {
  const base::TableSchema& table = *member.table;
  SlotSet read = needed;
  read.add(predicates);
  std::vector<base::ColumnId> columns;
  std::vector<uint32_t> layout;
  for (size_t i = 0; i < member.slots.size(); ++i) {
    if (!read.has(member.slots[i])) continue;
    columns.emplace_back(static_cast<uint16_t>(i));
    layout.push_back(member.slots[i]);
  }
  if (columns.empty()) {  // count(*) reads a column all the same
    columns.push_back(table.primary_key().columns.front());
    layout.push_back(member.slots[columns.front().value]);
  }
  const double rows = estimator_.table_rows(table);
  const double left = std::max(1.0, rows * estimator_.selectivity(predicates));
  estimator_.set_rows(member.slots.front(), left);
  for (const uint32_t slot : layout) {
    estimator_.set_distinct(slot, std::min(estimator_.distinct_among(slot, predicates), left));
  }
  Planned scan = make_scan(table, columns, std::move(layout), std::move(predicates));
  scan.root->alias = member.alias;
  scan.unfiltered = rows;
  scan.root->estimated_rows = left;
  for (const base::IndexSchema& index : table.indexes) {
    if (index.uniqueness != base::Uniqueness::kUnique) continue;
    std::vector<uint32_t> key;
    for (const base::ColumnId column : index.columns) key.push_back(member.slots[column.value]);
    scan.unique_keys.push_back(std::move(key));
  }
  return scan;
}

// A semi join that one member alone decides and that drops rows goes onto that member, below the
// joins; the others see the rows that the joins have left.
void PlanBuilder::plan_subqueries(JoinGroup& group, GroupState& state, const SlotSet& needed) {
  for (SubqueryJoin& subquery : group.subqueries) {
    ask_inner_rows(subquery);
    subquery.conditions = null_safe_keys(std::move(subquery.conditions));
    if (subquery.domain.id != 0) {
      state.subqueries.push_back({&subquery, std::nullopt});
      continue;
    }
    Planned inner = plan_group(subquery.inner, needed);
    MemberSet outer = 0;
    bool later = false;  // it reads what another subquery gives
    for (const ExpressionPtr& condition : subquery.conditions) {
      outer |= state.members_of(*condition);
      later = later || names_a_subquery(group.subqueries, *condition);
    }
    const bool early = !later && subquery.kind == JoinKind::kSemi && std::has_single_bit(outer) &&
                       semi_selectivity(inner, subquery.conditions) < kSubquerySelectivity;
    if (!early) {
      state.subqueries.push_back({&subquery, std::move(inner)});
      continue;
    }
    Planned& member = state.members[static_cast<size_t>(std::countr_zero(outer))];
    member = apply_subquery(subquery, std::move(member), std::move(inner));
  }
}

// The share of outer rows with a match: inner rows against the values that the outer side has.
double PlanBuilder::semi_selectivity(const Planned& inner, const Expressions& conditions) {
  double values = 1;
  for (const ExpressionPtr& condition : conditions) {
    if (condition->kind != ExpressionKind::kEqual) return 1;
    const size_t outer_side = inner.has_all(*condition->children[0]) ? 1 : 0;
    values *= estimator_.distinct(*condition->children[outer_side]);
  }
  return std::min(1.0, inner.rows() / std::max(1.0, values));
}

Planned PlanBuilder::make_subquery_join(JoinKind kind, Planned outer, Planned inner,
                                        Expressions conditions) {
  const bool by_build =
      (kind == JoinKind::kSemi || kind == JoinKind::kAnti) && has_equality(conditions) &&
      inner.rows() > kBuildOuterFactor * outer.rows() && !stays_between_rounds(outer, inner);
  if (!by_build) return make_join(kind, std::move(outer), std::move(inner), std::move(conditions));
  const JoinKind mirrored = kind == JoinKind::kSemi ? JoinKind::kBuildSemi : JoinKind::kBuildAnti;
  return make_join(mirrored, std::move(inner), std::move(outer), std::move(conditions));
}

Planned PlanBuilder::apply_subquery(SubqueryJoin& subquery, Planned outer, Planned inner) {
  const JoinKind kind = subquery.kind;
  double share = kSubquerySelectivity;
  if (kind == JoinKind::kSemi) {
    share = std::max(1e-6, semi_selectivity(inner, subquery.conditions));
  } else if (kind != JoinKind::kAnti) {
    share = 1;
  }
  const double rows = std::max(1.0, outer.rows() * share);
  const double unfiltered = outer.unfiltered;
  auto unique_keys = std::move(outer.unique_keys);
  const auto base = outer.base;
  Planned joined =
      make_subquery_join(kind, std::move(outer), std::move(inner), std::move(subquery.conditions));
  if (kind == JoinKind::kMark) {
    joined.layout.push_back(subquery.mark);
    estimator_.set_distinct(subquery.mark, 2);
  }
  joined.root->estimated_rows = rows;
  joined.unfiltered = unfiltered;
  joined.unique_keys = std::move(unique_keys);
  joined.base = base;
  return joined;
}

JoinSide PlanBuilder::join_side(const Expression& side, const GroupState& state) {
  JoinSide result;
  result.members = state.members_of(side);
  result.distinct = estimator_.distinct(side);
  const Expression& plain = without_integer_casts(side);
  if (plain.kind == ExpressionKind::kColumn) result.slot = plain.column;
  return result;
}

// How many times as often as others a member's predicates hold for those of its rows to which the
// referring side's column refers, by the member's key.
double PlanBuilder::share_of_referred(const JoinSide& referring, const JoinSide& key,
                                      const GroupState& state) {
  if (!referring.slot || !key.slot || !std::has_single_bit(key.members)) return 1;
  const Planned& member = state.members[static_cast<size_t>(std::countr_zero(key.members))];
  const auto& keys = member.unique_keys;
  const bool is_key = std::find(keys.begin(), keys.end(), std::vector{*key.slot}) != keys.end();
  if (!is_key || member.root->kind != OperatorKind::kScan) return 1;
  return estimator_.share_of_referred(*referring.slot, *key.slot, *member.root);
}

JoinProblem PlanBuilder::join_problem(const GroupState& state) {
  JoinProblem problem;
  for (const Planned& member : state.members) {
    problem.relations.push_back(
        {member.rows(), member.unfiltered, member.unique_keys, member.single_row});
  }
  for (const GroupState::Condition& condition : state.conditions) {
    const Expression& e = *condition.expression;
    if (e.kind == ExpressionKind::kEqual) {
      JoinSide left = join_side(*e.children[0], state);
      JoinSide right = join_side(*e.children[1], state);
      if (left.members != 0 && right.members != 0 && (left.members & right.members) == 0) {
        problem.equalities.push_back({left, right});
        const double factor =
            share_of_referred(left, right, state) * share_of_referred(right, left, state);
        if (factor != 1) problem.filters.push_back({condition.members, factor});
        continue;
      }
    }
    problem.filters.push_back(
        {condition.members, share_beyond_implied(e, condition.members, state)});
  }
  return problem;
}

Planned PlanBuilder::join_members(GroupState& state) {
  const auto tree = order_joins(join_problem(state));
  Planned joined = build_tree(*tree, state);
  for (const GroupState::Condition& condition : state.conditions) {
    DIPTYCH_CHECK(condition.expression == nullptr, "the last join has all members");
  }
  return joined;
}

}  // namespace diptych::olap
