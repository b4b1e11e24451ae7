#include "olap/execution/vector/column_range.h"

#include <algorithm>

#include "olap/execution/vector/vector.h"

namespace diptych::olap {

namespace {

using base::int128_t;

// Digits before the point that a value of the type may have, and behind it; of exact numbers.
struct Digits {
  int before;
  int behind;
};

std::optional<Digits> digits_of(const base::DataType& type) {
  switch (type.kind) {
    case base::TypeKind::kInt: return Digits{10, 0};
    case base::TypeKind::kBigInt: return Digits{19, 0};
    case base::TypeKind::kDecimal: return Digits{type.precision - type.scale, type.scale};
    default: return std::nullopt;
  }
}

int128_t floor_of(int128_t value, int128_t unit) {
  return value / unit - static_cast<int>(value % unit < 0);
}

int128_t ceiling_of(int128_t value, int128_t unit) {
  return value / unit + static_cast<int>(value % unit > 0);
}

// Of the integers that a column of the type may hold.
struct Limits {
  int64_t lowest;
  int64_t highest;
};

Limits limits_of(const base::DataType& type) {
  if (physical_type(type) == PhysicalType::kInt32) return {INT32_MIN, INT32_MAX};
  return {INT64_MIN, INT64_MAX};
}

// A predicate whose first operand is the column.
ExpressionPtr of_column(ExpressionKind kind, const Expression& column) {
  auto operand = std::make_unique<Expression>();
  operand->kind = ExpressionKind::kColumn;
  operand->type = column.type;
  operand->nullable = column.nullable;
  operand->column = column.column;
  auto predicate = std::make_unique<Expression>();
  predicate->kind = kind;
  predicate->type = {base::TypeKind::kBoolean};
  predicate->children.push_back(std::move(operand));
  return predicate;
}

}  // namespace

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

std::optional<ScaledColumn> scaled_column(const Expression& expression) {
  const bool is_cast = expression.kind == ExpressionKind::kCast;
  const Expression& column = is_cast ? *expression.children[0] : expression;
  if (column.kind != ExpressionKind::kColumn || !holds_integers(column.type)) return std::nullopt;
  if (!is_cast) return ScaledColumn{&column, 1};
  const std::optional<Digits> from = digits_of(column.type);
  const std::optional<Digits> to = digits_of(expression.type);
  if (!from || !to || to->before < from->before || to->behind < from->behind) return std::nullopt;
  return ScaledColumn{&column,
                      base::power_of_ten(static_cast<unsigned>(to->behind - from->behind))};
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

base::Value value_of(int64_t integer, const base::DataType& type) {
  switch (type.kind) {
    case base::TypeKind::kDate: return base::Date{static_cast<int32_t>(integer)};
    case base::TypeKind::kTimestamp: return base::Timestamp{integer};
    case base::TypeKind::kDecimal: return base::DecimalValue{integer, type.scale};
    default: return integer;
  }
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

std::optional<ColumnRange> column_range(const ScaledColumn& scaled, ExpressionKind kind,
                                        const WideBounds& bounds) {
  const Limits limits = limits_of(scaled.column->type);
  int128_t min = limits.lowest;
  int128_t max = limits.highest;
  // A bound between two of the column's values is the one below or above, as the comparison asks.
  switch (kind) {
    case ExpressionKind::kEqual:
      min = ceiling_of(bounds.min, scaled.unit);
      max = floor_of(bounds.max, scaled.unit);
      break;
    case ExpressionKind::kLess: max = ceiling_of(bounds.max, scaled.unit) - 1; break;
    case ExpressionKind::kLessEqual: max = floor_of(bounds.max, scaled.unit); break;
    case ExpressionKind::kGreater: min = floor_of(bounds.min, scaled.unit) + 1; break;
    case ExpressionKind::kGreaterEqual: min = ceiling_of(bounds.min, scaled.unit); break;
    default: return std::nullopt;
  }
  min = std::max<int128_t>(min, limits.lowest);
  max = std::min<int128_t>(max, limits.highest);
  if (bounds.min > bounds.max || min > max) {
    return ColumnRange{scaled.column, INT64_MAX, INT64_MIN};
  }
  return ColumnRange{scaled.column, static_cast<int64_t>(min), static_cast<int64_t>(max)};
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
  return column_range({column, 1}, kind, {*bound, *bound});
}

ExpressionPtr comparison(const ColumnRange& range) {
  const Limits limits = limits_of(range.column->type);
  if (range.min > range.max) {
    auto nothing = std::make_unique<Expression>();
    nothing->type = {base::TypeKind::kBoolean};
    nothing->literal = base::Value(false);
    return nothing;
  }
  DIPTYCH_DCHECK(
      range.min == range.max || range.min == limits.lowest || range.max == limits.highest,
      "one comparison has one bound");
  const bool is_above = range.max == limits.highest;
  const ExpressionKind kind = range.min == range.max ? ExpressionKind::kEqual
                              : is_above             ? ExpressionKind::kGreaterEqual
                                                     : ExpressionKind::kLessEqual;
  return comparison(kind, *range.column,
                    value_of(is_above ? range.min : range.max, range.column->type));
}

ExpressionPtr comparison(ExpressionKind kind, const Expression& column, base::Value value) {
  auto bound = std::make_unique<Expression>();
  bound->type = column.type;
  bound->nullable = false;
  bound->literal = std::move(value);
  ExpressionPtr predicate = of_column(kind, column);
  predicate->children.push_back(std::move(bound));
  return predicate;
}

ExpressionPtr null_test(const Expression& column) {
  return of_column(ExpressionKind::kIsNull, column);
}

}  // namespace diptych::olap
