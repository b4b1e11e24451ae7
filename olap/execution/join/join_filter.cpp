#include "olap/execution/join/join_filter.h"

#include <algorithm>

namespace diptych::olap {

namespace {

bool drops_unmatched(JoinKind kind) {
  return kind == JoinKind::kInner || kind == JoinKind::kSemi || keeps_build_rows(kind);
}

bool is_column(const ExpressionPtr& key) {
  return key->kind == ExpressionKind::kColumn;
}

}  // namespace

std::optional<ColumnRange> implied_range(const Operator& join, const JoinTable& table,
                                         const Expression& predicate, size_t columns) {
  if (predicate.children.size() != 2) return std::nullopt;
  const size_t probe_columns = join.children[0]->output.size();
  const auto range_of = [&](const Expression& probe, ExpressionKind kind,
                            const Expression& built) -> std::optional<ColumnRange> {
    const std::optional<ScaledColumn> scaled = scaled_column(probe);
    const bool are_columns = scaled && scaled->column->column < columns &&
                             built.kind == ExpressionKind::kColumn && built.column >= probe_columns;
    const bool are_integers = are_columns && (holds_integers(built.type) || is_wide(built.type));
    if (!are_integers) return std::nullopt;
    const auto build_column = static_cast<uint32_t>(built.column - probe_columns);
    if (probe_twin(join, build_column).has_value()) return std::nullopt;  // the table has it not
    if (!column_range(*scaled, kind, WideBounds())) return std::nullopt;
    return column_range(*scaled, kind, table.rows().bounds(build_column));
  };
  const Expression& left = *predicate.children[0];
  const Expression& right = *predicate.children[1];
  auto range = range_of(left, predicate.kind, right);
  return range ? range : range_of(right, mirrored(predicate.kind), left);
}

JoinFilter join_filter(const Operator& join, const JoinTable& table, const Operator& scan) {
  JoinFilter filter{&join, &table, {}};
  for (const ExpressionPtr& predicate : join.predicates) {
    const auto range = implied_range(join, table, *predicate, scan.output.size());
    if (range.has_value()) filter.implied.push_back(*range);
  }
  return filter;
}

const Operator* filtered_scan(const Operator& join) {
  if (!drops_unmatched(join.join)) return nullptr;
  const Operator* below = join.children[0].get();
  const Operator* const first = below;
  while (below->kind != OperatorKind::kScan) {
    const bool is_passed =
        below->kind == OperatorKind::kFilter ||
        (below->kind == OperatorKind::kHashJoin && !keeps_build_rows(below->join));
    if (!is_passed) return nullptr;
    below = below->children[0].get();
  }
  if (below != first && !std::ranges::all_of(join.probe_keys, is_column)) return nullptr;
  // A join's output begins with its probe side's columns: a number says whether it is the scan's.
  const auto is_of_scan = [&](uint32_t column) { return column < below->output.size(); };
  for (const ExpressionPtr& key : join.probe_keys) {
    if (!std::ranges::all_of(columns_read(*key), is_of_scan)) return nullptr;
  }
  return below;
}

JoinFilterProbe::JoinFilterProbe(const JoinFilter& filter, const QueryLimits& limits)
    : table_(*filter.table) {
  for (const ExpressionPtr& key : filter.join->probe_keys) compile(*key, limits);
}

JoinFilterProbe::JoinFilterProbe(const JoinFilter& filter, const KeyColumnSet& set,
                                 const QueryLimits& limits)
    : table_(*filter.table), set_(&set) {
  compile(*filter.join->probe_keys[set.column()], limits);
}

void JoinFilterProbe::compile(const Expression& key, const QueryLimits& limits) {
  keys_.push_back(compile_expression(key, limits));
  const std::vector<uint32_t> read = columns_read(key);
  columns_.insert(columns_.end(), read.begin(), read.end());
}

void JoinFilterProbe::narrow(const Batch& batch, Selection* rows) {
  const Selection& asked = *batch.selection;
  key_vectors_.clear();
  for (const NodePtr& key : keys_) key_vectors_.push_back(key->evaluate(batch, asked));
  asked_ += asked.count;
  if (set_ != nullptr) {
    set_->select(key_vectors_[0], asked, rows);
  } else {
    table_.select(key_vectors_, asked, rows);
  }
  passed_ += rows->count;
}

}  // namespace diptych::olap
