// Subqueries of SelectBinder.
//
//   [NOT] EXISTS, [NOT] IN under AND in WHERE     a semi or anti join
//   EXISTS, IN, ANY, ALL anywhere                 mark joins: a column that says whether there is a
//                                                 match; three-valued logic asks two or three
//   a value, or a row of values                   a left join with a block of one row for each
//                                                 outer row, decorrelated (decorrelation.h)
//
// A value that is an aggregate over all rows exists for outer rows without a match, too: its block
// gives the bare aggregates, and the expression over them is computed above the join, where a count
// without a match is 0.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "olap/sql/constant_folding.h"
#include "olap/sql/decorrelation.h"
#include "olap/sql/join_order.h"
#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"
#include "olap/sql/unnesting.h"

namespace diptych::olap {
namespace {

// True where the block has exactly one row whatever the data.
bool has_one_row(const QueryBlock& block) {
  const bool aggregate = block.aggregated && block.group_keys.empty() &&
                         block.grouping_sets.empty() && block.having.empty();
  const bool no_from = !block.aggregated && block.from.members.empty() &&
                       block.from.predicates.empty() && block.from.subqueries.empty();
  return (aggregate || no_from) && block.limit >= 1 && block.offset == 0;
}

// True where the block is one group of all rows, and nothing after it drops or adds rows.
bool is_one_group(const QueryBlock& block) {
  return block.aggregated && block.group_keys.empty() && block.grouping_sets.empty() &&
         block.windows.empty() && block.subqueries.empty() && block.limit >= 1 && block.offset == 0;
}

// True where no two rows agree in the outputs that the conditions compare: a table's rows by its
// key.
bool has_unique_keys(const QueryBlock& block, const Expressions& conditions) {
  if (!is_simple(block) || block.from.members.size() != 1) return false;
  const JoinMember& member = block.from.members[0];
  if (member.table == nullptr) return false;
  std::unordered_set<uint32_t> compared;
  for (const ExpressionPtr& condition : conditions) {
    for_each_column(static_cast<const Expression&>(*condition),
                    [&](const Expression& column) { compared.insert(column.column); });
  }
  return std::all_of(member.table->primary_key().columns.begin(),
                     member.table->primary_key().columns.end(), [&](base::ColumnId part) {
                       const uint32_t slot = member.slots[part.value];
                       return std::any_of(block.outputs.begin(), block.outputs.end(),
                                          [&](const OutputColumn& output) {
                                            return compared.contains(output.slot) &&
                                                   output.expression->kind ==
                                                       ExpressionKind::kColumn &&
                                                   output.expression->column == slot;
                                          });
                     });
}

bool outputs_name_below(const QueryBlock& block, uint32_t first_slot) {
  return std::any_of(
      block.outputs.begin(),
      block.outputs.begin() + static_cast<std::ptrdiff_t>(block.visible_outputs),
      [&](const OutputColumn& output) { return names_slot_below(*output.expression, first_slot); });
}

}  // namespace

// A subquery whose rows are looked at, not used as values.
base::Result<SelectBinder::InnerQuery> SelectBinder::bind_inner(const PgQuery__SubLink& subquery) {
  InnerQuery query;
  query.join.first_slot = slots_.size();
  query.join.offset = subquery.location;
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kAllowed);
  binder.only_rows_ = exists(subquery);
  auto bound = binder.bind(*subquery.subselect->select_stmt);
  if (!bound) return bound.error();
  QueryBlock& block = **bound;
  query.one_row = has_one_row(block);
  // Whether there is a row does not depend on their order, on duplicates or on a limit.
  const bool limited =
      block.limit == 0 || block.offset != 0 || (block.limit != kNoLimit && !exists(subquery));
  if (!limited) block.limit = kNoLimit;
  if (!limited) block.distinct = false;
  if (!limited && block.distinct_on.empty()) block.sort.clear();
  Ties ties;
  if (is_simple(block)) {
    if (block.from.members.empty()) {
      JoinMember row;
      row.rows.emplace_back();
      row.rows[0].push_back(make_literal(kBigIntType, base::Value(int64_t{1})));
      row.slots.push_back(slots_.add({"", kBigIntType, false, nullptr, {}}));
      block.from.members.push_back(std::move(row));
    }
    ties = decorrelate(slots_, block.from, query.join.first_slot, ties_wanted());
    for (size_t i = 0; i < block.visible_outputs; ++i) {
      query.outputs.push_back(std::move(block.outputs[i].expression));
    }
    query.join.inner = std::move(block.from);
  } else {
    for (size_t i = 0; i < block.visible_outputs; ++i) {
      query.outputs.push_back(slots_.column(block.outputs[i].slot));
    }
    ties = decorrelate(slots_, block, query.join.first_slot, ties_wanted());
    query.join.inner.members.push_back(derived_member(*std::move(bound)));
  }
  query.join.conditions = std::move(ties.conditions);
  query.join.domain = std::move(ties.domain);
  query.join.end_slot = slots_.size();
  return query;
}

// Grouping sets make columns NULL that are not.
TiesWanted SelectBinder::ties_wanted() const {
  return {.outer_nullable = !block_->grouping_sets.empty()};
}

bool SelectBinder::exists(const PgQuery__SubLink& subquery) {
  return subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK;
}

BoundResult SelectBinder::bind_subquery(const PgQuery__SubLink& subquery, std::vector<Bound> tested,
                                        bool in_aggregate) {
  JoinGroup* const around = scalar_group_;
  const unsigned depth = expressions_.depth();
  statement_.nesting += depth;
  if (in_aggregate) scalar_group_ = &block_->from;
  BoundResult result = bind_subquery_value(subquery, copy_of(tested));
  while (!result && expressions_.bind_again()) {
    result = bind_subquery_value(subquery, copy_of(tested));
  }
  scalar_group_ = around;
  statement_.nesting -= depth;
  return result;
}

BoundResult SelectBinder::bind_subquery_value(const PgQuery__SubLink& subquery,
                                              std::vector<Bound> tested) {
  switch (subquery.sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK: return bind_scalar(subquery);
    case PG_QUERY__SUB_LINK_TYPE__ROWCOMPARE_SUBLINK:
      return bind_row_comparison(subquery, std::move(tested));
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK: {
      auto query = bind_inner(subquery);
      if (!query) return query.error();
      if (query->one_row)
        return typed(make_literal(kBooleanType, base::Value(true)), subquery.location);
      return typed(attach_mark(std::move(query->join)), subquery.location);
    }
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK: return bind_quantified(subquery, std::move(tested));
    default: return source_.unsupported(subquery.location, "ARRAY (subquery)");
  }
}

ExpressionPtr SelectBinder::attach_mark(SubqueryJoin join) {
  join.kind = JoinKind::kMark;
  join.mark = slots_.add({"exists", kBooleanType, false, nullptr, {}});
  ExpressionPtr mark = slots_.column(join.mark);
  attach(std::move(join));
  return mark;
}

BoundResult SelectBinder::bind_scalar(const PgQuery__SubLink& subquery) {
  auto values = bind_single_row(subquery);
  if (!values) return values.error();
  if (values->size() != 1) {
    return source_.wrong(subquery.location, "a subquery that stands for a value has one column");
  }
  return Bound{std::move(values->front()), false, subquery.location};
}

// (a, b) = (SELECT x, y ...): NULL where there is no row.
BoundResult SelectBinder::bind_row_comparison(const PgQuery__SubLink& subquery,
                                              std::vector<Bound> tested) {
  auto values = bind_single_row(subquery);
  if (!values) return values.error();
  auto condition =
      compare_rows(subquery, operator_name(subquery), std::move(tested), *std::move(values));
  if (!condition) return condition.error();
  return typed(*std::move(condition), subquery.location);
}

// The columns of the one row that the subquery may have; NULL where there is none.
base::Result<Expressions> SelectBinder::bind_single_row(const PgQuery__SubLink& subquery) {
  SubqueryJoin join;
  join.first_slot = slots_.size();
  join.offset = subquery.location;
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kAllowed);
  auto block = binder.bind(*subquery.subselect->select_stmt);
  if (!block) return block.error();
  Expressions values;
  if (has_one_row(**block) && is_simple(**block) && (*block)->from.members.empty()) {
    return take_values(**block);
  }
  if (has_one_row(**block) && !names_slot_below(**block, join.first_slot)) {
    values = output_columns(**block);
    join.kind = JoinKind::kInner;
  } else if (is_one_group(**block)) {
    values = lift_aggregates(**block, &join);
  } else {
    values = lift_row(&*block, &join);
  }
  join.inner.members.push_back(derived_member(*std::move(block)));
  join.end_slot = slots_.size();
  attach(std::move(join));
  for (const ExpressionPtr& value : values) offsets_[value.get()] = subquery.location;
  return values;
}

// The expressions of the block's outputs, which is left without any.
Expressions SelectBinder::take_values(QueryBlock& block) {
  Expressions values;
  for (size_t i = 0; i < block.visible_outputs; ++i) {
    values.push_back(std::move(block.outputs[i].expression));
  }
  block.outputs.clear();
  block.visible_outputs = 0;
  block.sort.clear();
  return values;
}

Expressions SelectBinder::output_columns(const QueryBlock& block) const {
  Expressions columns;
  for (size_t i = 0; i < block.visible_outputs; ++i) {
    columns.push_back(slots_.column(block.outputs[i].slot));
  }
  return columns;
}

// The block gives its aggregates; the values over them are computed above the join.
Expressions SelectBinder::lift_aggregates(QueryBlock& block, SubqueryJoin* join) {
  Expressions values = take_values(block);
  if (!block.having.empty()) {
    const ExpressionPtr having = conjunction(std::move(block.having));
    for (ExpressionPtr& value : values) {
      value = fold(make_case(clone(*having), std::move(value)));
    }
  }
  block.having.clear();
  block.distinct_on.clear();
  block.limit = kNoLimit;
  block.distinct = false;
  std::unordered_map<uint32_t, uint32_t> given;  // aggregate's slot to output's
  for (const ExpressionPtr& value : values) {
    for_each_column(static_cast<const Expression&>(*value), [&](const Expression& column) {
      if (column.column < join->first_slot || given.contains(column.column)) return;
      const uint32_t slot = slots_.add(Slot(slots_[column.column]));
      given[column.column] = slot;
      block.outputs.push_back({"", slots_.column(column.column), slot, false});
    });
  }
  if (block.outputs.empty()) {
    const uint32_t slot = slots_.add({"", kBigIntType, false, nullptr, {}});
    block.outputs.push_back({"", make_literal(kBigIntType, base::Value(int64_t{1})), slot, false});
  }
  block.visible_outputs = block.outputs.size();
  std::unordered_map<uint32_t, AggregateKind> kinds;
  for (size_t i = 0; i < block.aggregates.size(); ++i) {
    kinds[block.aggregate_slots[i]] = block.aggregates[i].kind;
  }
  TiesWanted wanted = ties_wanted();
  wanted.groups_lifted = true;
  Ties ties = decorrelate(slots_, block, join->first_slot, wanted);
  join->kind = ties.conditions.empty() ? JoinKind::kInner : JoinKind::kLeft;
  join->conditions = std::move(ties.conditions);
  join->domain = std::move(ties.domain);
  for (ExpressionPtr& value : values) over_outputs(&value, given, kinds);
  return values;
}

// The expression over the block's columns, and aggregates, as a left join with the block has them.
void SelectBinder::over_outputs(ExpressionPtr* value,
                                const std::unordered_map<uint32_t, uint32_t>& given,
                                const std::unordered_map<uint32_t, AggregateKind>& kinds) {
  substitute(value, [&](const Expression& part) -> ExpressionPtr {
    const auto found = given.find(part.column);
    if (found == given.end()) return nullptr;
    slots_[found->second].nullable = true;
    const auto kind = kinds.find(part.column);
    ExpressionPtr column = slots_.column(found->second);
    return kind == kinds.end() ? std::move(column) : over_no_rows(kind->second, std::move(column));
  });
}

// Any other block: its values where it has one row for an outer row, NULL where it has none.
Expressions SelectBinder::lift_row(std::unique_ptr<QueryBlock>* block, SubqueryJoin* join) {
  const bool no_from = is_simple(**block) && (*block)->from.members.empty();
  const bool limited = ((*block)->limit <= 1 && !(*block)->with_ties) || no_from;
  Expressions values = output_columns(**block);
  // Values that need the outer row are computed above the join, from columns of the block.
  const bool above = is_simple(**block) && outputs_name_below(**block, join->first_slot);
  uint32_t flag = 0;  // of those: a column that is NULL where there is no row
  if (above) {
    values = take_values(**block);
    flag = expose(slots_, **block, make_literal(kBooleanType, base::Value(true)));
  }
  TiesWanted wanted = ties_wanted();
  wanted.equalities = true;
  Ties ties = decorrelate(slots_, **block, join->first_slot, wanted);
  join->kind = JoinKind::kLeft;
  join->conditions = std::move(ties.conditions);
  join->domain = std::move(ties.domain);
  const bool single = limited || has_unique_keys(**block, join->conditions);
  std::unordered_map<uint32_t, uint32_t> given;  // what the values name, to the block's outputs
  if (above) given[flag] = flag;
  for (const ExpressionPtr& value : values) {
    for_each_column(static_cast<const Expression&>(*value), [&](const Expression& column) {
      const uint32_t own = column.column;
      if (own < join->first_slot || given.contains(own)) return;
      given[own] = above ? expose(slots_, **block, slots_.column(own)) : own;
    });
  }
  const ExpressionPtr rows = single ? nullptr : group_rows(block, join, &given);
  for (ExpressionPtr& value : values) {
    over_outputs(&value, given, {});
    if (above) {
      slots_[given[flag]].nullable = true;
      ExpressionPtr present =
          make_expression(ExpressionKind::kIsNotNull, kBooleanType, slots_.column(given[flag]));
      value = fold(make_case(std::move(present), std::move(value)));
    }
    if (rows == nullptr) continue;
    Expressions checked;
    const base::DataType type = value->type;
    checked.push_back(std::move(value));
    checked.push_back(clone(*rows));
    value = make_function(Function::kSingleRow, type, std::move(checked));
  }
  return values;
}

// Puts a GROUP BY of the conditions' keys on the block: one row for each, with the least value of
// every output that is `given`, and the number of rows, which is the result. `given` then names the
// new outputs.
ExpressionPtr SelectBinder::group_rows(std::unique_ptr<QueryBlock>* block, SubqueryJoin* join,
                                       std::unordered_map<uint32_t, uint32_t>* given) {
  auto grouped = std::make_unique<QueryBlock>();
  grouped->aggregated = true;
  std::unordered_map<uint32_t, uint32_t> renamed;
  const auto add = [&](Aggregate aggregate) {
    const uint32_t slot = slots_.add({"", aggregate.type, true, nullptr, {}});
    const uint32_t output = slots_.add({"", aggregate.type, true, nullptr, {}});
    grouped->aggregates.push_back(std::move(aggregate));
    grouped->aggregate_slots.push_back(slot);
    grouped->outputs.push_back({"", slots_.column(slot), output, false});
    return output;
  };
  for (const auto& [column, slot] : *given) {
    Aggregate least;
    least.kind = AggregateKind::kMin;
    least.argument = slots_.column(slot);
    least.type = slots_[slot].type;
    renamed[slot] = add(std::move(least));
  }
  Aggregate rows;
  rows.type = kBigIntType;
  const uint32_t count = add(std::move(rows));
  grouped->visible_outputs = grouped->outputs.size();
  for (auto& [column, slot] : *given) slot = renamed[slot];
  grouped->from.members.push_back(derived_member(std::move(*block)));
  for (ExpressionPtr& condition : join->conditions) {
    for_each_column(*condition, [&](Expression& column) {
      if (column.column < join->first_slot) return;
      column.column = expose(slots_, *grouped, slots_.column(column.column));
    });
  }
  *block = std::move(grouped);
  return slots_.column(count);
}

// To where the subquery stands: FROM and WHERE, or, for the clauses after them, later. One row of
// its own is a member of the join as any other, or comes behind the join where that is full.
void SelectBinder::attach(SubqueryJoin join) {
  if (scalar_group_ == nullptr) {
    pending_.push_back(std::move(join));
    return;
  }
  JoinGroup& group = *scalar_group_;
  const bool wide = width_of(group) + join.inner.members.size() > kJoinTablesMax;
  if (join.kind == JoinKind::kInner && !wide) {
    for (JoinMember& member : join.inner.members) group.members.push_back(std::move(member));
    for (ExpressionPtr& c : join.conditions) group.predicates.push_back(std::move(c));
    return;
  }
  if (join.kind != JoinKind::kLeft || group.members.empty()) {
    group.subqueries.push_back(std::move(join));
    return;
  }
  // As a member, so that it becomes an inner join where a predicate needs the value.
  auto left_join = std::make_unique<LeftJoin>();
  left_join->value = true;
  left_join->preserved.members = std::move(group.members);
  left_join->optional = std::move(join.inner);
  left_join->on = std::move(join.conditions);
  left_join->domain = std::move(join.domain);
  JoinMember member;
  for (const JoinGroup* side : {&left_join->preserved, &left_join->optional}) {
    for (const JoinMember& inner : side->members) {
      member.slots.insert(member.slots.end(), inner.slots.begin(), inner.slots.end());
    }
  }
  member.left_join = std::move(left_join);
  group.members.clear();
  group.members.push_back(std::move(member));
}

// What SELECT, HAVING and ORDER BY use comes in after the aggregation, where there is one, and what
// reads a window's result, or another such join's, after the windows.
void SelectBinder::place_pending() {
  std::unordered_set<uint32_t> late;  // slots that are there only above the windows
  for (const Window& window : block_->windows) {
    for (const WindowCall& call : window.calls) late.insert(call.slot);
  }
  const auto names_late = [&late](const Expressions& expressions) {
    bool found = false;
    for (const ExpressionPtr& e : expressions) {
      for_each_column(static_cast<const Expression&>(*e), [&](const Expression& column) {
        found = found || late.contains(column.column);
      });
    }
    return found;
  };
  for (SubqueryJoin& join : pending_) {
    if (names_late(join.conditions) || names_late(join.domain.values)) {
      if (join.kind == JoinKind::kMark) late.insert(join.mark);
      for (const JoinMember& member : join.inner.members) {
        late.insert(member.slots.begin(), member.slots.end());
      }
      block_->window_subqueries.push_back(std::move(join));
    } else if (block_->aggregated) {
      block_->subqueries.push_back(std::move(join));
    } else if (join.kind == JoinKind::kInner) {
      scalar_group_ = &block_->from;
      attach(std::move(join));
    } else {
      block_->from.subqueries.push_back(std::move(join));
    }
  }
  pending_.clear();
  scalar_group_ = nullptr;
}

}  // namespace diptych::olap
