#include "olap/execution/join/group_join.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace diptych::olap {

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
