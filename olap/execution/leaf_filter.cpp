#include "olap/execution/leaf_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "olap/execution/vector.h"

namespace diptych::olap {

namespace {

using Kind = ExpressionKind;

// The column that an expression is, but for a cast that keeps values.
const Expression* column_of(const Expression& expression) {
  if (expression.kind == Kind::kColumn) return &expression;
  if (expression.kind == Kind::kCast && expression.type.kind == base::TypeKind::kBigInt &&
      expression.children[0]->kind == Kind::kColumn &&
      expression.children[0]->type.kind == base::TypeKind::kInt) {
    return expression.children[0].get();
  }
  return nullptr;
}

std::optional<int64_t> integer_of(const base::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* date = std::get_if<base::Date>(&value)) return date->days;
  if (const auto* timestamp = std::get_if<base::Timestamp>(&value)) return timestamp->micros;
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) {
    if (decimal->units == static_cast<int64_t>(decimal->units)) {
      return static_cast<int64_t>(decimal->units);
    }
  }
  return std::nullopt;
}

Kind mirrored(Kind kind) {
  switch (kind) {
    case Kind::kLess: return Kind::kGreater;
    case Kind::kLessEqual: return Kind::kGreaterEqual;
    case Kind::kGreater: return Kind::kLess;
    case Kind::kGreaterEqual: return Kind::kLessEqual;
    default: return kind;
  }
}

bool is_summarised(const base::DataType& type) {
  return !type.is_string() && !is_wide(type) && type.kind != base::TypeKind::kBoolean;
}

}  // namespace

LeafFilter::LeafFilter(const Operator& scan) {
  for (const ExpressionPtr& predicate : scan.predicates) add(scan, *predicate);
}

void LeafFilter::add(const Operator& scan, const Expression& predicate) {
  switch (predicate.kind) {
    case Kind::kAnd:
      for (const ExpressionPtr& child : predicate.children) add(scan, *child);
      return;
    case Kind::kEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual: add_comparison(scan, predicate); return;
    case Kind::kInList: add_in_list(scan, predicate); return;
    case Kind::kIsNull:
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
  const Expression* column = column_of(*predicate.children[0]);
  const Expression* literal = predicate.children[1].get();
  Kind kind = predicate.kind;
  if (column == nullptr) {
    column = column_of(*predicate.children[1]);
    literal = predicate.children[0].get();
    kind = mirrored(kind);
  }
  if (column == nullptr || literal->kind != Kind::kLiteral || !is_summarised(column->type)) return;
  Range range;
  range.column = scan.columns[column->column];
  const bool bounds_below = kind != Kind::kLess && kind != Kind::kLessEqual;
  const bool bounds_above = kind != Kind::kGreater && kind != Kind::kGreaterEqual;
  if (column->type.kind == base::TypeKind::kDouble) {
    const auto* const bound = std::get_if<double>(&literal->literal);
    // NaN is above every number, and a summary may not show it: only upper bounds can skip.
    if (bound == nullptr || std::isnan(*bound) || !bounds_above) return;
    range.is_double = true;
    range.min_double = -std::numeric_limits<double>::infinity();
    range.max_double = *bound;
    ranges_.push_back(range);
    return;
  }
  const std::optional<int64_t> bound = integer_of(literal->literal);
  if (!bound.has_value()) return;
  if (bounds_below) range.min = *bound;
  if (bounds_above) range.max = *bound;
  if (kind == Kind::kGreater && *bound != INT64_MAX) range.min = *bound + 1;
  if (kind == Kind::kLess && *bound != INT64_MIN) range.max = *bound - 1;
  ranges_.push_back(range);
}

void LeafFilter::add_in_list(const Operator& scan, const Expression& predicate) {
  const Expression* const column = column_of(*predicate.children[0]);
  if (column == nullptr || !is_summarised(column->type) ||
      column->type.kind == base::TypeKind::kDouble) {
    return;
  }
  Range range;
  range.column = scan.columns[column->column];
  range.min = INT64_MAX;
  range.max = INT64_MIN;
  for (size_t i = 1; i < predicate.children.size(); ++i) {
    const base::Value& value = predicate.children[i]->literal;
    if (base::is_null(value)) continue;
    const std::optional<int64_t> bound = integer_of(value);
    if (!bound.has_value()) return;
    range.min = std::min(range.min, *bound);
    range.max = std::max(range.max, *bound);
  }
  ranges_.push_back(range);
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
