#include "olap/sql/cardinality.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace diptych::olap {
namespace {

using base::ColumnId;
using base::TableSchema;
using base::TypeKind;

constexpr double kRangeSelectivity = 0.3;
constexpr double kLikeSelectivity = 0.1;
constexpr double kNullSelectivity = 0.05;
constexpr double kOtherSelectivity = 0.33;
constexpr double kLeastSelectivity = 1e-9;
constexpr double kGuessedValues = 200;
constexpr unsigned kForeignKeysDeepMax = 8;  // ends the walk along foreign keys that form a ring

bool contains(const std::vector<ColumnId>& columns, ColumnId column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::optional<double> numeric_value(const base::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* date = std::get_if<base::Date>(&value)) return date->days;
  if (const auto* at = std::get_if<base::Timestamp>(&value)) return static_cast<double>(at->micros);
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) {
    return static_cast<double>(decimal->units);
  }
  return std::nullopt;
}

double guessed_values(const base::DataType& type, double rows) {
  switch (type.kind) {
    case TypeKind::kBoolean: return 2;
    case TypeKind::kDecimal:
    case TypeKind::kDouble:
    case TypeKind::kDate:
    case TypeKind::kTimestamp: return std::max(1.0, rows / 10);
    default: return std::min(rows, kGuessedValues);
  }
}

}  // namespace

double Estimator::table_rows(const TableSchema& table) const {
  const size_t id = table.id.value;
  return std::max(1.0, id < rows_.size() ? static_cast<double>(rows_[id].rows) : 1.0);
}

double Estimator::distinct(uint32_t slot) {
  if (const auto found = known_.find(slot); found != known_.end()) return found->second;
  const Slot& s = slots_[slot];
  if (s.table == nullptr) return kGuessedValues;
  return distinct(*s.table, s.column, 0);
}

const TableSchema* Estimator::parent_of(const TableSchema& table, ColumnId column,
                                        ColumnId* parent_column) const {
  for (const base::ForeignKey& key : table.foreign_keys) {
    const auto found = std::find(key.columns.begin(), key.columns.end(), column);
    const TableSchema* parent = catalog_.find_table(key.parent_table);
    if (found == key.columns.end() || parent == nullptr) continue;
    const auto index = static_cast<size_t>(found - key.columns.begin());
    *parent_column = *parent->find_column(key.parent_columns[index]);
    return parent;
  }
  return nullptr;
}

double Estimator::distinct(const TableSchema& table, ColumnId column, unsigned depth) {
  const std::pair<uint32_t, uint16_t> id(table.id.value, column.value);
  if (const auto found = columns_.find(id); found != columns_.end()) return found->second;
  const double rows = table_rows(table);
  double values = guessed_values(table.column(column).type, rows);
  ColumnId parent_column;
  const TableSchema* parent = parent_of(table, column, &parent_column);
  const bool unique =
      std::any_of(table.indexes.begin(), table.indexes.end(), [&](const base::IndexSchema& index) {
        return index.uniqueness == base::Uniqueness::kUnique && index.columns.size() == 1 &&
               index.columns[0] == column;
      });
  if (unique) {
    values = rows;
  } else if (parent != nullptr && depth < kForeignKeysDeepMax) {
    values = std::min(rows, distinct(*parent, parent_column, depth + 1));
  } else if (contains(table.primary_key().columns, column)) {
    values = distinct_of_key_part(table, depth);
  }
  columns_[id] = values;
  return values;
}

double Estimator::distinct_of_key_part(const TableSchema& table, unsigned depth) {
  // Parts that no foreign key explains share what the others leave, in equal powers.
  double known = 1;
  unsigned unknown = 0;
  for (const ColumnId part : table.primary_key().columns) {
    ColumnId parent_column;
    const TableSchema* parent = parent_of(table, part, &parent_column);
    if (parent == nullptr || depth >= kForeignKeysDeepMax) {
      ++unknown;
    } else {
      known *= distinct(*parent, parent_column, depth + 1);
    }
  }
  const double rest = std::max(1.0, table_rows(table) / known);
  return std::max(1.0, std::pow(rest, 1.0 / std::max(1U, unknown)));
}

double Estimator::function_distinct(const Expression& call) {
  switch (call.function) {
    case Function::kExtractYear: return 7;
    case Function::kExtractQuarter: return 4;
    case Function::kExtractMonth: return 12;
    case Function::kExtractDay: return 31;
    case Function::kExtractHour: return 24;
    case Function::kExtractMinute:
    case Function::kExtractSecond: return 60;
    case Function::kAscii: return 64;
    case Function::kLength: return 50;
    case Function::kSubstring: return std::min(kGuessedValues, distinct(*call.children[0]));
    default: return distinct(*call.children[0]);
  }
}

double Estimator::distinct(const Expression& e) {
  constexpr double kMost = 1e12;
  switch (e.kind) {
    case ExpressionKind::kColumn: return distinct(e.column);
    case ExpressionKind::kLiteral: return 1;
    case ExpressionKind::kFunction: return function_distinct(e);
    case ExpressionKind::kModulo: {
      const Expression& divisor = *e.children[1];
      const auto* number = is_literal(divisor) ? std::get_if<int64_t>(&divisor.literal) : nullptr;
      const double values = distinct(*e.children[0]);
      if (number == nullptr || *number == 0) return values;
      return std::max(1.0, std::min(values, std::abs(static_cast<double>(*number))));
    }
    default: break;
  }
  if (e.type.kind == TypeKind::kBoolean) return 2;
  double values = 1;
  for (const ExpressionPtr& child : e.children) values = std::min(kMost, values * distinct(*child));
  return values;
}

double Estimator::equality_selectivity(const Expression& equality) {
  return 1 / std::max(distinct(*equality.children[0]), distinct(*equality.children[1]));
}

// Values lie evenly between a column's bounds, as far as anybody knows.
double Estimator::range_selectivity(const Expression& p) {
  const size_t literal_side = is_literal(*p.children[0]) ? 0 : 1;
  const Expression& column = without_integer_casts(*p.children[1 - literal_side]);
  const Expression& literal = *p.children[literal_side];
  if (column.kind != ExpressionKind::kColumn || !is_literal(literal)) return kRangeSelectivity;
  const Slot& slot = slots_[column.column];
  const std::optional<double> value = numeric_value(literal.literal);
  if (slot.table == nullptr || !value.has_value()) return kRangeSelectivity;
  const size_t table = slot.table->id.value;
  if (table >= rows_.size() || slot.column.value >= rows_[table].columns.size()) {
    return kRangeSelectivity;
  }
  const ColumnBounds& bounds = rows_[table].columns[slot.column.value];
  if (!bounds.known) return kRangeSelectivity;
  const bool less = p.kind == ExpressionKind::kLess || p.kind == ExpressionKind::kLessEqual;
  const bool bounds_above = less == (literal_side == 1);
  const double width = std::max(bounds.max - bounds.min, 1.0);
  const double below = std::clamp((*value - bounds.min) / width, 0.0, 1.0);
  return bounds_above ? below : 1 - below;
}

double Estimator::selectivity(const Expression& p) {
  double share = kOtherSelectivity;
  switch (p.kind) {
    case ExpressionKind::kEqual: share = equality_selectivity(p); break;
    case ExpressionKind::kNotEqual: share = 1 - equality_selectivity(p); break;
    case ExpressionKind::kLess:
    case ExpressionKind::kLessEqual:
    case ExpressionKind::kGreater:
    case ExpressionKind::kGreaterEqual: share = range_selectivity(p); break;
    case ExpressionKind::kLike: share = kLikeSelectivity; break;
    case ExpressionKind::kIsNull: share = kNullSelectivity; break;
    case ExpressionKind::kIsNotNull: share = 1 - kNullSelectivity; break;
    case ExpressionKind::kNot: share = 1 - selectivity(*p.children[0]); break;
    case ExpressionKind::kInList:
      share = static_cast<double>(p.children.size() - 1) / distinct(*p.children[0]);
      break;
    case ExpressionKind::kAnd:
      share = 1;
      for (const ExpressionPtr& child : p.children) share *= selectivity(*child);
      break;
    case ExpressionKind::kOr:
      share = 1;
      for (const ExpressionPtr& child : p.children) share *= 1 - selectivity(*child);
      share = 1 - share;
      break;
    case ExpressionKind::kLiteral: share = is_true_literal(p) ? 1 : 0; break;
    default: break;
  }
  return std::clamp(share, kLeastSelectivity, 1.0);
}

}  // namespace diptych::olap
