#include "olap/execution/group/expand.h"

#include <algorithm>
#include <vector>

#include "olap/execution/expression/expression.h"

namespace diptych::olap {

namespace {

constexpr double kRowsAGroupMin = 8;  // fewer are not worth a table of their own

// States of others would grow with the values, or depend on their order.
bool has_small_states(const Aggregate& aggregate) {
  switch (aggregate.kind) {
    case AggregateKind::kCountAll:
    case AggregateKind::kCount:
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop:
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
    case AggregateKind::kCovarPop: return !aggregate.distinct;
    default: return false;
  }
}

// Whether the expression reads only columns that no set leaves out.
bool is_as_before(const Expression& expression, size_t set_columns) {
  const std::vector<uint32_t> columns = columns_read(expression);
  return std::all_of(columns.begin(), columns.end(),
                     [&](uint32_t column) { return column >= set_columns; });
}

}  // namespace

const Operator* expand_of_groups(const Operator& aggregate) {
  const Operator& expand = *aggregate.children[0];
  const std::vector<ExpressionPtr>& keys = aggregate.expressions;
  if (expand.kind != OperatorKind::kExpand || keys.size() < 2) return nullptr;
  if (expand.estimated_rows < kRowsAGroupMin * aggregate.estimated_rows) return nullptr;
  const size_t set_columns = expand.grouping_sets[0].size();
  for (size_t key = 0; key < keys.size(); ++key) {
    if (keys[key]->kind != ExpressionKind::kColumn) return nullptr;
    const bool is_number = keys[key]->column == expand.output.size() - 1;
    const bool is_last = key + 1 == keys.size();
    if (is_number != is_last || (!is_last && keys[key]->column >= set_columns)) return nullptr;
  }
  for (const Aggregate& one : aggregate.aggregates) {
    if (!has_small_states(one)) return nullptr;
    if (one.argument != nullptr && !is_as_before(*one.argument, set_columns)) return nullptr;
    for (const ExpressionPtr& further : one.further) {
      if (!is_as_before(*further, set_columns)) return nullptr;
    }
  }
  return &expand;
}

ExpandStage::ExpandStage(const Operator& expand, StagePtr next)
    : expand_(expand), next_(std::move(next)), numbers_(PhysicalType::kInt64) {
  std::fill_n(all_null_, kVectorWords, ~uint64_t{0});
}

bool ExpandStage::push(Batch& batch) {
  output_.selection = batch.selection;
  for (size_t set = 0; set < expand_.grouping_sets.size(); ++set) {
    const std::vector<bool>& has = expand_.grouping_sets[set];
    output_.columns = batch.columns;
    for (size_t c = 0; c < has.size(); ++c) {
      if (!has[c] && output_.columns[c].values != nullptr) output_.columns[c].nulls = all_null_;
    }
    std::fill_n(numbers_.values<int64_t>(), batch.selection->slots, static_cast<int64_t>(set));
    output_.columns.push_back(numbers_.view());
    if (!next_->push(output_)) return false;
  }
  return true;
}

}  // namespace diptych::olap
