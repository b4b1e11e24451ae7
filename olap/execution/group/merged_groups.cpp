#include "olap/execution/group/merged_groups.h"

#include <algorithm>

#include "base/check.h"

namespace diptych::olap {

namespace {

constexpr uint64_t kMergeRowsAPartition = 8 * 1024;
// Of two workers' groups one merges half, the second worker's; of partitioned groups each would.
// Values that are kept beside groups are worth it also then: a partition's have room made for all
// of them at once, and lie in tables of half the size.
constexpr uint32_t kPartitioningWorkersMin = 3;
constexpr uint64_t kMergeRowsAGroupMin = 4;
// Partitions are of about equal size where each has some groups.
constexpr uint64_t kGroupsAPartitionMin = 16;

}  // namespace

MergedGroups::MergedGroups(const Operator& aggregate, Tables parts, MemoryBudget* memory,
                           const Workers& workers) {
  DIPTYCH_CHECK(!parts.empty(), "there is a table, if only an empty one");
  for (const std::vector<ExpressionPtr>& keys : aggregate.standing_groups) {
    parts[0]->add_group(keys);
  }
  const uint32_t partitions = partitions_for(parts, workers);
  if (partitions > 1) {
    merge_partitions(aggregate, partitions, parts, memory, workers);
  } else {
    tables_.push_back(std::move(parts[0]));
    parts.erase(parts.begin());
    for (const auto& part : parts) tables_[0]->merge(*part, 0, workers);
    tables_[0]->finish(workers);
  }
  for (auto& part : parts) {
    part_texts_.absorb(part->take_texts());
    part.reset();
  }
  first_morsels_.push_back(0);
  for (const auto& table : tables_) {
    first_morsels_.push_back(first_morsels_.back() +
                             (uint64_t{table->groups()} + kVectorRows - 1) / kVectorRows);
  }
}

uint32_t MergedGroups::partitions_for(const Tables& parts, const Workers& workers) {
  if (parts.size() < 2) return 1;
  uint64_t rows = 0;
  uint64_t groups = 0;  // there are at least
  for (const auto& part : parts) {
    rows += part->merge_rows();
    groups = std::max<uint64_t>(groups, part->groups());
  }
  if (parts.size() < kPartitioningWorkersMin && rows < kMergeRowsAGroupMin * groups) return 1;
  const uint64_t partitions_max =
      std::clamp<uint64_t>(groups / kGroupsAPartitionMin, 1, GroupSplit::kPartitionsMax);
  return static_cast<uint32_t>(
      std::min<uint64_t>(workers.count_for(rows, kMergeRowsAPartition), partitions_max));
}

void MergedGroups::merge_partitions(const Operator& aggregate, uint32_t partitions,
                                    const Tables& parts, MemoryBudget* memory,
                                    const Workers& workers) {
  workers.run(static_cast<uint32_t>(parts.size()),
              [&](uint32_t i) { parts[i]->split(partitions, workers.stop()); });
  tables_.resize(partitions);
  workers.run(partitions, [&](uint32_t p) {
    tables_[p] = std::make_unique<GroupTable>(aggregate, QueryLimits{memory, &workers.stop()});
    if (parts[0]->is_keyed_by_build_row()) tables_[p]->key_by_build_row(0);
    const Workers alone(workers.stop());
    for (const auto& part : parts) tables_[p]->merge(*part, p, alone);
    tables_[p]->finish(alone);
  });
}

uint32_t MergedGroups::read(uint64_t morsel, std::vector<VectorBuffer>* buffers,
                            std::vector<Vector>* columns) const {
  const auto after = std::upper_bound(first_morsels_.begin(), first_morsels_.end(), morsel);
  const auto table = static_cast<size_t>(after - first_morsels_.begin()) - 1;
  const auto first = static_cast<uint32_t>((morsel - first_morsels_[table]) * kVectorRows);
  const uint32_t count = std::min(kVectorRows, tables_[table]->groups() - first);
  tables_[table]->read(first, count, buffers, columns);
  return count;
}

QueryHeap MergedGroups::take_texts() {
  QueryHeap texts;
  for (const auto& table : tables_) texts.absorb(table->take_texts());
  return texts;
}

GroupSource::GroupSource(const Operator& aggregate, const MergedGroups& groups, StagePtr next)
    : groups_(groups), next_(std::move(next)) {
  DIPTYCH_CHECK(
      aggregate.output.size() == aggregate.expressions.size() + aggregate.aggregates.size(),
      "an aggregate's output is its keys, then its aggregates");
  for (size_t c = 0; c < aggregate.output.size(); ++c) {
    const bool numbers = groups.are_keyed_by_build_row() && c < aggregate.expressions.size();
    buffers_.emplace_back(numbers ? PhysicalType::kInt32 : physical_type(aggregate.output[c]));
  }
  batch_.columns.resize(buffers_.size());
  batch_.selection = &selection_;
}

bool GroupSource::run(uint64_t morsel) {
  select_all(groups_.read(morsel, &buffers_, &batch_.columns), &selection_);
  return next_->push(batch_);
}

}  // namespace diptych::olap
