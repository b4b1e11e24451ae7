#include "olap/execution/window/window_totals.h"

#include <algorithm>
#include <utility>

namespace diptych::olap {

namespace {

bool is_total(const Operator& window, const WindowFunction& function) {
  if (function.kind != WindowKind::kAggregate) return false;
  // It puts texts together in the order of the rows.
  if (function.aggregate == AggregateKind::kStringAgg) return false;
  const Frame& frame = function.frame;
  if (frame.exclusion != FrameExclusion::kNone) return false;
  // Without ORDER BY a partition's rows are peers.
  const bool ends_with_current = window.sort_keys.empty() && frame.mode != FrameMode::kRows;
  const auto reaches_all = [&](FrameBound bound, FrameBound all) {
    return bound == all || (ends_with_current && bound == FrameBound::kCurrentRow);
  };
  return reaches_all(frame.start, FrameBound::kUnboundedPreceding) &&
         reaches_all(frame.end, FrameBound::kUnboundedFollowing);
}

ExpressionPtr column_of(const Operator& source, uint32_t column) {
  auto expression = std::make_unique<Expression>();
  expression->kind = ExpressionKind::kColumn;
  expression->type = source.output[column];
  const std::vector<bool>& nullable = source.output_nullable;
  expression->nullable = column >= nullable.size() || nullable[column];
  expression->column = column;
  return expression;
}

Operator grouping_of(const Operator& window) {
  const Operator& source = *window.children[0];
  Operator grouping;
  grouping.kind = OperatorKind::kAggregate;
  for (const uint32_t column : window.window_partition) {
    grouping.expressions.push_back(column_of(source, column));
  }
  for (const WindowFunction& function : window.window_functions) {
    Aggregate aggregate{.kind = function.aggregate, .type = function.type};
    for (size_t i = 0; i < function.arguments.size(); ++i) {
      ExpressionPtr argument = column_of(source, function.arguments[i]);
      if (i == 0) {
        aggregate.argument = std::move(argument);
      } else {
        aggregate.further.push_back(std::move(argument));
      }
    }
    grouping.aggregates.push_back(std::move(aggregate));
  }
  return grouping;
}

std::vector<base::DataType> types_of(const std::vector<Aggregate>& aggregates) {
  std::vector<base::DataType> types;
  for (const Aggregate& aggregate : aggregates) types.push_back(aggregate.type);
  return types;
}

}  // namespace

bool are_totals(const Operator& window) {
  return std::ranges::all_of(window.window_functions, [&](const WindowFunction& function) {
    return is_total(window, function);
  });
}

WindowTotals::WindowTotals(const RunContext& context, const Operator& window,
                           const NeededColumns& needed)
    : stop_(*context.stop),
      grouping_(grouping_of(window)),
      groups_(std::in_place, grouping_, *window.children[0], context.limits(),
              grouping_.expressions.size()),
      rows_(window.children[0]->output, needed.above(window)),
      totals_(types_of(grouping_.aggregates)),
      charge_(context.memory, "the rows of a window") {}

void WindowTotals::charge() {
  charge_.set(rows_.memory_bytes() + partitions_.bytes() + totals_.memory_bytes());
}

void WindowTotals::append(const Batch& batch) {
  groups_->update(batch);
  rows_.append(batch.columns, *batch.selection);
  const size_t before = partitions_.size();
  partitions_.resize(rows_.row_count());
  std::copy_n(groups_->numbers().data(), batch.selection->count, partitions_.data() + before);
  charge();
}

void WindowTotals::add_partitions(const WindowTotals& other, const Workers& workers) {
  const std::vector<uint32_t> to = groups_->merge(*other.groups_, 0, workers);
  const size_t before = partitions_.size();
  partitions_.resize(before + other.partitions_.size());
  for (size_t i = 0; i < other.partitions_.size(); ++i) {
    stop_.check_at(i);
    partitions_[before + i] = to[other.partitions_[i]];
  }
}

void WindowTotals::finish(std::span<const std::unique_ptr<WindowTotals>> others,
                          const Workers& workers) {
  std::vector<ColumnStore*> stores;
  for (const std::unique_ptr<WindowTotals>& other : others) {
    add_partitions(*other, workers);
    stores.push_back(&other->rows_);
  }
  rows_.absorb_all(stores, workers);
  for (const std::unique_ptr<WindowTotals>& other : others) {
    other->partitions_ = {};
    other->charge_.set(0);
  }
  charge();
  groups_->finish(workers);
  read_totals();
  groups_.reset();
  for (const std::unique_ptr<WindowTotals>& other : others) other->groups_.reset();
}

void WindowTotals::read_totals() {
  const size_t keys = grouping_.expressions.size();
  std::vector<VectorBuffer> buffers;
  buffers.reserve(keys + grouping_.aggregates.size());
  for (const ExpressionPtr& key : grouping_.expressions) {
    buffers.emplace_back(physical_type(key->type));
  }
  for (const Aggregate& one : grouping_.aggregates) buffers.emplace_back(physical_type(one.type));
  std::vector<Vector> columns(buffers.size());
  Selection all;
  for (uint32_t first = 0; first < groups_->groups(); first += kVectorRows) {
    stop_.check();
    select_all(std::min(kVectorRows, groups_->groups() - first), &all);
    groups_->read(first, all.count, &buffers, &columns);
    totals_.append(std::span(columns).subspan(keys), all);
    charge();
  }
}

std::vector<VectorBuffer> WindowTotals::make_buffers() const {
  std::vector<VectorBuffer> buffers;
  buffers.reserve(rows_.column_count() + totals_.column_count());
  for (const ColumnStore* const store : {&rows_, &totals_}) {
    for (size_t c = 0; c < store->column_count(); ++c) buffers.emplace_back(store->type(c));
  }
  return buffers;
}

void WindowTotals::read(uint64_t first, const Selection& selection,
                        std::vector<VectorBuffer>* buffers, std::vector<Vector>* columns) const {
  const size_t inputs = rows_.column_count();
  for (size_t c = 0; c < inputs; ++c) {
    (*columns)[c] = rows_.view(c, first, selection.count, (*buffers)[c].nulls());
  }
  for (size_t c = 0; c < totals_.column_count(); ++c) {
    (*columns)[inputs + c] =
        totals_.gather(c, partitions_.data() + first, selection, &(*buffers)[inputs + c]);
  }
  // Texts lie in these rows, which may go before what keeps them.
  for (Vector& column : *columns) column.string_life = StringLife::kBatch;
}

}  // namespace diptych::olap
