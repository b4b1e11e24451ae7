#include "olap/table_statistics.h"

#include <algorithm>
#include <new>
#include <utility>

namespace diptych::olap {

StatisticsKeeper::StatisticsKeeper(storage::Table* table)
    : table_(table),
      bounds_(table->schema()),
      sample_(table->schema()),
      seen_(table->schema().columns.size()) {
  note_all();
}

void StatisticsKeeper::note_all() {
  for (uint32_t p = 0; p < table_->partition_count(); ++p) {
    table_->partition(base::PartitionId(p)).watch().note_all();
  }
}

void StatisticsKeeper::refresh(TableStatistics* statistics) try {
  std::vector<storage::ChangeWatch::Changes> changes;
  for (uint32_t p = 0; p < table_->partition_count(); ++p) {
    changes.push_back(table_->partition(base::PartitionId(p)).watch().take());
  }
  const bool any = std::any_of(changes.begin(), changes.end(),
                               [](const auto& one) { return one.is_all || !one.ranges.empty(); });
  if (!any && !statistics->lacks_samples) return;
  std::vector<bool> changed(seen_.size());
  for (size_t c = 0; c < seen_.size(); ++c) {
    const uint64_t now = table_->changes(base::ColumnId(static_cast<uint16_t>(c)));
    changed[c] = std::exchange(seen_[c], now) != now;
  }
  bounds_.refresh(*table_, changes, changed);
  sample_.refresh(table_, changes, changed);
  statistics->rows = table_->live_rows();
  statistics->columns = bounds_.columns();
  statistics->samples.resize(seen_.size());
  for (size_t c = 0; c < seen_.size(); ++c) {
    statistics->samples[c] = sample_.sample(base::ColumnId(static_cast<uint16_t>(c)));
  }
  statistics->lacks_samples = sample_.lacks_some();
} catch (const std::bad_alloc&) {
  note_all();  // the changes that were taken are half looked at
  throw;
}

}  // namespace diptych::olap
