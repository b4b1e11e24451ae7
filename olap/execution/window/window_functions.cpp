// Ranks, numbers, and values of other rows: compute_window of window.h.

#include <algorithm>

#include "olap/execution/limits/query_failure.h"
#include "olap/execution/window/window_frame.h"

namespace diptych::olap {

namespace {

constexpr uint32_t kNoPosition = UINT32_MAX;

struct RowCall {
  const WindowOrder& order;
  const Operator& window;
  const WindowFunction& function;
  PositionRange partition;
  WindowResults* results;
};

// results[i] = number(i) for the partition's positions.
template <class T, class F>
void fill(const RowCall& call, F number) {
  T* const values = call.results->values<T>();
  for (uint32_t i = call.partition.begin; i < call.partition.end; ++i) {
    call.order.stop->check_at(i);
    values[i] = number(i);
  }
}

void compute_rank(const RowCall& call) {
  const WindowOrder& order = call.order;
  const PositionRange p = call.partition;
  const auto peers_begin = [&](uint32_t i) { return order.peers(i).begin; };
  switch (call.function.kind) {
    case WindowKind::kRowNumber:
      return fill<int64_t>(call, [&](uint32_t i) { return int64_t{i} - p.begin + 1; });
    case WindowKind::kRank:
      return fill<int64_t>(call, [&](uint32_t i) { return int64_t{peers_begin(i)} - p.begin + 1; });
    case WindowKind::kDenseRank:
      return fill<int64_t>(call, [&](uint32_t i) {
        return int64_t{order.group_of[i]} - order.group_of[p.begin] + 1;
      });
    case WindowKind::kPercentRank:
      return fill<double>(call, [&](uint32_t i) {
        return p.size() == 1 ? 0 : static_cast<double>(peers_begin(i) - p.begin) / (p.size() - 1);
      });
    default:
      return fill<double>(call, [&](uint32_t i) {
        return static_cast<double>(order.peers(i).end - p.begin) / p.size();
      });
  }
}

// The first rest buckets have a row more. They begin with the first row that says how many there
// are; those before it have none.
void compute_ntile(const RowCall& call) {
  const PositionRange p = call.partition;
  const uint32_t column = call.function.arguments[0];
  uint32_t first = p.begin;
  for (; first < p.end && call.order.is_null(column, first); ++first) {
    call.order.stop->check_at(first);
    call.results->nulls[first] = 1;
  }
  if (first == p.end) return;
  const int64_t buckets = call.order.value<int64_t>(column, first);
  if (buckets <= 0) fail_value("argument of ntile must be greater than zero", "22014");
  const int64_t size = p.size() / buckets;
  const int64_t larger = p.size() % buckets;
  fill<int64_t>(call, [&](uint32_t position) {
    const int64_t i = int64_t{position} - first;
    const int64_t in_larger = larger * (size + 1);
    return i < in_larger ? i / (size + 1) + 1 : larger + (i - in_larger) / size + 1;
  });
}

// Copies argument `argument` of the row at position `from` to the result at `to`.
template <class T>
void copy_value(const RowCall& call, size_t argument, uint32_t from, uint32_t to) {
  const uint32_t column = call.function.arguments[argument];
  if (from == kNoPosition || call.order.is_null(column, from)) {
    call.results->nulls[to] = 1;
  } else {
    call.results->values<T>()[to] = call.order.value<T>(column, from);
  }
}

template <class T>
void compute_shift(const RowCall& call) {
  const PositionRange p = call.partition;
  const bool lag = call.function.kind == WindowKind::kLag;
  const uint32_t offset_column = call.function.arguments[1];
  for (uint32_t i = p.begin; i < p.end; ++i) {
    call.order.stop->check_at(i);
    if (call.order.is_null(offset_column, i)) {
      call.results->nulls[i] = 1;
      continue;
    }
    int64_t offset = call.order.value<int64_t>(offset_column, i);
    // Beyond the partition in either direction are as many rows as there are in all.
    offset = std::clamp<int64_t>(offset, -int64_t{UINT32_MAX}, UINT32_MAX);
    const int64_t from = lag ? int64_t{i} - offset : int64_t{i} + offset;
    if (from >= p.begin && from < p.end) {
      copy_value<T>(call, 0, static_cast<uint32_t>(from), i);
    } else {
      copy_value<T>(call, 2, i, i);
    }
  }
}

// The n-th position of the runs, from 1.
uint32_t nth_of(const std::array<PositionRange, 3>& runs, int64_t n) {
  for (const PositionRange& run : runs) {
    if (n <= run.size()) return run.begin + static_cast<uint32_t>(n - 1);
    n -= run.size();
  }
  return kNoPosition;
}

uint32_t last_of(const std::array<PositionRange, 3>& runs) {
  for (size_t i = runs.size(); i-- > 0;) {
    if (!runs[i].empty()) return runs[i].end - 1;
  }
  return kNoPosition;
}

template <class T>
void compute_frame_value(const RowCall& call) {
  const FrameFinder frames(call.order, call.window, call.function.frame, call.partition);
  const WindowKind kind = call.function.kind;
  for (uint32_t i = call.partition.begin; i < call.partition.end; ++i) {
    call.order.stop->check_at(i);
    const auto runs = frames.runs(i);
    uint32_t from = kNoPosition;
    if (kind == WindowKind::kFirstValue) {
      from = nth_of(runs, 1);
    } else if (kind == WindowKind::kLastValue) {
      from = last_of(runs);
    } else if (!call.order.is_null(call.function.arguments[1], i)) {
      const int64_t n = call.order.value<int64_t>(call.function.arguments[1], i);
      if (n <= 0) fail_value("argument of nth_value must be greater than zero", "22016");
      from = nth_of(runs, n);
    }
    copy_value<T>(call, 0, from, i);
  }
}

}  // namespace

void compute_window(const WindowOrder& order, const Operator& window,
                    const WindowFunction& function, PositionRange partition, WindowResults* results,
                    VectorTexts* texts) {
  const RowCall call{order, window, function, partition, results};
  switch (function.kind) {
    case WindowKind::kRowNumber:
    case WindowKind::kRank:
    case WindowKind::kDenseRank:
    case WindowKind::kPercentRank:
    case WindowKind::kCumeDist: return compute_rank(call);
    case WindowKind::kNtile: return compute_ntile(call);
    case WindowKind::kLag:
    case WindowKind::kLead:
      return with_physical_type(results->type,
                                [&](auto type) { compute_shift<decltype(type)>(call); });
    case WindowKind::kAggregate:
      return compute_window_aggregate(order, window, function, partition, results, texts);
    default:
      return with_physical_type(results->type,
                                [&](auto type) { compute_frame_value<decltype(type)>(call); });
  }
}

}  // namespace diptych::olap
