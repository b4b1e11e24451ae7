#include "olap/table_statistics.h"

#include <algorithm>

namespace diptych::olap {

namespace {

constexpr uint64_t kChangeShare = 16;
constexpr uint64_t kSampleChangeShare = 4;

bool has_changed(uint64_t then, uint64_t now, uint64_t share) {
  return std::max(then, now) - std::min(then, now) > then / share;
}

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

void refresh_samples(const storage::Table& table, size_t columns, TableStatistics* statistics) {
  const bool has_grown =
      has_changed(statistics->rows_of_samples, statistics->rows, kSampleChangeShare);
  if (!has_grown && !statistics->lacks_samples) return;
  statistics->samples.resize(columns);
  statistics->lacks_samples = false;
  if (has_grown) statistics->rows_of_samples = statistics->rows;
  if (statistics->rows == 0) return;
  const SampledRows rows(table);
  for (size_t c = 0; c < columns; ++c) {
    if (!has_grown && statistics->samples[c] != nullptr) continue;
    auto sample = rows.sample(base::ColumnId(static_cast<uint16_t>(c)));
    if (sample.has_value()) {
      statistics->samples[c].reset(new const ColumnSample(*std::move(sample)));
    } else {
      statistics->lacks_samples = true;  // an old one is better than none
    }
  }
}

void refresh_bounds(const storage::Table& table, const base::TableSchema& schema,
                    TableStatistics* statistics) {
  const uint64_t then = statistics->rows_of_bounds;
  if (!statistics->columns.empty() && !has_changed(then, statistics->rows, kChangeShare)) return;
  statistics->rows_of_bounds = statistics->rows;
  statistics->columns.assign(schema.columns.size(), {});
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      for (size_t c = 0; c < schema.columns.size(); ++c) {
        const base::DataType& type = schema.columns[c].type;
        if (!has_bounds(type)) continue;
        const auto summary = leaf.summary(base::ColumnId(static_cast<uint16_t>(c)));
        if (!summary.known) continue;
        widen(summary, type.kind == base::TypeKind::kDouble, &statistics->columns[c]);
      }
    }
  }
}

}  // namespace

void refresh_statistics(const storage::Table& table, const base::TableSchema& schema,
                        TableStatistics* statistics) {
  statistics->rows = table.live_rows();
  refresh_bounds(table, schema, statistics);
  refresh_samples(table, schema.columns.size(), statistics);
}

}  // namespace diptych::olap
