#include "olap/sql/cardinality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "olap/execution/expression/expression.h"
#include "olap/execution/pattern/like_pattern.h"
#include "olap/sql/sampled_keys.h"
#include "olap/sql/sampled_predicate.h"

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
constexpr double kMostCombinations = 1e12;
constexpr unsigned kForeignKeysDeepMax = 8;  // ends the walk along foreign keys that form a ring

bool contains(const std::vector<ColumnId>& columns, ColumnId column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

double guessed_values(const base::DataType& type, double rows) {
  switch (type.kind) {
    case TypeKind::kBoolean: return 2;
    case TypeKind::kDecimal:
    case TypeKind::kDouble:
    case TypeKind::kDate:
    case TypeKind::kInterval:
    case TypeKind::kTimestamp: return std::max(1.0, rows / 10);
    default: return std::min(rows, kGuessedValues);
  }
}

// nullptr: there is none.
const ColumnSample* rows_sample(const TableRows& rows, const TableSchema& table, ColumnId column) {
  const size_t id = table.id.value;
  if (id >= rows.size() || column.value >= rows[id].samples.size()) return nullptr;
  const SampledColumn* const sample = rows[id].samples[column.value].get();
  return sample == nullptr ? nullptr : &sample->summary();
}

bool is_column(const Expression& expression) {
  return without_integer_casts(expression).kind == ExpressionKind::kColumn;
}

// What selectivity_by_kind knows by the column's sample.
bool compares_a_column(const Expression& p) {
  if (is_comparison(p.kind)) {
    return (is_column(*p.children[0]) && is_literal(*p.children[1])) ||
           (is_literal(*p.children[0]) && is_column(*p.children[1]));
  }
  switch (p.kind) {
    case ExpressionKind::kInList:
    case ExpressionKind::kLike:
    case ExpressionKind::kIsNull:
    case ExpressionKind::kIsNotNull: return is_column(*p.children[0]);
    default: return false;
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
  const ColumnSample* const sample = rows_sample(rows_, table, column);
  if (unique) {
    values = rows;
  } else if (sample != nullptr && sample->has_all_values) {
    values = std::max(sample->distinct, 1.0);
  } else if (parent != nullptr && depth < kForeignKeysDeepMax) {
    values = std::min(rows, distinct(*parent, parent_column, depth + 1));
  } else if (contains(table.primary_key().columns, column)) {
    values = distinct_of_key_part(table, depth);
  } else if (sample != nullptr) {
    values = bounded_distinct(table, column, *sample);
  }
  columns_[id] = values;
  return values;
}

double Estimator::distinct_of_key_part(const TableSchema& table, unsigned depth) {
  // Parts that neither a sample nor a foreign key explains share what the others leave, in equal
  // powers.
  double known = 1;
  unsigned unknown = 0;
  for (const ColumnId part : table.primary_key().columns) {
    ColumnId parent_column;
    const TableSchema* parent = parent_of(table, part, &parent_column);
    const ColumnSample* const sample = rows_sample(rows_, table, part);
    if (sample != nullptr && sample->has_all_values) {
      known *= std::max(sample->distinct, 1.0);
    } else if (parent == nullptr || depth >= kForeignKeysDeepMax) {
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
    case Function::kExtractYear:
    case Function::kExtractIsoYear: return 7;
    case Function::kExtractQuarter: return 4;
    case Function::kExtractMonth: return 12;
    case Function::kExtractWeek: return 53;
    case Function::kExtractDay: return 31;
    case Function::kExtractDayOfYear: return 366;
    case Function::kExtractDayOfWeek:
    case Function::kExtractIsoDayOfWeek: return 7;
    case Function::kExtractHour: return 24;
    case Function::kExtractMinute: return 60;
    case Function::kAscii: return 64;
    case Function::kLength: return 50;
    case Function::kSubstring: return std::min(kGuessedValues, distinct(*call.children[0]));
    default: return distinct(*call.children[0]);
  }
}

double Estimator::distinct(const Expression& e) {
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
  for (const ExpressionPtr& child : e.children)
    values = std::min(kMostCombinations, values * distinct(*child));
  return values;
}

const ColumnSample* Estimator::sample_of(const Expression& expression, double* rows) const {
  const Expression& column = without_integer_casts(expression);
  if (column.kind != ExpressionKind::kColumn) return nullptr;
  const Slot& slot = slots_[column.column];
  if (slot.table == nullptr) return nullptr;
  *rows = table_rows(*slot.table);
  return rows_sample(rows_, *slot.table, slot.column);
}

double Estimator::bounded_distinct(const TableSchema& table, ColumnId column,
                                   const ColumnSample& sample) const {
  const TableStatistics& statistics = rows_[table.id.value];
  double values = std::max(sample.distinct, 1.0);
  const TypeKind kind = table.column(column).type.kind;
  if (kind == TypeKind::kDouble || column.value >= statistics.columns.size()) return values;
  const ColumnBounds& bounds = statistics.columns[column.value];
  if (bounds.known) values = std::min(values, bounds.max - bounds.min + 1);
  return values;
}

double Estimator::null_share(const Expression& expression) const {
  double rows = 0;
  const ColumnSample* const sample = sample_of(expression, &rows);
  return sample == nullptr ? kNullSelectivity : sample->null_share;
}

double Estimator::literal_selectivity(const Expression& expression, const Expression& literal) {
  double rows = 0;
  const ColumnSample* const sample = sample_of(expression, &rows);
  if (sample != nullptr) {
    if (const auto share = sample->share_of(literal.literal, rows)) return *share;
  }
  return 1 / distinct(expression);
}

double Estimator::equality_selectivity(const Expression& equality) {
  const Expression& left = *equality.children[0];
  const Expression& right = *equality.children[1];
  if (is_literal(right)) return literal_selectivity(left, right);
  if (is_literal(left)) return literal_selectivity(right, left);
  return 1 / std::max(distinct(left), distinct(right));
}

double Estimator::in_selectivity(const Expression& in) {
  double share = 0;
  for (size_t i = 1; i < in.children.size(); ++i) {
    share += literal_selectivity(*in.children[0], *in.children[i]);
  }
  return share;
}

// Half a match more than there were, of one text more: none in a few hundred is not never.
double Estimator::like_selectivity(const Expression& like) const {
  double rows = 0;
  const ColumnSample* const sample = sample_of(*like.children[0], &rows);
  const auto* const text = std::get_if<std::string>(&like.children[1]->literal);
  if (sample == nullptr || sample->texts.empty() || text == nullptr) return kLikeSelectivity;
  const auto pattern = LikePattern::compile(*text);
  if (!pattern) return kLikeSelectivity;
  const auto matches = static_cast<double>(
      std::count_if(sample->texts.begin(), sample->texts.end(),
                    [&](const std::string& one) { return pattern->matches(one); }));
  const double share = (matches + 0.5) / (static_cast<double>(sample->texts.size()) + 1);
  return share * (1 - sample->null_share);
}

std::optional<Estimator::RangeEnd> Estimator::range_end(const Expression& p) {
  const bool is_less = p.kind == ExpressionKind::kLess || p.kind == ExpressionKind::kLessEqual;
  const bool is_greater =
      p.kind == ExpressionKind::kGreater || p.kind == ExpressionKind::kGreaterEqual;
  if (!is_less && !is_greater) return std::nullopt;
  const size_t literal_side = is_literal(*p.children[0]) ? 0 : 1;
  RangeEnd end;
  end.column = &without_integer_casts(*p.children[1 - literal_side]);
  end.literal = p.children[literal_side].get();
  end.is_upper = is_less == (literal_side == 1);
  end.takes_equal = p.kind == ExpressionKind::kLessEqual || p.kind == ExpressionKind::kGreaterEqual;
  const bool is_end = end.column->kind == ExpressionKind::kColumn && is_literal(*end.literal);
  return is_end ? std::optional(end) : std::nullopt;
}

// Values lie evenly between a column's bounds, as far as anybody knows.
std::optional<double> Estimator::range_share(const RangeEnd& end) const {
  double rows = 0;
  if (const ColumnSample* const sample = sample_of(*end.column, &rows)) {
    if (const auto below = sample->share_below(end.literal->literal)) {
      const double equal = *sample->share_of(end.literal->literal, rows);
      if (end.is_upper) return *below + (end.takes_equal ? equal : 0);
      return 1 - sample->null_share - *below - (end.takes_equal ? 0 : equal);
    }
  }
  const Slot& slot = slots_[end.column->column];
  const std::optional<double> value = numeric_value(end.literal->literal);
  if (slot.table == nullptr || !value.has_value()) return std::nullopt;
  const size_t table = slot.table->id.value;
  if (table >= rows_.size() || slot.column.value >= rows_[table].columns.size()) {
    return std::nullopt;
  }
  const ColumnBounds& bounds = rows_[table].columns[slot.column.value];
  if (!bounds.known) return std::nullopt;
  const double width = std::max(bounds.max - bounds.min, 1.0);
  const double below = std::clamp((*value - bounds.min) / width, 0.0, 1.0);
  return end.is_upper ? below : 1 - below;
}

double Estimator::range_selectivity(const Expression& comparison) const {
  const std::optional<RangeEnd> end = range_end(comparison);
  return end ? range_share(*end).value_or(kRangeSelectivity) : kRangeSelectivity;
}

std::optional<uint32_t> Estimator::only_number(const Expression& predicate) const {
  std::optional<uint32_t> slot;
  bool is_one = true;
  for_each_column(predicate, [&](const Expression& column) {
    is_one = is_one && slot.value_or(column.column) == column.column;
    slot = column.column;
  });
  const bool is_number =
      is_one && slot && slots_[*slot].table != nullptr && !slots_[*slot].type.is_string();
  return is_number ? slot : std::nullopt;
}

// Of the predicates on one column, the strictest bound from below, the strictest from above, and
// the strictest of the others.
double Estimator::selectivity(const Expressions& conjuncts) {
  struct OfColumn {
    std::optional<double> lower;
    std::optional<double> upper;
    double other = 1;
  };
  std::map<uint32_t, OfColumn> columns;
  double share = 1;
  for (const ExpressionPtr& conjunct : conjuncts) {
    const double own = selectivity(*conjunct);
    const std::optional<uint32_t> slot = only_number(*conjunct);
    if (!slot) {
      share *= own;
      continue;
    }
    OfColumn& column = columns[*slot];
    const std::optional<RangeEnd> end = range_end(*conjunct);
    if (end && range_share(*end)) {
      std::optional<double>& bound = end->is_upper ? column.upper : column.lower;
      bound = std::min(own, bound.value_or(1));
    } else {
      column.other = std::min(column.other, own);
    }
  }
  for (const auto& [slot, column] : columns) {
    double range = std::min(column.lower.value_or(1), column.upper.value_or(1));
    if (column.lower && column.upper) {
      const double values = 1 - null_share(*slots_.column(slot));
      range = std::max(*column.lower + *column.upper - values, 1 / distinct(slot));
    }
    share *= std::min(range, column.other);
  }
  return std::clamp(share, kLeastSelectivity, 1.0);
}

void Estimator::set_origin(uint32_t slot, const Expression& value) {
  const Expression& column = without_integer_casts(value);
  if (column.kind != ExpressionKind::kColumn) return;
  const auto further = origins_.find(column.column);
  origins_[slot] = further == origins_.end() ? column.column : further->second;
}

std::optional<uint32_t> Estimator::table_of(const Expression& expression) const {
  std::optional<uint32_t> first;
  bool is_one = names_a_column(expression);
  for_each_column(expression, [&](const Expression& column) {
    const auto origin = origins_.find(column.column);
    const uint32_t slot = origin == origins_.end() ? column.column : origin->second;
    const uint32_t of_column = slot - slots_[slot].column.value;
    is_one = is_one && slots_[slot].table != nullptr && first.value_or(of_column) == of_column;
    first = of_column;
  });
  return is_one ? first : std::nullopt;
}

double Estimator::combinations(const Expressions& values) {
  std::map<uint32_t, double> by_table;
  double all = 1;
  for (const ExpressionPtr& value : values) {
    const std::optional<uint32_t> table = table_of(*value);
    double& some = table ? by_table.try_emplace(*table, 1).first->second : all;
    some = std::min(kMostCombinations, some * distinct(*value));
  }
  for (const auto& [first_slot, combinations] : by_table) {
    const auto rows = rows_from_.find(first_slot);
    const double most = rows == rows_from_.end() ? combinations : rows->second;
    all = std::min(kMostCombinations, all * std::min(combinations, most));
  }
  return all;
}

double Estimator::combinations(const std::vector<uint32_t>& slots) {
  Expressions columns;
  for (const uint32_t slot : slots) columns.push_back(slots_.column(slot));
  return combinations(columns);
}

double Estimator::distinct_among(uint32_t slot, const Expressions& predicates) {
  Expressions own;
  double listed = std::numeric_limits<double>::infinity();
  for (const ExpressionPtr& predicate : predicates) {
    bool is_own = names_a_column(*predicate);
    for_each_column(std::as_const(*predicate),
                    [&](const Expression& column) { is_own = is_own && column.column == slot; });
    if (!is_own) continue;
    own.push_back(clone(*predicate));
    if (!compares_a_column(*predicate)) continue;
    if (predicate->kind == ExpressionKind::kEqual) listed = 1;
    if (predicate->kind == ExpressionKind::kInList) {
      listed = std::min(listed, static_cast<double>(predicate->children.size() - 1));
    }
  }
  const double values = distinct(slot);
  if (own.empty()) return values;
  const double not_null = std::max(1 - null_share(*slots_.column(slot)), kLeastSelectivity);
  return std::max(1.0, std::min(listed, values * std::min(1.0, selectivity(own) / not_null)));
}

double Estimator::sampled_selectivity(const Expression& p, double by_kind) const {
  const std::vector<uint32_t> columns = columns_read(p);
  if (columns.size() != 1) return by_kind;
  const Slot& slot = slots_[columns[0]];
  if (slot.table == nullptr) return by_kind;
  const ColumnSample* const sample = rows_sample(rows_, *slot.table, slot.column);
  if (sample == nullptr || !slots_.work().takes_sample()) return by_kind;
  const auto found = sampled_matches(p, columns[0], slot.table->column(slot.column).type, *sample);
  if (!found) return by_kind;
  const double share = found->share(sample->null_share);
  return found->matches == 0 && !found->of_null ? std::min(share, by_kind) : share;
}

double Estimator::share_of_referred(uint32_t referring, uint32_t key, const Operator& scan) const {
  const Slot& from = slots_[referring];
  const Slot& to = slots_[key];
  if (from.table == nullptr || to.table == nullptr) return 1;
  const size_t child = from.table->id.value;
  const size_t parent = to.table->id.value;
  if (child >= rows_.size() || parent >= rows_.size()) return 1;
  if (from.column.value >= rows_[child].columns.size()) return 1;
  return share_of_keys(rows_[parent], scan, to.column, rows_[child].columns[from.column.value]);
}

double Estimator::selectivity(const Expression& p) {
  const bool goes_by_parts = p.kind == ExpressionKind::kAnd || p.kind == ExpressionKind::kOr ||
                             p.kind == ExpressionKind::kNot || is_literal(p);
  slots_.work().step();
  double share = selectivity_by_kind(p);
  if (!goes_by_parts && !compares_a_column(p)) share = sampled_selectivity(p, share);
  return std::clamp(share, kLeastSelectivity, 1.0);
}

double Estimator::selectivity_by_kind(const Expression& p) {
  double share = kOtherSelectivity;
  switch (p.kind) {
    case ExpressionKind::kEqual: share = equality_selectivity(p); break;
    case ExpressionKind::kNotEqual: share = 1 - equality_selectivity(p); break;
    case ExpressionKind::kLess:
    case ExpressionKind::kLessEqual:
    case ExpressionKind::kGreater:
    case ExpressionKind::kGreaterEqual: share = range_selectivity(p); break;
    case ExpressionKind::kLike: share = like_selectivity(p); break;
    case ExpressionKind::kIsNull: share = null_share(*p.children[0]); break;
    case ExpressionKind::kIsNotNull: share = 1 - null_share(*p.children[0]); break;
    case ExpressionKind::kNot: share = 1 - selectivity(*p.children[0]); break;
    case ExpressionKind::kInList: share = in_selectivity(p); break;
    case ExpressionKind::kAnd: share = selectivity(p.children); break;
    case ExpressionKind::kOr:
      share = 1;
      for (const ExpressionPtr& child : p.children) share *= 1 - selectivity(*child);
      share = 1 - share;
      break;
    case ExpressionKind::kLiteral: share = is_true_literal(p) ? 1 : 0; break;
    default: break;
  }
  return share;
}

}  // namespace diptych::olap
