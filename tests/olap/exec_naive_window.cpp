// Window functions of the naive reference: every frame is found by looking at every row.

#include <algorithm>

#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {

namespace {

using base::is_null;
using Rows = std::vector<Row>;

int order_of(const std::vector<SortKey>& keys, const Row& a, const Row& b) {
  for (const SortKey& key : keys) {
    const Value& x = a[key.column];
    const Value& y = b[key.column];
    if (is_null(x) && is_null(y)) continue;
    if (is_null(x) || is_null(y)) return is_null(x) == key.nulls_first ? -1 : 1;
    const int order = naive_compare(x, y);
    if (order != 0) return key.descending ? -order : order;
  }
  return 0;
}

// Whether row j is at or behind (start), or at or before (end), the bound of row i's frame.
bool within_bound(const Operator& op, const Frame& frame, const Rows& rows, size_t i, size_t j,
                  bool start) {
  const FrameBound bound = start ? frame.start : frame.end;
  const auto offset = static_cast<int64_t>(start ? frame.start_offset : frame.end_offset);
  if (bound == FrameBound::kUnboundedPreceding) return start;
  if (bound == FrameBound::kUnboundedFollowing) return !start;
  const bool current = bound == FrameBound::kCurrentRow;
  const int64_t shift = current ? 0 : bound == FrameBound::kPreceding ? -offset : offset;
  const auto a = static_cast<int64_t>(i);
  const auto b = static_cast<int64_t>(j);
  if (frame.mode == FrameMode::kRows) return start ? b >= a + shift : b <= a + shift;
  if (frame.mode == FrameMode::kGroups || current) {
    const auto group = [&](size_t row) {
      int64_t number = 0;
      for (size_t k = 1; k <= row; ++k) {
        if (order_of(op.sort_keys, rows[k - 1], rows[k]) != 0) ++number;
      }
      return number;
    };
    return start ? group(j) >= group(i) + shift : group(j) <= group(i) + shift;
  }
  const SortKey& key = op.sort_keys[0];
  const Value& other = rows[j][key.column];
  if (is_null(rows[i][key.column])) {
    const int order = order_of(op.sort_keys, rows[j], rows[i]);
    return start ? order >= 0 : order <= 0;
  }
  if (is_null(other)) return start ? !key.nulls_first : key.nulls_first;
  const Value& end = rows[i][static_cast<size_t>(offset)];
  const int order = naive_compare(other, end) * (key.descending ? -1 : 1);
  return start ? order >= 0 : order <= 0;
}

Rows frame_of(const Operator& op, const Frame& frame, const Rows& rows, size_t i) {
  Rows result;
  for (size_t j = 0; j < rows.size(); ++j) {
    if (!within_bound(op, frame, rows, i, j, true) || !within_bound(op, frame, rows, i, j, false)) {
      continue;
    }
    const bool peer = order_of(op.sort_keys, rows[i], rows[j]) == 0;
    const bool excluded = (frame.exclusion == FrameExclusion::kCurrentRow && i == j) ||
                          (frame.exclusion == FrameExclusion::kGroup && peer) ||
                          (frame.exclusion == FrameExclusion::kTies && peer && i != j);
    if (!excluded) result.push_back(rows[j]);
  }
  return result;
}

Value rank_of(const Operator& op, WindowKind kind, const Rows& rows, size_t i) {
  int64_t before = 0;
  int64_t groups = 0;
  int64_t not_behind = 0;
  for (size_t j = 0; j < rows.size(); ++j) {
    const int order = order_of(op.sort_keys, rows[j], rows[i]);
    if (order < 0) ++before;
    if (order <= 0) ++not_behind;
    if (order < 0 && order_of(op.sort_keys, rows[j], rows[j + 1]) != 0) ++groups;
  }
  const auto size = static_cast<double>(rows.size());
  switch (kind) {
    case WindowKind::kRowNumber: return static_cast<int64_t>(i + 1);
    case WindowKind::kRank: return before + 1;
    case WindowKind::kDenseRank: return groups + 1;
    case WindowKind::kPercentRank:
      return rows.size() == 1 ? 0.0 : static_cast<double>(before) / (size - 1);
    default: return static_cast<double>(not_behind) / size;
  }
}

Value ntile_of(const Value& buckets, size_t rows, size_t i) {
  if (is_null(buckets)) return kNull;
  const auto count = static_cast<size_t>(std::get<int64_t>(buckets));
  size_t begin = 0;
  for (size_t bucket = 0; bucket < count; ++bucket) {
    const size_t size = rows / count + (bucket < rows % count ? 1 : 0);
    if (i < begin + size) return static_cast<int64_t>(bucket + 1);
    begin += size;
  }
  return kNull;
}

Value shifted(const WindowFunction& f, const Rows& rows, size_t i) {
  const Value& by = rows[i][f.arguments[1]];
  if (is_null(by)) return kNull;
  const int64_t offset = std::get<int64_t>(by);
  const int64_t from = static_cast<int64_t>(i) + (f.kind == WindowKind::kLag ? -offset : offset);
  if (from < 0 || from >= static_cast<int64_t>(rows.size())) return rows[i][f.arguments[2]];
  return rows[static_cast<size_t>(from)][f.arguments[0]];
}

Value value_of(const Operator& op, const WindowFunction& f, const Rows& rows, size_t i) {
  if (f.kind <= WindowKind::kCumeDist) return rank_of(op, f.kind, rows, i);
  if (f.kind == WindowKind::kNtile) {
    size_t first = 0;
    while (first < i && base::is_null(rows[first][f.arguments[0]])) ++first;
    return ntile_of(rows[first][f.arguments[0]], rows.size(), i - first);
  }
  if (f.kind == WindowKind::kLag || f.kind == WindowKind::kLead) return shifted(f, rows, i);
  const Rows frame = frame_of(op, f.frame, rows, i);
  if (f.kind == WindowKind::kAggregate) {
    Aggregate aggregate;
    aggregate.kind = f.aggregate;
    aggregate.type = f.type;
    if (!f.arguments.empty()) {
      std::vector<ExpressionPtr> arguments;
      for (const uint32_t c : f.arguments) {
        arguments.push_back(column(c, op.children[0]->output[c]));
      }
      aggregate.argument = std::move(arguments[0]);
      arguments.erase(arguments.begin());
      aggregate.further = std::move(arguments);
    }
    return naive_aggregate_of(aggregate, frame);
  }
  if (frame.empty()) return kNull;
  if (f.kind == WindowKind::kFirstValue) return frame.front()[f.arguments[0]];
  if (f.kind == WindowKind::kLastValue) return frame.back()[f.arguments[0]];
  const Value& n = rows[i][f.arguments[1]];
  if (is_null(n)) return kNull;
  if (std::get<int64_t>(n) <= 0) throw NaiveError("nth_value");
  const auto number = static_cast<size_t>(std::get<int64_t>(n));
  return number > frame.size() ? kNull : frame[number - 1][f.arguments[0]];
}

}  // namespace

std::vector<Row> naive_window(const Operator& op, std::vector<Row> rows) {
  std::vector<SortKey> partition;
  for (const uint32_t c : op.window_partition) partition.push_back({c, false, false});
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const int order = order_of(partition, a, b);
    return order != 0 ? order < 0 : order_of(op.sort_keys, a, b) < 0;
  });
  Rows result;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && order_of(partition, rows[begin], rows[end]) == 0) ++end;
    const Rows part(rows.begin() + static_cast<int64_t>(begin),
                    rows.begin() + static_cast<int64_t>(end));
    for (size_t i = 0; i < part.size(); ++i) {
      Row row = part[i];
      for (const WindowFunction& f : op.window_functions) {
        row.push_back(value_of(op, f, part, i));
      }
      result.push_back(std::move(row));
    }
    begin = end;
  }
  return result;
}

}  // namespace diptych::olap::test
