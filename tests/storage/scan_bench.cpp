// What a scan of one column costs, in hot pages and in blocks, per row; and what
// compaction, melting and thawing cost.

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "storage/partition_store.h"
#include "storage/table.h"
#include "tests/storage/one_row.h"
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

// Numbers that ascend, are of a few bits or of any; texts of all letters and of a thousand names.
void fill(Partition* partition, const base::RowLayout& layout) {
  constexpr uint64_t kBounds[] = {0, 10, 100'000, 256, 1'000'000'000, 3'000, 1, 50};
  test::RandomRows rows(layout, 1);
  test::RecordRow record(layout);
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back(rows.text(6 + rows.below(12)));
  for (uint32_t i = 0; i < kRows; ++i) {
    std::vector<base::Value> values;
    for (size_t pair = 0; pair < std::size(kBounds); ++pair) {
      const uint64_t number = pair == 0 ? i : rows.below(kBounds[pair]);
      values.emplace_back(static_cast<int64_t>(number));
      values.emplace_back(pair % 2 == 0 ? rows.text(24) : names[rows.below(names.size())]);
    }
    record.encode(test::TestRow(layout, std::move(values)));
    test::insert_row(*partition, base::RowId(i), record.row(), record.strings_base());
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

// A partition all in blocks, and a row to write that is like none of its own.
struct WrittenBlocks {
  WrittenBlocks() : layout(schema), partition(schema), record(layout) {
    fill(&partition, layout);
    partition.compact_all();
    test::RandomRows rows(layout, 2);
    record.encode(rows.row());
  }

  const base::TableSchema schema = wide_schema();
  const base::RowLayout layout;
  Partition partition;
  test::RecordRow record;
};

// The insert that finds no slot, and a worn block: it becomes pages before the row has its place.
void BM_MeltOneBlock(benchmark::State& state) {
  WrittenBlocks blocks;
  Partition& partition = blocks.partition;
  constexpr uint32_t kFreed = kBlockRowsDefault / PartitionStore::kWornShare;
  const auto insert = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      test::insert_row(partition, base::RowId(kRows + i), blocks.record.row(),
                       blocks.record.strings_base());
    }
  };
  uint32_t block = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (uint32_t i = 0; i < kFreed; ++i) partition.erase(block * kBlockRowsDefault + 4 * i);
    ++block;
    state.ResumeTiming();
    insert(1);
    state.PauseTiming();
    insert(kFreed - 1);
    state.ResumeTiming();
  }
  state.counters["melted"] = static_cast<double>(partition.figures().blocks_melted);
}

// The update whose value its column's form cannot take: of a number, of a text.
void BM_ThawOneColumn(benchmark::State& state) {
  WrittenBlocks blocks;
  const base::ColumnId column(static_cast<uint16_t>(state.range(0)));
  uint32_t block = 0;
  for (auto _ : state) {
    test::update_cell(blocks.partition, block++ * kBlockRowsDefault, column,
                      blocks.record.cell(column), blocks.record.strings_base());
  }
  state.counters["thawed"] = static_cast<double>(blocks.partition.figures().columns_thawed);
}

BENCHMARK(BM_ScanHotPages);
BENCHMARK(BM_ScanBlocks);
constexpr int kBlocks = kRows / kBlockRowsDefault;
BENCHMARK(BM_CompactOneBlock)->Iterations(kBlocks)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_MeltOneBlock)->Iterations(kBlocks)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ThawOneColumn)->Arg(0)->Arg(15)->Iterations(kBlocks)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace diptych::storage
