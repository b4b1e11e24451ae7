// Set operations and VALUES of PlanBuilder.
//
//   UNION ALL            append
//   UNION                append, one of each row
//   INTERSECT, EXCEPT    semi join, anti join of the sides by all columns, one of each row
//   ... ALL              append both sides, each row with a mark of its side; count the marks by
//                        distinct row; repeat the row min(left, right) or left - right times

#include <algorithm>
#include <numeric>

#include "olap/sql/plan_builder.h"
#include "olap/sql/type_rules.h"
#include "olap/sql/unnesting.h"

namespace diptych::olap {
namespace {

constexpr double kRepetitionsToReduce = 16;

ExpressionPtr number(int64_t value) {
  return make_literal(kBigIntType, base::Value(value));
}

ExpressionPtr count_column(uint32_t slot) {
  return make_column(slot, kBigIntType, false);
}

std::vector<size_t> all_columns(const JoinMember& member) {
  std::vector<size_t> columns(member.slots.size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  return columns;
}

ExpressionPtr column_of(const Planned& input, size_t i) {
  return make_column(input.layout[i], input.root->output[i], input.root->output_nullable[i]);
}

Expressions columns_of(const Planned& input, size_t count) {
  Expressions columns;
  for (size_t i = 0; i < count; ++i) columns.push_back(column_of(input, i));
  return columns;
}

// How often a row comes that the sides have so often.
ExpressionPtr repetitions(SetOperator kind, uint32_t left, uint32_t right) {
  ExpressionPtr fewer =
      make_expression(ExpressionKind::kLess, kBooleanType, count_column(left), count_column(right));
  if (kind == SetOperator::kIntersect) {
    return make_case(std::move(fewer), count_column(left), count_column(right));
  }
  return make_case(std::move(fewer), number(0),
                   make_expression(ExpressionKind::kSubtract, kBigIntType, count_column(left),
                                   count_column(right)));
}

}  // namespace

// The input's columns with these numbers, in these slots: the member's, which all inputs share, or
// others.
Planned PlanBuilder::plan_set_input(JoinMember& member, size_t input,
                                    const std::vector<size_t>& columns,
                                    std::vector<uint32_t> slots) {
  Expressions values;
  for (const size_t c : columns) {
    values.push_back(std::move(member.set_operation->columns[input][c]));
  }
  SlotSet needed;
  needed.add(values);
  Planned planned = plan_block(*member.set_operation->inputs[input], needed, Order::kFree);
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool is_shared = input != 0 && slots[i] == member.slots[columns[i]];
    const double known = is_shared ? estimator_.distinct(slots[i]) : 0;
    estimator_.set_distinct(slots[i],
                            known + std::min(planned.rows(), estimator_.distinct(*values[i])));
    const bool is_union = member.set_operation->kind == SetOperator::kUnion;
    if (!is_union) estimator_.set_origin(slots[i], *values[i]);
  }
  const double rows = planned.rows();
  planned = make_project(std::move(planned), std::move(values), std::move(slots));
  planned.root->estimated_rows = rows;
  return planned;
}

Planned PlanBuilder::plan_set_operation(JoinMember& member, const SlotSet& needed) {
  const SetOperation& operation = *member.set_operation;
  if (operation.kind != SetOperator::kUnion) {
    return operation.all ? count_sides(member) : join_sides(member);
  }
  if (operation.recursion != 0) return plan_recursion(member);
  std::vector<size_t> columns;
  for (size_t c = 0; c < member.slots.size(); ++c) {
    if (!operation.all || needed.has(member.slots[c])) columns.push_back(c);
  }
  if (columns.empty() && !member.slots.empty()) {  // never no column
    columns.push_back(0);
    for (Expressions& values : member.set_operation->columns) values[0] = number(1);
  }
  std::vector<uint32_t> slots;
  for (const size_t c : columns) slots.push_back(member.slots[c]);
  std::vector<Planned> inputs;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    inputs.push_back(plan_set_input(member, i, columns, slots));
  }
  Planned all = make_append(std::move(inputs));
  return operation.all ? std::move(all) : distinct(std::move(all));
}

// A side of a set operation: one of each row, if its rows are repeated so often that to find this
// out costs less than to look up all of them. The filter of a smaller side would cost even less.
Planned PlanBuilder::reduced(Planned side, double other_rows) {
  const double rows = distinct_rows(side);
  const bool pays = side.rows() > kRepetitionsToReduce * rows && other_rows >= rows;
  return pays ? distinct(std::move(side)) : std::move(side);
}

// INTERSECT and EXCEPT: one of each left row that has an equal right row, or none.
Planned PlanBuilder::join_sides(JoinMember& member) {
  const SetOperation& operation = *member.set_operation;
  const std::vector<size_t> columns = all_columns(member);
  std::vector<uint32_t> slots;
  for (const uint32_t slot : member.slots) slots.push_back(slots_.add(Slot(slots_[slot])));
  Planned left = plan_set_input(member, 0, columns, member.slots);
  Planned right = plan_set_input(member, 1, columns, slots);
  const double left_rows = left.rows();
  left = reduced(std::move(left), right.rows());
  right = reduced(std::move(right), left_rows);
  const double kept = std::max(1.0, left.rows() / 2);
  Expressions on;
  for (size_t c = 0; c < columns.size(); ++c) {
    std::optional<base::DataType> common = common_type(left.root->output[c], right.root->output[c]);
    DIPTYCH_CHECK(common.has_value(), "the sides have the same types");
    left.root->output[c] = *common;
    for (ExpressionPtr& key : same_value(column_of(left, c), column_of(right, c))) {
      on.push_back(std::move(key));
    }
  }
  const JoinKind kind =
      operation.kind == SetOperator::kIntersect ? JoinKind::kSemi : JoinKind::kAnti;
  Planned joined = make_subquery_join(kind, std::move(left), std::move(right), std::move(on));
  joined.root->estimated_rows = kept;
  return distinct(std::move(joined));
}

// INTERSECT ALL and EXCEPT ALL.
Planned PlanBuilder::count_sides(JoinMember& member) {
  const SetOperation& operation = *member.set_operation;
  const std::vector<size_t> columns = all_columns(member);
  std::vector<Planned> sides;
  for (size_t side = 0; side < 2; ++side) {
    Planned input = plan_set_input(member, side, columns, member.slots);
    const double rows = input.rows();
    Expressions marked = columns_of(input, columns.size());
    marked.push_back(side == 0 ? number(1) : make_null(kBigIntType));
    marked.push_back(side == 1 ? number(1) : make_null(kBigIntType));
    std::vector<uint32_t> layout = member.slots;
    layout.insert(layout.end(), operation.marks.begin(), operation.marks.end());
    input = make_project(std::move(input), std::move(marked), std::move(layout));
    input.root->estimated_rows = rows;
    sides.push_back(std::move(input));
  }
  const double left_rows = sides[0].rows();
  Planned all = make_append(std::move(sides));
  std::vector<Aggregate> counts;
  for (const uint32_t mark : operation.marks) {
    counts.push_back({AggregateKind::kCount, make_column(mark, kBigIntType, true), kBigIntType});
  }
  std::vector<uint32_t> layout = member.slots;
  layout.insert(layout.end(), operation.counts.begin(), operation.counts.end());
  Expressions keys = columns_of(all, columns.size());
  Planned counted =
      make_aggregate(std::move(all), std::move(keys), std::move(counts), std::move(layout));
  Expressions kept;
  for (size_t side = 0; side < 2; ++side) {
    if (side == 1 && operation.kind == SetOperator::kExcept) break;
    kept.push_back(make_expression(ExpressionKind::kGreater, kBooleanType,
                                   count_column(operation.counts[side]), number(0)));
  }
  counted = make_filter(std::move(counted), std::move(kept));
  Expressions outputs = columns_of(counted, columns.size());
  layout = member.slots;
  outputs.push_back(repetitions(operation.kind, operation.counts[0], operation.counts[1]));
  layout.push_back(operation.repeat);
  counted = make_project(std::move(counted), std::move(outputs), std::move(layout));
  counted = make_repeat(std::move(counted));
  counted.root->estimated_rows = std::max(1.0, left_rows / 2);
  return counted;
}

Planned PlanBuilder::plan_values(JoinMember& member, const SlotSet& needed) {
  std::vector<size_t> columns;
  std::vector<uint32_t> layout;
  for (size_t c = 0; c < member.slots.size(); ++c) {
    const bool last_chance = columns.empty() && c + 1 == member.slots.size();
    if (!needed.has(member.slots[c]) && !last_chance) continue;
    columns.push_back(c);
    layout.push_back(member.slots[c]);
    estimator_.set_distinct(member.slots[c], static_cast<double>(member.rows.size()));
  }
  Expressions values;
  for (Expressions& row : member.rows) {
    for (const size_t c : columns) values.push_back(std::move(row[c]));
  }
  return make_values(std::move(values), std::move(layout));
}

}  // namespace diptych::olap
