#include "olap/execution/group_join.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

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

BuildRowGroups::BuildRowGroups(const Operator& join, const JoinTable& table,
                               std::vector<uint32_t> key_columns)
    : table_(table),
      probe_columns_(static_cast<uint32_t>(join.children[0]->output.size())),
      key_columns_(std::move(key_columns)) {
  group_of_row_.resize(table.rows().row_count(), kUnknown);
  new_rows_.reserve(kVectorRows);
  new_groups_.resize(kVectorRows);
  key_batch_.columns.resize(join.output.size());
  key_batch_.selection = &all_new_;
  for (const uint32_t column : key_columns_) {
    buffers_.emplace_back(table.rows().type(column - probe_columns_));
  }
}

bool BuildRowGroups::rows_differ(const Operator& join, const Operator& aggregate) const {
  const auto is_group_key = [&](const ExpressionPtr& build_key) {
    if (build_key->kind != ExpressionKind::kColumn) return false;
    const uint32_t column = probe_columns_ + build_key->column;
    return std::any_of(aggregate.expressions.begin(), aggregate.expressions.end(),
                       [column](const ExpressionPtr& key) {
                         return key->kind == ExpressionKind::kColumn && key->column == column;
                       });
  };
  // Without keys every pair is a match.
  return !join.build_keys.empty() && table_.unique() &&
         std::all_of(join.build_keys.begin(), join.build_keys.end(), is_group_key);
}

void BuildRowGroups::find(const Batch& batch, const FindGroups& find_groups, uint32_t* groups) {
  DIPTYCH_CHECK(batch.build_rows != nullptr, "the join below numbers its build rows");
  const uint32_t* const build_rows = batch.build_rows;
  uint32_t* const known = group_of_row_.data();
  uint32_t unknown = 0;
  for_numbered(*batch.selection, [&](uint32_t k, uint32_t slot) {
    groups[k] = known[build_rows[slot]];
    unknown += static_cast<uint32_t>(groups[k] == kUnknown);
  });
  if (unknown == 0) return;
  new_rows_.clear();
  for_numbered(*batch.selection, [&](uint32_t, uint32_t slot) {
    uint32_t& group = known[build_rows[slot]];
    if (group != kUnknown) return;
    group = kAsked;
    new_rows_.push_back(build_rows[slot]);
  });
  number_new_rows(find_groups);
  for_numbered(*batch.selection,
               [&](uint32_t k, uint32_t slot) { groups[k] = known[build_rows[slot]]; });
}

void BuildRowGroups::number_new_rows(const FindGroups& find_groups) {
  select_all(static_cast<uint32_t>(new_rows_.size()), &all_new_);
  for (size_t i = 0; i < key_columns_.size(); ++i) {
    key_batch_.columns[key_columns_[i]] = table_.rows().gather(
        key_columns_[i] - probe_columns_, new_rows_.data(), all_new_, &buffers_[i]);
  }
  find_groups(key_batch_, new_groups_.data());
  for (size_t i = 0; i < new_rows_.size(); ++i) group_of_row_[new_rows_[i]] = new_groups_[i];
}

}  // namespace diptych::olap
