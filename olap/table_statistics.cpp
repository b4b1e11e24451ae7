#include "olap/table_statistics.h"

#include <algorithm>
#include <optional>

namespace diptych::olap {

namespace {

// A sample is drawn again once one in so many values has changed, but not more often than that.
constexpr uint64_t kSampleChangeShare = 8;
constexpr uint64_t kSampleIntervalNs = 1'000'000'000;
// A look at a leaf's summary is worth so many changes, at this many leaves it is worth none.
constexpr uint64_t kChangesALeaf = 16;
constexpr uint64_t kFreeLeaves = 64;

using Look = TableStatistics::Look;

bool has_bounds(const base::DataType& type) {
  return !type.is_string() && type.kind != base::TypeKind::kBoolean;
}

void widen(const storage::ColumnSummary& summary, bool is_double, ColumnBounds* bounds) {
  const double min = is_double ? summary.min_double : static_cast<double>(summary.min);
  const double max = is_double ? summary.max_double : static_cast<double>(summary.max);
  if (min > max) return;  // no value at all
  bounds->min = bounds->known ? std::min(bounds->min, min) : min;
  bounds->max = bounds->known ? std::max(bounds->max, max) : max;
  bounds->known = true;
}

size_t leaf_count(const storage::Table& table) {
  size_t count = 0;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    count += table.partition(base::PartitionId(p)).leaf_count();
  }
  return count;
}

bool is_old(const Look& look, uint64_t changes, uint64_t now_ns) {
  const uint64_t more = changes - look.changes;
  if (!look.was_taken || more > look.rows) return true;
  return more > look.rows / kSampleChangeShare && now_ns - look.at_ns >= kSampleIntervalNs;
}

void refresh_samples(const storage::Table& table, uint64_t now_ns, TableStatistics* statistics) {
  statistics->lacks_samples = false;
  if (statistics->rows == 0) return;
  std::optional<SampledRows> rows;
  for (size_t c = 0; c < statistics->samples.size(); ++c) {
    const base::ColumnId column(static_cast<uint16_t>(c));
    Look& look = statistics->sample_looks[c];
    const uint64_t changes = table.changes(column);
    if (!is_old(look, changes, now_ns)) continue;
    if (!rows.has_value()) rows.emplace(table);
    auto sample = rows->sample(column);
    if (sample.has_value()) {
      statistics->samples[c].reset(new const ColumnSample(*std::move(sample)));
      look = {true, changes, statistics->rows, now_ns};
    } else {
      statistics->lacks_samples = true;  // an old one is better than none
    }
  }
}

void refresh_bounds(const storage::Table& table, const base::TableSchema& schema,
                    TableStatistics* statistics) {
  const size_t leaves = leaf_count(table);
  std::vector<uint16_t> due;
  for (uint16_t c = 0; c < schema.columns.size(); ++c) {
    if (!has_bounds(schema.columns[c].type)) continue;
    Look& look = statistics->bounds_looks[c];
    const uint64_t changes = table.changes(base::ColumnId(c));
    const uint64_t more = changes - look.changes;
    if (look.was_taken && (more == 0 || more / kChangesALeaf + kFreeLeaves < leaves)) continue;
    look = {.was_taken = true, .changes = changes};
    statistics->columns[c] = {};
    due.push_back(c);
  }
  if (due.empty()) return;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      for (const uint16_t c : due) {
        const auto summary = leaf.summary(base::ColumnId(c));
        if (!summary.known) continue;
        const bool is_double = schema.columns[c].type.kind == base::TypeKind::kDouble;
        widen(summary, is_double, &statistics->columns[c]);
      }
    }
  }
}

}  // namespace

void refresh_statistics(const storage::Table& table, const base::TableSchema& schema,
                        uint64_t now_ns, TableStatistics* statistics) {
  const size_t columns = schema.columns.size();
  statistics->rows = table.live_rows();
  statistics->columns.resize(columns);
  statistics->samples.resize(columns);
  statistics->bounds_looks.resize(columns);
  statistics->sample_looks.resize(columns);
  refresh_bounds(table, schema, statistics);
  refresh_samples(table, now_ns, statistics);
}

}  // namespace diptych::olap
