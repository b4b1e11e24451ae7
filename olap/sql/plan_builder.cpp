#include "olap/sql/plan_builder.h"

#include <algorithm>

#include "olap/sql/predicate_pushdown.h"
#include "olap/sql/predicate_rules.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr double kRepetitionsExpected = 100;  // where they are not known
constexpr uint32_t kNoSlot = UINT32_MAX;      // of a column that nothing names

Expressions output_expressions(QueryBlock& block) {
  Expressions expressions;
  for (OutputColumn& output : block.outputs) expressions.push_back(std::move(output.expression));
  return expressions;
}

}  // namespace

Planned PlanBuilder::plan_statement(QueryBlock& block) {
  SlotSet needed;
  for (const OutputColumn& output : block.outputs) needed.add(output.slot);
  return plan_block(block, needed, Order::kKept);
}

Planned PlanBuilder::plan_block(QueryBlock& block, const SlotSet& needed, Order order) {
  push_down_having(block);
  const bool bound_again = block.times_bound != nullptr && *block.times_bound > 1;
  const bool once = bound_again && rows_may_differ(block);
  SlotSet read = needed;
  for (size_t i = 0; once && i < block.visible_outputs; ++i) read.add(block.outputs[i].slot);
  prune_outputs(block, read, order);
  prune_windows(block);
  prune_aggregates(block);
  SlotSet above;  // what the stages after FROM and WHERE read
  above.add(block.group_keys);
  for (const Aggregate& aggregate : block.aggregates) {
    if (aggregate.argument != nullptr) above.add(*aggregate.argument);
    above.add(aggregate.further);
  }
  above.add(block.having);
  above.add(block.subqueries);
  for (const Window& window : block.windows) {
    for (const WindowColumn& column : window.columns) above.add(*column.expression);
  }
  above.add(block.window_subqueries);
  for (const OutputColumn& output : block.outputs) above.add(*output.expression);
  offer_text_parts(block);
  Planned plan = plan_input(block, above);
  take_back_text_parts(block);
  if (block.aggregated) plan = aggregate(block, std::move(plan));
  plan = keep_having(block, std::move(plan));
  for (Window& window : block.windows) plan = add_window(window, std::move(plan));
  plan = add_subqueries(block, block.window_subqueries, std::move(plan));
  plan = project(block, std::move(plan));
  if (!block.distinct_on.empty()) plan = first_of_each(block, std::move(plan));
  if (block.distinct) plan = distinct(std::move(plan));
  plan = sort_and_limit(block, std::move(plan), order);
  if (block.repeat_slot != 0) plan = repeat(block.repeat_slot, std::move(plan));
  if (once && !is_repeatable(*plan.root)) plan = with_numbers(std::move(plan));
  plan.unfiltered = plan.rows();
  plan.single_row = block.repeat_slot == 0 && block.aggregated && block.group_slots.empty() &&
                    block.grouping_sets.empty();
  return plan;
}

// Subqueries of HAVING and SELECT are joined to the groups that the other conditions leave.
Planned PlanBuilder::keep_having(QueryBlock& block, Planned input) {
  const auto kept = [&](Planned rows, Expressions conditions) {
    const double share = estimator_.selectivity(conditions);
    rows = make_filter(std::move(rows), std::move(conditions));
    rows.root->estimated_rows = std::max(1.0, rows.rows() * share);
    return rows;
  };
  Expressions before;
  Expressions behind;
  for (ExpressionPtr& condition : block.having) {
    const bool later = names_a_subquery(block.subqueries, *condition);
    (later ? behind : before).push_back(std::move(condition));
  }
  block.having = std::move(behind);
  input = kept(std::move(input), std::move(before));
  input = add_subqueries(block, block.subqueries, std::move(input));
  return kept(std::move(input), std::move(block.having));
}

// Outputs of an inner block that nobody reads go, and so do sort keys that decide nothing.
void PlanBuilder::prune_outputs(QueryBlock& block, const SlotSet& needed, Order order) const {
  if (order == Order::kKept) return;
  const bool decides = block.limit != kNoLimit || block.offset != 0 || !block.distinct_on.empty();
  if (!decides) block.sort.clear();
  if (block.distinct || !block.distinct_on.empty()) return;
  std::vector<OutputColumn> kept;
  std::vector<size_t> moved(block.outputs.size());
  size_t visible = 0;
  for (size_t i = 0; i < block.outputs.size(); ++i) {
    bool sorted = std::any_of(block.sort.begin(), block.sort.end(),
                              [i](const SortItem& item) { return item.output == i; });
    const uint32_t slot = block.outputs[i].slot;
    const bool used = i < block.visible_outputs && (needed.has(slot) || slot == block.repeat_slot);
    const bool last_chance = kept.empty() && i + 1 == block.visible_outputs;  // never no column
    const auto& each = block.limit_partition;
    sorted = sorted || std::find(each.begin(), each.end(), i) != each.end();
    if (!sorted && !used && !last_chance) continue;
    // The column stays for its rows alone: its value costs, and may be an error.
    if (!sorted && !used) {
      block.outputs[i].expression = make_literal(kBigIntType, base::Value(int64_t{1}));
    }
    if (i < block.visible_outputs) ++visible;
    moved[i] = kept.size();
    kept.push_back(std::move(block.outputs[i]));
  }
  block.outputs = std::move(kept);
  block.visible_outputs = visible;
  for (SortItem& item : block.sort) item.output = moved[item.output];
  for (size_t& output : block.limit_partition) output = moved[output];
}

void PlanBuilder::prune_aggregates(QueryBlock& block) {
  SlotSet used;
  used.add(block.having);
  used.add(block.subqueries);
  for (const Window& window : block.windows) {
    for (const WindowColumn& column : window.columns) used.add(*column.expression);
  }
  used.add(block.window_subqueries);
  for (const OutputColumn& output : block.outputs) used.add(*output.expression);
  size_t kept = 0;
  for (size_t i = 0; i < block.aggregates.size(); ++i) {
    if (!used.has(block.aggregate_slots[i])) continue;
    if (kept != i) {
      block.aggregates[kept] = std::move(block.aggregates[i]);
      block.aggregate_slots[kept] = block.aggregate_slots[i];
    }
    ++kept;
  }
  block.aggregates.resize(kept);
  block.aggregate_slots.resize(kept);
}

Planned PlanBuilder::plan_input(QueryBlock& block, const SlotSet& needed) {
  if (!block.from.members.empty()) return plan_group(block.from, needed);
  Expressions one;
  one.push_back(make_literal(kBigIntType, base::Value(int64_t{1})));
  Planned row = make_values(std::move(one), {kNoSlot});
  row.single_row = true;
  return finish_group(block.from, std::move(row), needed);
}

// What aggregates ask of texts may be had once a row below a join.
void PlanBuilder::offer_text_parts(QueryBlock& block) {
  const auto column = [&](ExpressionPtr part) {
    return as_column(std::move(part), &block.from.text_parts);
  };
  if (block.from.members.size() < 2) return;
  for (Aggregate& aggregate : block.aggregates) {
    if (aggregate.argument == nullptr) continue;
    take_text_parts(&aggregate.argument, names_a_column, column);
  }
}

// Those that are not had are computed where they are asked for.
void PlanBuilder::take_back_text_parts(QueryBlock& block) {
  for (Aggregate& aggregate : block.aggregates) {
    if (aggregate.argument == nullptr) continue;
    substitute(&aggregate.argument, [&](const Expression& column) -> ExpressionPtr {
      for (const TextPart& part : block.from.text_parts) {
        if (part.slot == column.column && !part.is_column) return clone(*part.expression);
      }
      return nullptr;
    });
  }
}

// Below a GROUP BY with several sets: every row once for each of them, with keys that are columns.
Planned PlanBuilder::expand(QueryBlock& block, Planned input) {
  Expressions columns = std::move(block.group_keys);
  std::vector<uint32_t> layout = block.expanded_slots;
  block.group_keys.clear();
  for (size_t i = 0; i < layout.size(); ++i) {
    estimator_.set_distinct(layout[i], estimator_.distinct(*columns[i]));
    block.group_keys.push_back(make_column(layout[i], columns[i]->type, true));
  }
  for (size_t i = 0; i < input.layout.size(); ++i) {
    columns.push_back(
        make_column(input.layout[i], input.root->output[i], input.root->output_nullable[i]));
    layout.push_back(input.layout[i]);
  }
  const double rows = input.rows();
  input = make_project(std::move(input), std::move(columns), std::move(layout));
  input.root->estimated_rows = rows;
  const auto sets = static_cast<double>(block.grouping_sets.size());
  block.group_keys.push_back(make_column(block.set_slot, kBigIntType, false));
  block.group_slots.push_back(block.set_slot);
  estimator_.set_distinct(block.set_slot, sets);
  return make_expand(std::move(input), block.grouping_sets, block.set_slot);
}

// The estimated number of groups of so many rows.
double PlanBuilder::group_count(const QueryBlock& block, double rows) {
  if (block.grouping_sets.empty()) return std::min(rows, estimator_.combinations(block.group_keys));
  double groups = 0;
  for (const std::vector<bool>& set : block.grouping_sets) {
    Expressions keys;
    for (size_t i = 0; i < set.size(); ++i) {
      if (set[i]) keys.push_back(clone(*block.group_keys[i]));
    }
    groups += std::min(rows, estimator_.combinations(keys));
  }
  return groups;
}

// The groups with the sums in place of what they are computed from: the keys, then these.
Planned PlanBuilder::unshared(SharedSums sums, Planned groups, std::vector<uint32_t> layout) {
  Expressions columns;
  for (size_t i = 0; i + sums.values.size() < layout.size(); ++i) {
    columns.push_back(
        make_column(layout[i], groups.root->output[i], groups.root->output_nullable[i]));
  }
  for (ExpressionPtr& value : sums.values) columns.push_back(std::move(value));
  groups = make_filter(std::move(groups), std::move(sums.checks));
  return make_project(std::move(groups), std::move(columns), std::move(layout));
}

Planned PlanBuilder::aggregate(QueryBlock& block, Planned input) {
  const double groups = group_count(block, input.rows());
  std::vector<Expressions> standing;
  for (size_t i = 0; i < block.grouping_sets.size(); ++i) {
    const std::vector<bool>& set = block.grouping_sets[i];
    if (std::find(set.begin(), set.end(), true) != set.end()) continue;
    Expressions& keys = standing.emplace_back();
    for (const ExpressionPtr& key : block.group_keys) keys.push_back(make_null(key->type));
    keys.push_back(make_literal(kBigIntType, base::Value(static_cast<int64_t>(i))));
  }
  if (!block.grouping_sets.empty()) input = expand(block, std::move(input));
  for (size_t i = 0; i < block.group_keys.size(); ++i) {
    const double values = std::min(input.rows(), estimator_.distinct(*block.group_keys[i]));
    estimator_.set_distinct(block.group_slots[i], values);
    estimator_.set_origin(block.group_slots[i], *block.group_keys[i]);
  }
  for (const uint32_t slot : block.aggregate_slots) estimator_.set_distinct(slot, groups);
  std::vector<uint32_t> layout = block.group_slots;
  layout.insert(layout.end(), block.aggregate_slots.begin(), block.aggregate_slots.end());
  // Without keys and aggregates, as in HAVING without either, a row remains: count it.
  if (layout.empty()) {
    block.aggregates.push_back({AggregateKind::kCountAll, nullptr, kBigIntType});
    layout.push_back(kNoSlot);
  }
  const std::vector<uint32_t> shown = layout;
  SharedSums sums = share_shifted_sums(&block.aggregates, &block.aggregate_slots, &slots_);
  if (!sums.values.empty()) {
    layout.resize(block.group_slots.size());
    layout.insert(layout.end(), block.aggregate_slots.begin(), block.aggregate_slots.end());
  }
  Planned grouped = make_aggregate(std::move(input), std::move(block.group_keys),
                                   std::move(block.aggregates), std::move(layout));
  grouped.root->estimated_rows = std::max(1.0, groups);
  grouped.root->standing_groups = std::move(standing);
  if (!sums.values.empty()) grouped = unshared(std::move(sums), std::move(grouped), shown);
  grouped.unique_keys = {block.group_slots};
  return grouped;
}

// Subqueries whose values HAVING and SELECT use, joined to the groups, or above the windows.
Planned PlanBuilder::add_subqueries(QueryBlock& block, std::vector<SubqueryJoin>& subqueries,
                                    Planned input) {
  if (subqueries.empty()) return input;
  SlotSet read;
  read.add(block.having);
  for (const OutputColumn& output : block.outputs) read.add(*output.expression);
  for (const Window& window : block.windows) {
    for (const WindowColumn& column : window.columns) {
      if (column.expression != nullptr) read.add(*column.expression);  // else it is planned
    }
  }
  if (&subqueries != &block.window_subqueries) read.add(block.window_subqueries);
  return apply_subqueries(subqueries, std::move(input), std::move(read));
}

Planned PlanBuilder::project(QueryBlock& block, Planned input) {
  std::vector<uint32_t> layout;
  std::vector<std::vector<uint32_t>> unique_keys;
  for (const OutputColumn& output : block.outputs) {
    layout.push_back(output.slot);
    estimator_.set_distinct(output.slot,
                            std::min(input.rows(), estimator_.distinct(*output.expression)));
    estimator_.set_origin(output.slot, *output.expression);
  }
  for (const std::vector<uint32_t>& key : input.unique_keys) {
    std::vector<uint32_t> renamed;
    for (const uint32_t slot : key) {
      for (const OutputColumn& output : block.outputs) {
        const Expression& e = *output.expression;
        if (e.kind != ExpressionKind::kColumn || e.column != slot) continue;
        renamed.push_back(output.slot);
        break;
      }
    }
    if (renamed.size() == key.size()) unique_keys.push_back(std::move(renamed));
  }
  const double rows = input.rows();
  Planned projected = make_project(std::move(input), output_expressions(block), std::move(layout));
  projected.root->estimated_rows = rows;
  projected.unique_keys = std::move(unique_keys);
  return projected;
}

// The estimated number of different rows.
double PlanBuilder::distinct_rows(const Planned& input) {
  return std::min(estimator_.combinations(input.layout), input.rows());
}

Planned PlanBuilder::distinct(Planned input) {
  if (input.layout.empty()) return make_limit(std::move(input), 1, 0);
  Expressions keys;
  for (size_t i = 0; i < input.layout.size(); ++i) {
    keys.push_back(
        make_column(input.layout[i], input.root->output[i], input.root->output_nullable[i]));
  }
  const double rows = distinct_rows(input);
  std::vector<uint32_t> layout = input.layout;
  Planned grouped = make_aggregate(std::move(input), std::move(keys), {}, layout);
  grouped.root->estimated_rows = std::max(1.0, rows);
  grouped.unique_keys = {std::move(layout)};
  return grouped;
}

// Each row as often as its column says, which goes.
Planned PlanBuilder::repeat(uint32_t times, Planned input) {
  Expressions columns;
  std::vector<uint32_t> layout;
  size_t place = 0;
  for (size_t i = 0; i <= input.layout.size(); ++i) {
    const bool last = i == input.layout.size();
    if (!last && input.layout[i] == times) {
      place = i;
      continue;
    }
    const size_t from = last ? place : i;
    columns.push_back(make_column(input.layout[from], input.root->output[from],
                                  input.root->output_nullable[from]));
    layout.push_back(input.layout[from]);
  }
  const Operator& values = *input.root;
  const bool constant = values.kind == OperatorKind::kValues &&
                        values.expressions.size() == values.output.size() &&
                        std::holds_alternative<int64_t>(values.expressions[place]->literal);
  const double often =
      constant ? static_cast<double>(std::get<int64_t>(values.expressions[place]->literal))
               : kRepetitionsExpected;
  const double rows = input.rows() * std::max(1.0, often);
  input = make_repeat(make_project(std::move(input), std::move(columns), std::move(layout)));
  input.root->estimated_rows = rows;
  input.unique_keys.clear();
  return input;
}

Planned PlanBuilder::sort_and_limit(QueryBlock& block, Planned input, Order order) {
  const double before = input.rows();
  if (block.with_ties && block.limit != kNoLimit) {
    input = limit_with_ties(block, std::move(input));
  } else if (!block.limit_partition.empty()) {
    input = limit_each(block, std::move(input));
  }
  if (!block.sort.empty()) {
    std::vector<SortKey> keys;
    for (const SortItem& item : block.sort) {
      keys.push_back({static_cast<uint32_t>(item.output), item.descending, item.nulls_first});
    }
    input = make_sort(std::move(input), std::move(keys), block.limit, block.offset);
  } else if (block.limit != kNoLimit || block.offset != 0) {
    input = make_limit(std::move(input), block.limit, block.offset);
  }
  const double left = std::max(0.0, before - static_cast<double>(block.offset));
  input.root->estimated_rows = std::min(left, static_cast<double>(block.limit));
  const bool hidden = input.layout.size() > block.visible_outputs;
  if (!hidden || order == Order::kFree) return input;
  Expressions visible;
  for (size_t i = 0; i < block.visible_outputs; ++i) {
    visible.push_back(
        make_column(input.layout[i], input.root->output[i], input.root->output_nullable[i]));
  }
  std::vector<uint32_t> layout(
      input.layout.begin(),
      input.layout.begin() + static_cast<std::ptrdiff_t>(block.visible_outputs));
  return make_project(std::move(input), std::move(visible), std::move(layout));
}

}  // namespace diptych::olap
