// The part of SelectBinder that keeps a derived table's ORDER BY for the query around it.

#include <algorithm>

#include "olap/sql/select_binder.h"

namespace diptych::olap {
namespace {

bool is_unordered(const Window& window) {
  return window.order.empty();
}

// Whether its value hangs on the places of rows alone, and not on which of them sort alike.
bool goes_by_place(const WindowCall& call) {
  const Frame& frame = call.function.frame;
  switch (call.function.kind) {
    case WindowKind::kRowNumber:
    case WindowKind::kNtile:
    case WindowKind::kLag:
    case WindowKind::kLead: return true;
    case WindowKind::kRank:
    case WindowKind::kDenseRank:
    case WindowKind::kPercentRank:
    case WindowKind::kCumeDist: return false;
    default:
      return frame.mode == FrameMode::kRows && (frame.exclusion == FrameExclusion::kNone ||
                                                frame.exclusion == FrameExclusion::kCurrentRow);
  }
}

// Without an order the frame that is not written has all rows; these functions want them in order.
void write_frame(WindowCall* call) {
  const WindowFunction& function = call->function;
  const bool of_rows =
      function.kind == WindowKind::kFirstValue || function.kind == WindowKind::kLastValue ||
      function.kind == WindowKind::kNthValue ||
      (function.kind == WindowKind::kAggregate && function.aggregate == AggregateKind::kStringAgg);
  if (!of_rows || function.frame != Frame()) return;
  call->function.frame.mode = FrameMode::kRows;
  call->function.frame.end = FrameBound::kUnboundedFollowing;
}

// The calls that go by place leave the window for one of the same columns and partitions.
Window take_placed_calls(Window& window) {
  Window placed;
  placed.partition = window.partition;
  for (WindowCall& call : window.calls) write_frame(&call);
  for (const WindowColumn& column : window.columns) {
    placed.columns.push_back({clone(*column.expression), column.slot});
  }
  const auto first =
      std::stable_partition(window.calls.begin(), window.calls.end(),
                            [](const WindowCall& call) { return !goes_by_place(call); });
  std::move(first, window.calls.end(), std::back_inserter(placed.calls));
  window.calls.erase(first, window.calls.end());
  return placed;
}

// The columns by which the rows of FROM come in order, and how: those of a derived table that
// stands there alone. What that is only sorted by becomes a column that can be named.
std::vector<SortKey> order_of_rows(JoinGroup& from) {
  std::vector<SortKey> order;
  if (from.members.size() != 1 || from.members[0].block == nullptr) return order;
  JoinMember& rows = from.members[0];
  QueryBlock& inner = *rows.block;
  if (inner.sort.empty()) return order;
  for (; inner.visible_outputs < inner.outputs.size(); ++inner.visible_outputs) {
    rows.slots.push_back(inner.outputs[inner.visible_outputs].slot);
  }
  for (const SortItem& item : inner.sort) {
    order.push_back({rows.slots[item.output], item.descending, item.nulls_first});
  }
  return order;
}

void order_texts(const std::vector<SortKey>& order, const SlotTable& slots, Aggregate* aggregate) {
  for (SortKey key : order) {
    aggregate->further.push_back(slots.column(key.column));
    key.column = static_cast<uint32_t>(aggregate->further.size());
    aggregate->order.push_back(key);
  }
}

}  // namespace

// PostgreSQL keeps the order of a derived table's rows where nothing else orders or mixes them, and
// queries rely on it: SELECT * FROM (SELECT ... ORDER BY a) s LIMIT 5, row_number() OVER () and
// string_agg() over such rows.
void SelectBinder::inherit_order() {
  const std::vector<SortKey> order = order_of_rows(block_->from);
  if (order.empty()) return;
  if (block_->aggregated) {
    for (Aggregate& aggregate : block_->aggregates) {
      if (aggregate.kind != AggregateKind::kStringAgg || aggregate.distinct) continue;
      if (aggregate.order.empty()) order_texts(order, slots_, &aggregate);
    }
    return;
  }
  auto& windows = block_->windows;
  const bool mixed = !std::all_of(windows.begin(), windows.end(), is_unordered);
  for (size_t i = 0, end = windows.size(); i < end; ++i) {
    if (!is_unordered(windows[i])) continue;
    Window placed = take_placed_calls(windows[i]);
    if (placed.calls.empty()) continue;
    for (SortKey key : order) {
      placed.columns.push_back({slots_.column(key.column), key.column});
      key.column = static_cast<uint32_t>(placed.columns.size() - 1);
      placed.order.push_back(key);
    }
    windows.push_back(std::move(placed));
  }
  if (mixed || !block_->sort.empty() || block_->distinct || !block_->distinct_on.empty()) return;
  for (const SortKey& key : order) {
    auto& outputs = block_->outputs;
    ExpressionPtr column = slots_.column(key.column);
    const auto known = std::find_if(
        outputs.begin(), outputs.end(),
        [&](const OutputColumn& output) { return equal(*output.expression, *column); });
    block_->sort.push_back(
        {static_cast<size_t>(known - outputs.begin()), key.descending, key.nulls_first});
    if (known == outputs.end()) outputs.push_back({"", std::move(column), 0});
  }
}

}  // namespace diptych::olap
