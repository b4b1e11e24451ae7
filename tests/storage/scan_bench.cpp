// What a scan of one column costs, in hot pages and in blocks, per row; and what compaction costs.

#include <benchmark/benchmark.h>

#include "storage/table.h"
#include "tests/storage/record_rows.h"

namespace diptych::storage {
namespace {

constexpr uint32_t kRows = 16 * kBlockRowsDefault;

base::TableSchema wide_schema() {
  base::TableSchema schema;
  schema.name = "wide";
  for (int i = 0; i < 8; ++i) {
    schema.columns.push_back(
        {"i" + std::to_string(i), {base::TypeKind::kInt}, base::Nullability::kNotNull});
    schema.columns.push_back({"s" + std::to_string(i),
                              {base::TypeKind::kVarchar, 0, 0, 24},
                              base::Nullability::kNotNull});
  }
  return schema;
}

void fill(Partition* partition, const base::RowLayout& layout) {
  test::RandomRows rows(layout, 1);
  test::RecordRow record(layout);
  record.encode(rows.row());
  for (uint32_t i = 0; i < kRows; ++i) {
    partition->insert(base::RowId(i), record.row(), record.strings_base());
  }
}

int64_t sum_column(const Partition& partition, base::ColumnId column) {
  DecodeBuffer buffer;
  int64_t sum = 0;
  for (size_t l = 0; l < partition.leaf_count(); ++l) {
    const Leaf& leaf = partition.leaf(l);
    const base::Result<PinnedColumn> pinned = leaf.pin(column);
    for (uint32_t first = 0; first < leaf.row_slots(); first += kVectorRows) {
      const uint32_t count = std::min(kVectorRows, leaf.row_slots() - first);
      const auto* const values = pinned->view(first, count, &buffer).as<int32_t>();
      for (uint32_t i = 0; i < count; ++i) sum += values[i];
    }
  }
  return sum;
}

void scan(benchmark::State& state, bool compacted) {
  const base::TableSchema schema = wide_schema();
  const base::RowLayout layout(schema);
  Partition partition(schema);
  fill(&partition, layout);
  if (compacted) {
    for (uint32_t i = 0; i <= kRows / kBlockRowsDefault; ++i) partition.compact();
  }
  for (auto _ : state) benchmark::DoNotOptimize(sum_column(partition, base::ColumnId(0)));
  state.SetItemsProcessed(state.iterations() * kRows);
  state.counters["leaves"] = static_cast<double>(partition.leaf_count());
}

void BM_ScanHotPages(benchmark::State& state) {
  scan(state, false);
}
void BM_ScanBlocks(benchmark::State& state) {
  scan(state, true);
}

void BM_CompactOneBlock(benchmark::State& state) {
  const base::TableSchema schema = wide_schema();
  const base::RowLayout layout(schema);
  Partition partition(schema);
  fill(&partition, layout);
  partition.compact();  // the inserts made every range busy
  size_t bytes = 0;
  for (auto _ : state) bytes += partition.compact();
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

BENCHMARK(BM_ScanHotPages);
BENCHMARK(BM_ScanBlocks);
BENCHMARK(BM_CompactOneBlock)->Iterations(kRows / kBlockRowsDefault)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace diptych::storage
