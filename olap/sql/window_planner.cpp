// Windows of PlanBuilder, and what is done with row numbers: DISTINCT ON and WITH TIES.

#include <algorithm>

#include "olap/sql/plan_builder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

WindowFunction number_of(WindowKind kind) {
  WindowFunction function;
  function.kind = kind;
  function.type = kBigIntType;
  return function;
}

ExpressionPtr compare_number(ExpressionKind kind, uint32_t slot, uint64_t number) {
  return make_expression(
      kind, kBooleanType, make_column(slot, kBigIntType, false),
      make_literal(kBigIntType, base::Value(static_cast<int64_t>(std::min<uint64_t>(
                                    number, static_cast<uint64_t>(INT64_MAX))))));
}

std::vector<SortKey> keys_of(const QueryBlock& block) {
  std::vector<SortKey> keys;
  for (const SortItem& item : block.sort) {
    keys.push_back({static_cast<uint32_t>(item.output), item.descending, item.nulls_first});
  }
  return keys;
}

}  // namespace

// Functions whose values nobody reads go.
void PlanBuilder::prune_windows(QueryBlock& block) {
  SlotSet used;
  for (const OutputColumn& output : block.outputs) used.add(*output.expression);
  used.add(block.window_subqueries);
  for (Window& window : block.windows) {
    std::erase_if(window.calls, [&](const WindowCall& call) { return !used.has(call.slot); });
  }
  std::erase_if(block.windows, [](const Window& window) { return window.calls.empty(); });
}

// The window's expressions become columns, unless they are; then its functions run over them.
Planned PlanBuilder::add_window(Window& window, Planned input) {
  slots_.work().step();
  Expressions columns;
  std::vector<uint32_t> layout = input.layout;
  for (size_t i = 0; i < layout.size(); ++i) {
    columns.push_back(
        make_column(layout[i], input.root->output[i], input.root->output_nullable[i]));
  }
  std::vector<uint32_t> places;
  for (WindowColumn& column : window.columns) {
    const bool plain = column.expression->kind == ExpressionKind::kColumn;
    const auto found =
        plain ? std::find(layout.begin(), layout.end(), column.expression->column) : layout.end();
    places.push_back(static_cast<uint32_t>(found - layout.begin()));
    if (found != layout.end()) continue;
    columns.push_back(std::move(column.expression));
    layout.push_back(column.slot);
  }
  const double rows = input.rows();
  auto unique_keys = input.unique_keys;
  input = make_project(std::move(input), std::move(columns), std::move(layout));
  input.root->estimated_rows = rows;
  input.unique_keys = std::move(unique_keys);
  std::vector<uint32_t> partition;
  for (const size_t column : window.partition) partition.push_back(places[column]);
  std::vector<SortKey> order = window.order;
  for (SortKey& key : order) key.column = places[key.column];
  std::vector<WindowFunction> functions;
  std::vector<uint32_t> slots;
  for (WindowCall& call : window.calls) {
    for (uint32_t& argument : call.function.arguments) argument = places[argument];
    Frame& frame = call.function.frame;
    if (call.start_is_column) frame.start_offset = places[frame.start_offset];
    if (call.end_is_column) frame.end_offset = places[frame.end_offset];
    estimator_.set_distinct(call.slot, rows);
    functions.push_back(std::move(call.function));
    slots.push_back(call.slot);
  }
  return make_window(std::move(input), std::move(partition), std::move(order), std::move(functions),
                     slots);
}

// DISTINCT ON: over the outputs, the row that is number 1 of its values.
Planned PlanBuilder::first_of_each(QueryBlock& block, Planned input) {
  std::vector<uint32_t> partition;
  for (const size_t output : block.distinct_on) partition.push_back(static_cast<uint32_t>(output));
  const double rows = std::max(1.0, input.rows() / 2);
  input = make_window(std::move(input), std::move(partition), keys_of(block),
                      {number_of(WindowKind::kRowNumber)}, {block.distinct_slot});
  Expressions first;
  first.push_back(compare_number(ExpressionKind::kEqual, block.distinct_slot, 1));
  input = make_filter(std::move(input), std::move(first));
  input.root->estimated_rows = rows;
  return input;
}

// A limit for each value of some outputs: of a subquery's rows for each row of the query around it.
Planned PlanBuilder::limit_each(QueryBlock& block, Planned input) {
  std::vector<uint32_t> partition;
  for (const size_t output : block.limit_partition) {
    partition.push_back(static_cast<uint32_t>(output));
  }
  const uint64_t last =
      block.limit > kNoLimit - block.offset ? kNoLimit : block.limit + block.offset;
  input = make_window(std::move(input), std::move(partition), keys_of(block),
                      {number_of(WindowKind::kRowNumber)}, {block.number_slot});
  Expressions kept;
  kept.push_back(compare_number(ExpressionKind::kGreater, block.number_slot, block.offset));
  kept.push_back(compare_number(ExpressionKind::kLessEqual, block.number_slot, last));
  block.limit = kNoLimit;
  block.offset = 0;
  block.sort.clear();
  return make_filter(std::move(input), std::move(kept));
}

// Rows whose rank is within the limit, and that are not skipped; the sort has no limit then.
Planned PlanBuilder::limit_with_ties(QueryBlock& block, Planned input) {
  const uint64_t last =
      block.limit > kNoLimit - block.offset ? kNoLimit : block.limit + block.offset;
  std::vector<uint32_t> partition(block.limit_partition.begin(), block.limit_partition.end());
  input = make_window(std::move(input), std::move(partition), keys_of(block),
                      {number_of(WindowKind::kRowNumber), number_of(WindowKind::kRank)},
                      {block.number_slot, block.rank_slot});
  Expressions kept;
  kept.push_back(compare_number(ExpressionKind::kGreater, block.number_slot, block.offset));
  kept.push_back(compare_number(ExpressionKind::kLessEqual, block.rank_slot, last));
  block.limit = kNoLimit;
  block.offset = 0;
  return make_filter(std::move(input), std::move(kept));
}

}  // namespace diptych::olap
