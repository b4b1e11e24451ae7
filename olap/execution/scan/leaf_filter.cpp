#include "olap/execution/scan/leaf_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "olap/execution/vector/column_range.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

namespace {

bool is_summarised(const base::DataType& type) {
  return !type.is_string() && !is_wide(type) && type.kind != base::TypeKind::kBoolean;
}

}  // namespace

LeafFilter::LeafFilter(const Operator& scan, std::span<const JoinFilter> joins) {
  for (const ExpressionPtr& predicate : scan.predicates) add(scan, *predicate);
  for (const JoinFilter& join : joins) add(scan, join);
}

void LeafFilter::add(const Operator& scan, const JoinFilter& join) {
  const auto add_key = [&](size_t key, const ValueBounds& bounds) {
    const Expression* const column = column_of(*join.join->probe_keys[key]);
    if (column != nullptr) add(scan, {column, bounds.min, bounds.max});
  };
  const std::vector<ValueBounds>& bounds = join.table->key_bounds();
  for (size_t i = 0; i < bounds.size(); ++i) add_key(i, bounds[i]);
  for (const KeyColumnSet& set : join.table->column_sets()) add_key(set.column(), set.bounds());
  for (const ColumnRange& implied : join.implied) add(scan, implied);
}

void LeafFilter::add(const Operator& scan, const ColumnRange& integers) {
  Range range;
  range.column = scan.columns[integers.column->column];
  range.min = integers.min;
  range.max = integers.max;
  ranges_.push_back(range);
}

void LeafFilter::add(const Operator& scan, const Expression& predicate) {
  switch (predicate.kind) {
    case ExpressionKind::kAnd:
      for (const ExpressionPtr& child : predicate.children) add(scan, *child);
      return;
    case ExpressionKind::kEqual:
    case ExpressionKind::kLess:
    case ExpressionKind::kLessEqual:
    case ExpressionKind::kGreater:
    case ExpressionKind::kGreaterEqual: add_comparison(scan, predicate); return;
    case ExpressionKind::kInList: add_in_list(scan, predicate); return;
    case ExpressionKind::kIsNull:
      if (const Expression* column = column_of(*predicate.children[0])) {
        Range range;
        range.column = scan.columns[column->column];
        range.wants_null = true;
        ranges_.push_back(range);
      }
      return;
    default: return;
  }
}

void LeafFilter::add_comparison(const Operator& scan, const Expression& predicate) {
  if (const std::optional<ColumnRange> exact = column_range(predicate)) return add(scan, *exact);
  // Doubles. NaN is above every number, and a summary may not show it: only upper bounds can skip.
  const bool is_column_first = column_of(*predicate.children[0]) != nullptr;
  const Expression* const column = column_of(*predicate.children[is_column_first ? 0 : 1]);
  const Expression& literal = *predicate.children[is_column_first ? 1 : 0];
  const bool bounds_above = predicate.kind == ExpressionKind::kEqual ||
                            (is_column_first ? predicate.kind == ExpressionKind::kLess ||
                                                   predicate.kind == ExpressionKind::kLessEqual
                                             : predicate.kind == ExpressionKind::kGreater ||
                                                   predicate.kind == ExpressionKind::kGreaterEqual);
  if (column == nullptr || column->type.kind != base::TypeKind::kDouble || !bounds_above) return;
  const auto* const bound = std::get_if<double>(&literal.literal);
  if (literal.kind != ExpressionKind::kLiteral || bound == nullptr || std::isnan(*bound)) return;
  Range range;
  range.column = scan.columns[column->column];
  range.is_double = true;
  range.min_double = -std::numeric_limits<double>::infinity();
  range.max_double = *bound;
  ranges_.push_back(range);
}

void LeafFilter::add_in_list(const Operator& scan, const Expression& predicate) {
  const Expression* const column = column_of(*predicate.children[0]);
  if (column == nullptr || !is_summarised(column->type) ||
      column->type.kind == base::TypeKind::kDouble) {
    return;
  }
  ColumnRange range{.column = column, .min = INT64_MAX, .max = INT64_MIN};
  for (size_t i = 1; i < predicate.children.size(); ++i) {
    const base::Value& value = predicate.children[i]->literal;
    if (base::is_null(value)) continue;
    const std::optional<int64_t> bound = integer_of(value);
    if (!bound.has_value()) return;
    range.min = std::min(range.min, *bound);
    range.max = std::max(range.max, *bound);
  }
  add(scan, range);
}

bool LeafFilter::may_match(const storage::Leaf& leaf) const {
  for (const Range& range : ranges_) {
    const storage::ColumnSummary summary = leaf.summary(range.column);
    if (!summary.known) continue;
    if (range.wants_null) {
      if (!summary.has_null) return false;
    } else if (range.is_double) {
      if (summary.min_double > range.max_double) return false;
    } else if (summary.min > range.max || summary.max < range.min) {
      return false;
    }
  }
  return true;
}

}  // namespace diptych::olap
