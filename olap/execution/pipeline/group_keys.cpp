#include "olap/execution/pipeline/group_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/pipeline/needed_columns.h"

namespace diptych::olap {

namespace {

// An array of group numbers may have so many times the rows that are grouped.
constexpr double kBuildRowsFactorMax = 4;
// Keys that the probe side has, too, are computed a row where a build row has fewer matches.
constexpr double kMatchesMin = 8;

// Whether rows of the operator are rows of its first child, whose columns come first.
bool passes_rows_on(const Operator& op) {
  return op.kind == OperatorKind::kFilter ||
         (op.kind == OperatorKind::kHashJoin && !keeps_build_rows(op.join));
}

}  // namespace

const Operator* join_of_group_keys(const Operator& aggregate) {
  std::vector<uint32_t> columns;
  for (const ExpressionPtr& key : aggregate.expressions) {
    const std::vector<uint32_t> read = columns_read(*key);
    columns.insert(columns.end(), read.begin(), read.end());
  }
  if (columns.empty()) return nullptr;
  const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  for (const Operator* op = aggregate.children[0].get(); passes_rows_on(*op);
       op = op->children[0].get()) {
    if (op->kind != OperatorKind::kHashJoin) continue;
    const size_t probe_columns = op->children[0]->output.size();
    if (*high < probe_columns) continue;
    if (*low < probe_columns || op->join != JoinKind::kInner) return nullptr;
    const bool has_twins = std::all_of(columns.begin(), columns.end(), [&](uint32_t column) {
      return probe_twin(*op, static_cast<uint32_t>(column - probe_columns)).has_value();
    });
    const double factor = has_twins ? 1 / kMatchesMin : kBuildRowsFactorMax;
    const double rows = aggregate.children[0]->estimated_rows;
    return op->children[1]->estimated_rows <= factor * rows ? op : nullptr;
  }
  return nullptr;
}

bool has_build_keys(const Operator& aggregate, const Operator& join) {
  const auto is_group_key = [&](const ExpressionPtr& build_key) {
    if (build_key->kind != ExpressionKind::kColumn) return false;
    const size_t column = join.children[0]->output.size() + build_key->column;
    return std::any_of(aggregate.expressions.begin(), aggregate.expressions.end(),
                       [column](const ExpressionPtr& key) {
                         return key->kind == ExpressionKind::kColumn && key->column == column;
                       });
  };
  // Without keys every pair is a match.
  return !join.build_keys.empty() &&
         std::all_of(join.build_keys.begin(), join.build_keys.end(), is_group_key);
}

bool build_rows_may_be_groups(const Operator& aggregate, const Operator& join) {
  return aggregate.standing_groups.empty() && has_build_keys(aggregate, join) &&
         std::all_of(aggregate.expressions.begin(), aggregate.expressions.end(),
                     [](const ExpressionPtr& key) { return key->kind == ExpressionKind::kColumn; });
}

}  // namespace diptych::olap
