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

BuildRowGroups::BuildRowGroups(uint64_t build_rows)
    : rows_(kVectorRows), run_rows_(kVectorRows), run_groups_(kVectorRows) {
  group_of_row_.resize(build_rows, kUnknown);
  new_rows_.reserve(kVectorRows);
  new_groups_.resize(kVectorRows);
}

BuildRowGroups::BuildRowGroups(std::vector<KeyColumn> key_columns) : BuildRowGroups(0) {
  key_columns_ = std::move(key_columns);
  const ColumnPath::Step first = key_columns_[0].path.first();
  const bool refers =
      std::all_of(key_columns_.begin(), key_columns_.end(), [&first](const KeyColumn& key) {
        return key.path.first() == first && !key.path.has_values();
      });
  if (refers) {
    referred_rows_ = first.rows->values<uint32_t>(first.column);
    for (KeyColumn& key : key_columns_) key.path.drop_first();
  }
  group_of_row_.resize(key_columns_[0].path.first().rows->row_count(), kUnknown);
  key_batch_.selection = &all_new_;
  for (const KeyColumn& key : key_columns_) {
    key_batch_.columns.resize(std::max<size_t>(key_batch_.columns.size(), key.column + 1));
    buffers_.emplace_back(key.path.type());
  }
}

void BuildRowGroups::find(const Batch& batch, const FindGroups& find_groups, uint32_t* groups) {
  DIPTYCH_CHECK(batch.build_rows != nullptr, "the join below numbers its build rows");
  const Selection& selection = *batch.selection;
  const uint32_t* rows = batch.build_rows;
  if (!selection.all()) {
    for_numbered(selection, [&](uint32_t k, uint32_t slot) { rows_[k] = batch.build_rows[slot]; });
    rows = rows_.data();
  }
  if (!runs_.find(rows, selection.count)) {
    find_all(rows, selection.count, find_groups, groups);
    return;
  }
  runs_.for_runs([&](uint32_t run, uint32_t begin, uint32_t) { run_rows_[run] = rows[begin]; });
  find_all(run_rows_.data(), runs_.count(), find_groups, run_groups_.data());
  runs_.for_runs([&](uint32_t run, uint32_t begin, uint32_t end) {
    fill_ahead(groups + begin, end - begin, run_groups_[run]);
  });
}

void BuildRowGroups::find_all(const uint32_t* rows, uint32_t count, const FindGroups& find_groups,
                              uint32_t* groups) {
  if (referred_rows_ != nullptr) {
    for (uint32_t k = 0; k < count; ++k) run_rows_[k] = referred_rows_[rows[k]];
    rows = run_rows_.data();
  }
  uint32_t* const known = group_of_row_.data();
  uint32_t unknown = 0;
  for (uint32_t k = 0; k < count; ++k) {
    groups[k] = known[rows[k]];
    unknown += static_cast<uint32_t>(groups[k] == kUnknown);
  }
  if (unknown == 0) return;
  new_rows_.clear();
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t& group = known[rows[k]];
    if (group != kUnknown) continue;
    group = kAsked;
    new_rows_.push_back(rows[k]);
  }
  number_new_rows(find_groups);
  for (uint32_t k = 0; k < count; ++k) groups[k] = known[rows[k]];
}

void BuildRowGroups::number_new_rows(const FindGroups& find_groups) {
  find_groups(new_rows_, new_groups_.data());
  for (size_t i = 0; i < new_rows_.size(); ++i) group_of_row_[new_rows_[i]] = new_groups_[i];
}

const Batch& BuildRowGroups::key_columns(std::span<const uint32_t> rows) {
  select_all(static_cast<uint32_t>(rows.size()), &all_new_);
  for (size_t i = 0; i < key_columns_.size(); ++i) {
    auto& [column, path] = key_columns_[i];
    key_batch_.columns[column] = path.gather(rows.data(), all_new_, &buffers_[i]);
  }
  return key_batch_;
}

}  // namespace diptych::olap
