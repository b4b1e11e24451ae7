// Set operations and VALUES of PlanBuilder.
//
//   UNION ALL            append
//   UNION                append, one of each row
//   INTERSECT, EXCEPT    append both sides, each row with a mark of its side; count the marks by
//                        distinct row; keep the row where both have it, or only the left; with ALL,
//                        repeat it min(left, right) or left - right times

#include <algorithm>

#include "olap/sql/plan_builder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

ExpressionPtr number(int64_t value) {
  return make_literal(kBigIntType, base::Value(value));
}

ExpressionPtr count_column(uint32_t slot) {
  return make_column(slot, kBigIntType, false);
}

Expressions columns_of(const Planned& input, size_t count) {
  Expressions columns;
  for (size_t i = 0; i < count; ++i) {
    columns.push_back(
        make_column(input.layout[i], input.root->output[i], input.root->output_nullable[i]));
  }
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

// The input's columns with these numbers, in the member's slots.
Planned PlanBuilder::plan_set_input(JoinMember& member, size_t input,
                                    const std::vector<size_t>& columns) {
  Expressions values;
  std::vector<uint32_t> layout;
  SlotSet needed;
  for (const size_t c : columns) {
    ExpressionPtr& value = member.set_operation->columns[input][c];
    needed.add(*value);
    values.push_back(std::move(value));
    layout.push_back(member.slots[c]);
  }
  Planned planned = plan_block(*member.set_operation->inputs[input], needed, Order::kFree);
  for (size_t i = 0; i < layout.size(); ++i) {
    const double known = input == 0 ? 0 : estimator_.distinct(layout[i]);
    estimator_.set_distinct(layout[i],
                            known + std::min(planned.rows(), estimator_.distinct(*values[i])));
  }
  const double rows = planned.rows();
  planned = make_project(std::move(planned), std::move(values), std::move(layout));
  planned.root->estimated_rows = rows;
  return planned;
}

Planned PlanBuilder::plan_set_operation(JoinMember& member, const SlotSet& needed) {
  const SetOperation& operation = *member.set_operation;
  if (operation.kind != SetOperator::kUnion) return count_sides(member);
  if (operation.recursion != 0) return plan_recursion(member);
  std::vector<size_t> columns;
  for (size_t c = 0; c < member.slots.size(); ++c) {
    if (!operation.all || needed.has(member.slots[c])) columns.push_back(c);
  }
  if (columns.empty() && !member.slots.empty()) {  // never no column
    columns.push_back(0);
    for (Expressions& values : member.set_operation->columns) values[0] = number(1);
  }
  std::vector<Planned> inputs;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    inputs.push_back(plan_set_input(member, i, columns));
  }
  Planned all = make_append(std::move(inputs));
  return operation.all ? std::move(all) : distinct(std::move(all));
}

// INTERSECT and EXCEPT.
Planned PlanBuilder::count_sides(JoinMember& member) {
  const SetOperation& operation = *member.set_operation;
  std::vector<size_t> columns(member.slots.size());
  for (size_t c = 0; c < columns.size(); ++c) columns[c] = c;
  std::vector<Planned> sides;
  for (size_t side = 0; side < 2; ++side) {
    Planned input = plan_set_input(member, side, columns);
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
  const bool intersect = operation.kind == SetOperator::kIntersect;
  kept.push_back(make_expression(ExpressionKind::kGreater, kBooleanType,
                                 count_column(operation.counts[0]), number(0)));
  if (intersect || !operation.all) {
    kept.push_back(make_expression(intersect ? ExpressionKind::kGreater : ExpressionKind::kEqual,
                                   kBooleanType, count_column(operation.counts[1]), number(0)));
  }
  counted = make_filter(std::move(counted), std::move(kept));
  Expressions outputs = columns_of(counted, columns.size());
  layout = member.slots;
  if (operation.all) {
    outputs.push_back(repetitions(operation.kind, operation.counts[0], operation.counts[1]));
    layout.push_back(operation.repeat);
  }
  counted = make_project(std::move(counted), std::move(outputs), std::move(layout));
  if (operation.all) {
    counted = make_repeat(std::move(counted));
  } else {
    counted.unique_keys = {member.slots};
  }
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
