#include "olap/execution/column_range.h"

#include "olap/execution/vector.h"

namespace diptych::olap {

bool holds_integers(const base::DataType& type) {
  const PhysicalType physical = physical_type(type);
  return physical == PhysicalType::kInt32 || physical == PhysicalType::kInt64;
}

const Expression* column_of(const Expression& expression) {
  if (expression.kind == ExpressionKind::kColumn) return &expression;
  if (expression.kind == ExpressionKind::kCast && expression.type.kind == base::TypeKind::kBigInt &&
      expression.children[0]->kind == ExpressionKind::kColumn &&
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

ExpressionKind mirrored(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::kLess: return ExpressionKind::kGreater;
    case ExpressionKind::kLessEqual: return ExpressionKind::kGreaterEqual;
    case ExpressionKind::kGreater: return ExpressionKind::kLess;
    case ExpressionKind::kGreaterEqual: return ExpressionKind::kLessEqual;
    default: return kind;
  }
}

std::optional<ColumnRange> column_range(const Expression& column, ExpressionKind kind,
                                        ValueBounds bounds) {
  ColumnRange range{.column = &column};
  switch (kind) {
    case ExpressionKind::kEqual:
      range.min = bounds.min;
      range.max = bounds.max;
      return range;
    case ExpressionKind::kLessEqual: range.max = bounds.max; break;
    case ExpressionKind::kGreaterEqual: range.min = bounds.min; break;
    case ExpressionKind::kLess:
      range.max = bounds.max - (bounds.max != INT64_MIN);
      if (bounds.max == INT64_MIN) range.min = INT64_MAX;  // no value
      break;
    case ExpressionKind::kGreater:
      range.min = bounds.min + (bounds.min != INT64_MAX);
      if (bounds.min == INT64_MAX) range.max = INT64_MIN;
      break;
    default: return std::nullopt;
  }
  return range;
}

std::optional<ColumnRange> column_range(const Expression& predicate) {
  if (predicate.children.size() != 2) return std::nullopt;
  const Expression* column = column_of(*predicate.children[0]);
  const Expression* literal = predicate.children[1].get();
  ExpressionKind kind = predicate.kind;
  if (column == nullptr) {
    column = column_of(*predicate.children[1]);
    literal = predicate.children[0].get();
    kind = mirrored(kind);
  }
  if (column == nullptr || literal->kind != ExpressionKind::kLiteral ||
      !holds_integers(column->type)) {
    return std::nullopt;
  }
  const std::optional<int64_t> bound = integer_of(literal->literal);
  if (!bound.has_value()) return std::nullopt;
  return column_range(*column, kind, {*bound, *bound});
}

}  // namespace diptych::olap
