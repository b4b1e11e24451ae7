#include "olap/execution/join/key_bounds.h"

#include <algorithm>
#include <limits>

#include "olap/execution/key/key_table.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/vector/column_range.h"

namespace diptych::olap {

namespace {

struct Comparison {
  uint32_t probe_column;
  ExpressionKind kind;  // probe kind build
  uint32_t build_column;
};

bool is_order(ExpressionKind kind) {
  return kind == ExpressionKind::kLess || kind == ExpressionKind::kLessEqual ||
         kind == ExpressionKind::kGreater || kind == ExpressionKind::kGreaterEqual;
}

std::optional<Comparison> comparison_of_sides(const Operator& join, const Expression& predicate) {
  if (!is_order(predicate.kind)) return std::nullopt;
  const Expression* probe = predicate.children[0].get();
  const Expression* build = predicate.children[1].get();
  ExpressionKind kind = predicate.kind;
  const size_t probe_columns = join.children[0]->output.size();
  if (build->kind == ExpressionKind::kColumn && build->column < probe_columns) {
    std::swap(probe, build);
    kind = mirrored(kind);
  }
  const bool are_columns = probe->kind == ExpressionKind::kColumn &&
                           build->kind == ExpressionKind::kColumn &&
                           probe->column < probe_columns && build->column >= probe_columns;
  if (!are_columns || !holds_integers(probe->type) || !holds_integers(build->type)) {
    return std::nullopt;
  }
  const auto build_column = static_cast<uint32_t>(build->column - probe_columns);
  if (probe_twin(join, build_column).has_value()) return std::nullopt;  // the table has it not
  return Comparison{probe->column, kind, build_column};
}

}  // namespace

template <class T>
bool KeyBounds::fill(const ColumnStore& rows, size_t column, const GrowingArray<uint32_t>& numbers,
                     const StopSignal& stop) {
  const int64_t last = above_ ? std::numeric_limits<int64_t>::min()
                              : std::numeric_limits<int64_t>::max();  // no bound is further
  const int64_t step = above_ ? -1 : 1;
  const T* const values = rows.values<T>(column);
  for (size_t row = 0; row < numbers.size(); ++row) {
    stop.check_at(row);
    if (rows.is_null(column, row)) continue;
    int64_t value = values[row];
    if (inclusive_) {
      if (value == last) return false;
      value += step;
    }
    int64_t& bound = bounds_[numbers[row]];
    bound = above_ ? std::min(bound, value) : std::max(bound, value);
  }
  return true;
}

std::optional<KeyBounds> KeyBounds::make(const Operator& join, const ColumnStore& rows,
                                         const GrowingArray<uint32_t>& numbers, uint32_t keys,
                                         const StopSignal& stop) {
  for (const ExpressionPtr& predicate : join.predicates) {
    const auto comparison = comparison_of_sides(join, *predicate);
    if (!comparison.has_value()) continue;
    KeyBounds bounds;
    bounds.probe_column_ = comparison->probe_column;
    bounds.above_ = comparison->kind == ExpressionKind::kGreater ||
                    comparison->kind == ExpressionKind::kGreaterEqual;
    bounds.inclusive_ = comparison->kind == ExpressionKind::kGreaterEqual ||
                        comparison->kind == ExpressionKind::kLessEqual;
    bounds.decides_ = join.predicates.size() == 1;
    bounds.bounds_.resize(keys + size_t{1}, bounds.above_ ? std::numeric_limits<int64_t>::max()
                                                          : std::numeric_limits<int64_t>::min());
    const size_t column = comparison->build_column;
    const bool filled = rows.type(column) == PhysicalType::kInt32
                            ? bounds.fill<int32_t>(rows, column, numbers, stop)
                            : bounds.fill<int64_t>(rows, column, numbers, stop);
    if (filled) return bounds;
  }
  return std::nullopt;
}

template <class T>
void KeyBounds::narrow_values(const Vector& values, Selection* rows, uint32_t* numbers) const {
  const T* const value = values.as<T>();
  const auto no_key = static_cast<uint32_t>(bounds_.size() - 1);
  uint64_t left[kVectorWords] = {};
  uint32_t count = 0;
  // Without a branch: which rows pass is not predictable.
  for_numbered(*rows, [&](uint32_t k, uint32_t slot) {
    const uint32_t number = numbers[k];
    const int64_t bound = bounds_[std::min(number, no_key)];
    const bool beyond = above_ ? value[slot] > bound : value[slot] < bound;
    const bool passes = beyond && !values.is_null(slot);
    numbers[count] = number;
    count += static_cast<uint32_t>(passes);
    left[slot / 64] |= static_cast<uint64_t>(passes) << (slot % 64);
  });
  select_bits(left, rows->slots, rows);
}

void KeyBounds::narrow(const Batch& batch, Selection* rows, uint32_t* numbers) const {
  static_assert(KeyTable::kNoKey == UINT32_MAX, "above every number");
  const Vector& values = batch.columns[probe_column_];
  if (values.type == PhysicalType::kInt32) {
    narrow_values<int32_t>(values, rows, numbers);
  } else {
    narrow_values<int64_t>(values, rows, numbers);
  }
}

}  // namespace diptych::olap
