// The outer joins of PlanBuilder.

#include <algorithm>
#include <bit>

#include "olap/sql/group_state.h"
#include "olap/sql/predicate_pushdown.h"
#include "olap/sql/predicate_rules.h"

namespace diptych::olap {
namespace {

// A left join runs its sides twice (split_left_join) where its optional side has so many rows, and
// so many times those that the preserved side's operators make.
constexpr double kSplitRowsMin = 16 * 1024;
constexpr double kSplitFactor = 6;
// So many rows of a scan, which predicates and joins above it drop, cost what one costs that an
// operator above makes.
constexpr double kScannedRowsAsOne = 32;
// The least share of rows that is expected to have no match.
constexpr double kUnmatchedShareMin = 0.1;

// The rows that all operators make.
double rows_made(const Operator& op) {
  double rows = op.estimated_rows;
  if (op.kind == OperatorKind::kScan) rows /= kScannedRowsAsOne;
  for (const OperatorPtr& child : op.children) rows += rows_made(*child);
  return rows;
}

// True if the expression names columns, all of which are preserved ones, or none of which is.
bool is_on_one_side(const Expression& e, const std::vector<uint32_t>& preserved_slots,
                    bool preserved) {
  bool only = names_a_column(e);
  for_each_column(e, [&](const Expression& column) {
    const bool there = std::find(preserved_slots.begin(), preserved_slots.end(), column.column) !=
                       preserved_slots.end();
    only = only && there == preserved;
  });
  return only;
}

// Moves predicates above a left join below it where they may go; returns the others.
Expressions above_left_join(LeftJoin& join, const std::vector<uint32_t>& preserved_slots,
                            Expressions predicates) {
  Expressions above;
  for (ExpressionPtr& predicate : predicates) {
    const bool preserved = is_on_one_side(*predicate, preserved_slots, true);
    const bool optional = join.inner && is_on_one_side(*predicate, preserved_slots, false);
    (preserved  ? join.preserved.predicates
     : optional ? join.optional.predicates
                : above)
        .push_back(std::move(predicate));
  }
  return above;
}

// False for a scalar subquery's join, which fails if a row has several values.
bool is_plain(const LeftJoin& join) {
  return !join.inner && !join.value && join.domain.id == 0;
}

// The rows behind NULLs of these types, in these slots.
Planned after_nulls(const std::vector<base::DataType>& types, const std::vector<uint32_t>& slots,
                    Planned rows) {
  Expressions columns;
  for (const base::DataType& type : types) columns.push_back(make_null(type));
  std::vector<uint32_t> layout = slots;
  for (size_t i = 0; i < rows.layout.size(); ++i) {
    const Operator& root = *rows.root;
    columns.push_back(make_column(rows.layout[i], root.output[i], root.output_nullable[i]));
    layout.push_back(rows.layout[i]);
  }
  return make_project(std::move(rows), std::move(columns), std::move(layout));
}

// True if a predicate above a left join asks for NULL in a column that is not NULL in any match.
bool asks_for_no_match(const Expression& predicate, const Planned& optional) {
  if (predicate.kind != ExpressionKind::kIsNull) return false;
  const Expression& column = *predicate.children[0];
  if (column.kind != ExpressionKind::kColumn) return false;
  const auto found = std::find(optional.layout.begin(), optional.layout.end(), column.column);
  return found != optional.layout.end() &&
         !optional.root->output_nullable[found - optional.layout.begin()];
}

// Takes such predicates away: no row without a match needs them. Returns whether there were any.
bool take_no_match(const Planned& optional, Expressions* above) {
  return std::erase_if(*above, [&](const ExpressionPtr& predicate) {
           return asks_for_no_match(*predicate, optional);
         }) != 0;
}

}  // namespace

Planned PlanBuilder::plan_left_join(JoinMember& member, Expressions predicates, SlotSet needed) {
  LeftJoin& join = *member.left_join;
  if (join.full) return plan_full_join(member, std::move(predicates), std::move(needed));
  SlotSet needed_above = needed;
  std::vector<uint32_t> preserved_slots;
  for (const JoinMember& m : join.preserved.members) {
    preserved_slots.insert(preserved_slots.end(), m.slots.begin(), m.slots.end());
  }
  Expressions above = above_left_join(join, preserved_slots, std::move(predicates));
  needed.add(above);
  // A value that nobody reads is not computed.
  const bool unread = std::all_of(
      join.optional.members.begin(), join.optional.members.end(), [&](const JoinMember& m) {
        return std::none_of(m.slots.begin(), m.slots.end(),
                            [&](uint32_t slot) { return needed.has(slot); });
      });
  if (join.value && !join.inner && unread) {
    Planned rows = plan_group(join.preserved, needed);
    const double left = std::max(1.0, rows.rows() * estimator_.selectivity(above));
    rows = make_filter(std::move(rows), std::move(above));
    rows.root->estimated_rows = left;
    return rows;
  }
  Expressions conditions;
  for (ExpressionPtr& condition : factor_common(std::move(join.on))) {
    for (ExpressionPtr& carried : carried_over(join.preserved.predicates, *condition)) {
      // Both columns may be of the preserved side, whose rows stay.
      if (is_on_one_side(*carried, preserved_slots, false)) {
        join.optional.predicates.push_back(std::move(carried));
      }
    }
    const bool below = is_on_one_side(*condition, preserved_slots, false);
    (below ? join.optional.predicates : conditions).push_back(std::move(condition));
  }
  needed.add(conditions);
  needed.add(join.domain.values);
  Planned probe = plan_group(join.preserved, needed);
  offer_domain(join.domain, &probe);
  Planned build = plan_group(join.optional, needed);
  const double matched = inner_join_rows(probe, build, conditions);
  if (is_plain(join) && take_no_match(build, &above)) {
    needed_above.add(above);
    return without_match(std::move(probe), std::move(build), std::move(conditions), matched,
                         std::move(above), needed_above);
  }
  const double rows = join.inner ? matched : std::max(probe.rows(), matched);
  const double unfiltered = std::max(probe.unfiltered, rows);
  const auto base = probe.base;
  Planned joined =
      make_left_join(join, std::move(probe), std::move(build), std::move(conditions), matched);
  joined.unfiltered = unfiltered;
  joined.base = base;
  const double share = estimator_.selectivity(above);
  joined.root->estimated_rows = rows;
  joined = make_filter(std::move(joined), std::move(above));
  joined.root->estimated_rows = std::max(1.0, rows * share);
  return joined;
}

// The preserved rows without a match that satisfy the predicates, with the columns that are needed.
Planned PlanBuilder::without_match(Planned preserved, Planned optional, Expressions on,
                                   double matched, Expressions predicates, const SlotSet& needed) {
  const std::vector<uint32_t> slots = optional.layout;
  const bool has_nulls =
      std::any_of(slots.begin(), slots.end(), [&](uint32_t slot) { return needed.has(slot); });
  const std::vector<base::DataType> types = optional.root->output;
  Planned rest = unmatched_rows(std::move(preserved), std::move(optional), std::move(on), matched);
  if (has_nulls) rest = after_nulls(types, slots, std::move(rest));
  const double rows = std::max(1.0, rest.rows() * estimator_.selectivity(predicates));
  rest = make_filter(std::move(rest), std::move(predicates));
  rest.root->estimated_rows = rows;
  return rest;
}

// `matched`: the estimated rows of the inner join.
Planned PlanBuilder::make_left_join(const LeftJoin& join, Planned preserved, Planned optional,
                                    Expressions on, double matched) {
  if (is_plain(join) && pays_to_split(preserved, optional, on)) {
    return split_left_join(std::move(preserved), std::move(optional), std::move(on), matched);
  }
  const JoinKind kind = join.inner ? JoinKind::kInner : JoinKind::kLeft;
  return make_join(kind, std::move(preserved), std::move(optional), std::move(on));
}

double PlanBuilder::inner_join_rows(const Planned& probe, const Planned& build,
                                    const Expressions& conditions) {
  JoinProblem problem;
  problem.relations = {{probe.rows(), probe.unfiltered, probe.unique_keys, false},
                       {build.rows(), build.unfiltered, build.unique_keys, false}};
  GroupState state;
  state.add_slots(0, probe.layout);
  state.add_slots(1, build.layout);
  for (const ExpressionPtr& condition : conditions) {
    if (condition->kind != ExpressionKind::kEqual) continue;
    const JoinSide a = join_side(*condition->children[0], state);
    const JoinSide b = join_side(*condition->children[1], state);
    if (std::has_single_bit(a.members) && std::has_single_bit(b.members)) {
      problem.equalities.push_back({a, b});
    }
  }
  return order_joins(problem)->rows;
}

// The kept rows without a match. `matched`: the estimated rows of the inner join.
Planned PlanBuilder::unmatched_rows(Planned kept, Planned other, Expressions on, double matched) {
  const double unfiltered = kept.unfiltered;
  const auto base = kept.base;
  const double rows = std::max({1.0, kept.rows() - matched, kept.rows() * kUnmatchedShareMin});
  Planned unmatched =
      make_subquery_join(JoinKind::kAnti, std::move(kept), std::move(other), std::move(on));
  unmatched.root->estimated_rows = rows;
  unmatched.unfiltered = unfiltered;
  unmatched.base = base;
  return unmatched;
}

// Whether the table of a left join's optional side costs more than to run both sides twice.
bool PlanBuilder::pays_to_split(const Planned& preserved, const Planned& optional,
                                const Expressions& on) const {
  const Operator* scan = optional.root.get();
  while (scan->kind == OperatorKind::kFilter || scan->kind == OperatorKind::kProject) {
    scan = scan->children[0].get();
  }
  const double work =
      preserved.rows() + rows_made(*preserved.root) + preserved.unfiltered / kScannedRowsAsOne;
  return scan->kind == OperatorKind::kScan && optional.rows() > kSplitRowsMin &&
         optional.rows() > kSplitFactor * work && has_equality(on) &&
         is_repeatable(*preserved.root) && !stays_between_rounds(preserved, optional);
}

// An inner join, on a table of the preserved side, and behind it the preserved rows without a
// match. Each side runs twice.
Planned PlanBuilder::split_left_join(Planned preserved, Planned optional, Expressions on,
                                     double matched) {
  slots_.work().add_copies(size_of(*preserved.root) + size_of(*optional.root));
  std::vector<Planned> both(2);
  both[1] = after_nulls(optional.root->output, optional.layout,
                        unmatched_rows(copy_of(preserved), copy_of(optional), clone(on), matched));
  both[0] = make_join(JoinKind::kInner, std::move(optional), std::move(preserved), std::move(on));
  both[0].root->estimated_rows = std::max(1.0, matched);
  return make_append(std::move(both));
}

// A left join, and behind it the rows of the right side without a match. Each side runs twice.
Planned PlanBuilder::plan_full_join(JoinMember& member, Expressions predicates, SlotSet needed) {
  LeftJoin& join = *member.left_join;
  join.on = null_safe_keys(std::move(join.on));
  needed.add(predicates);
  needed.add(join.on);
  Planned left = plan_group(join.preserved, needed);
  Planned right = plan_group(join.optional, needed);
  for (Planned* side : {&left, &right}) {
    if (!is_repeatable(*side->root)) *side = with_numbers(std::move(*side));
  }
  const double rows = left.rows() + right.rows();
  slots_.work().add_copies(size_of(*left.root) + size_of(*right.root));
  const double both_sides = inner_join_rows(left, right, join.on);
  Planned unmatched =
      after_nulls(left.root->output, left.layout,
                  unmatched_rows(copy_of(right), copy_of(left), clone(join.on), both_sides));
  Planned matched =
      make_join(JoinKind::kLeft, std::move(left), std::move(right), std::move(join.on));
  matched.root->estimated_rows = rows;
  std::vector<Planned> both;
  both.push_back(std::move(matched));
  both.push_back(std::move(unmatched));
  Planned joined = make_append(std::move(both));
  const double share = estimator_.selectivity(predicates);
  joined = make_filter(std::move(joined), std::move(predicates));
  joined.root->estimated_rows = std::max(1.0, rows * share);
  return joined;
}

}  // namespace diptych::olap
