#include "olap/execution/column_range.h"

#include "olap/execution/vector.h"

namespace diptych::olap {

namespace {

using Kind = ExpressionKind;

Kind mirrored(Kind kind) {
  switch (kind) {
    case Kind::kLess: return Kind::kGreater;
    case Kind::kLessEqual: return Kind::kGreaterEqual;
    case Kind::kGreater: return Kind::kLess;
    case Kind::kGreaterEqual: return Kind::kLessEqual;
    default: return kind;
  }
}

bool is_integer(const base::DataType& type) {
  const PhysicalType physical = physical_type(type);
  return physical == PhysicalType::kInt32 || physical == PhysicalType::kInt64;
}

}  // namespace

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

std::optional<ColumnRange> column_range(const Expression& predicate) {
  switch (predicate.kind) {
    case Kind::kEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual: break;
    default: return std::nullopt;
  }
  const Expression* column = column_of(*predicate.children[0]);
  const Expression* literal = predicate.children[1].get();
  Kind kind = predicate.kind;
  if (column == nullptr) {
    column = column_of(*predicate.children[1]);
    literal = predicate.children[0].get();
    kind = mirrored(kind);
  }
  if (column == nullptr || literal->kind != Kind::kLiteral || !is_integer(column->type)) {
    return std::nullopt;
  }
  const std::optional<int64_t> bound = integer_of(literal->literal);
  if (!bound.has_value()) return std::nullopt;
  ColumnRange range{.column = column};
  switch (kind) {
    case Kind::kEqual: range.min = range.max = *bound; break;
    case Kind::kLessEqual: range.max = *bound; break;
    case Kind::kGreaterEqual: range.min = *bound; break;
    case Kind::kLess:
      range.max = *bound - (*bound != INT64_MIN);
      if (*bound == INT64_MIN) range.min = INT64_MAX;  // no value
      break;
    default:
      range.min = *bound + (*bound != INT64_MAX);
      if (*bound == INT64_MAX) range.max = INT64_MIN;
      break;
  }
  return range;
}

}  // namespace diptych::olap
