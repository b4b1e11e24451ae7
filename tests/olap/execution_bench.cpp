// Operators of olap/execution, each against the figure that its header claims. All on one core.
//
//   build/release/tests/olap_bench --benchmark_filter=Scan

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include <benchmark/benchmark.h>

#include "olap/execution/group/merged_groups.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/sort/sort.h"
#include "olap/execution/sort/sorted_rows.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/window/window.h"
#include "olap/table_statistics.h"
#include "tests/olap/bench_rate.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

// A table like CH's order lines: number, item, delivery date, amount.
const std::vector<DataType> kLineTypes = {kIntType, kIntType, kTimestampType, decimal_type(6, 2)};
constexpr uint64_t kLines = 2'000'000;
constexpr uint64_t kItems = 100'000;
constexpr uint64_t kItemsLarge = 1'000'000;

struct Lines {
  TestReplica replica{2};
  base::TableId lines = replica.add_table(kLineTypes);
  base::TableId items = replica.add_table({kIntType, kBigIntType}, {0});
  base::TableId items_large = replica.add_table({kIntType, kBigIntType});
  base::TableId numbers = replica.add_table({kIntType, kBigIntType});
  base::TableId by_order = replica.add_table({kIntType, kBigIntType});  // ten to an order

  Lines() {
    std::mt19937_64 random(1);
    for (uint64_t i = 0; i < kLines; ++i) {
      replica.insert(lines, {number(static_cast<int64_t>(i % 15)),
                             number(static_cast<int64_t>(random() % kItemsLarge)),
                             base::Timestamp{static_cast<int64_t>(random() % 1'000'000)},
                             decimal(static_cast<int64_t>(random() % 999'999), 2)});
    }
    const auto fill = [&](base::TableId id, uint64_t rows) {
      for (uint64_t i = 0; i < rows; ++i) {
        replica.insert(id, {number(static_cast<int64_t>(i)), number(static_cast<int64_t>(i * 7))});
      }
    };
    fill(items, kItems);
    fill(items_large, kItemsLarge);
    fill(numbers, 12);
    for (uint64_t i = 0; i < kLines; ++i) {
      replica.insert(by_order,
                     {number(static_cast<int64_t>(i / 10)), number(static_cast<int64_t>(i % 97))});
    }
    for (uint32_t p = 0; p < 2; ++p) {
      for (uint32_t t = 0; t < 5; ++t) {
        storage::Partition& partition =
            replica.replica().table(base::TableId(t)).partition(base::PartitionId(p));
        for (int quiet = 0; quiet < 2; ++quiet) {
          while (partition.compact() != 0) {
          }
        }
      }
    }
  }
};

Lines& lines_table() {
  static Lines lines;
  return lines;
}

void run_plan(benchmark::State& state, Plan plan, uint64_t rows) {
  const Lines& lines = lines_table();
  Executor executor(placement(1));
  const StopFlag stop{false};
  const Plan* const plans[] = {&plan};
  for (auto _ : state) {
    const auto results = executor.run_batch(plans, lines.replica.replica(), stop);
    DIPTYCH_CHECK(results[0].ok(), "the benchmark's plans run");
    benchmark::DoNotOptimize(results);
  }
  set_rate(state, rows);
}

// select sum(ol_amount) from lines where ol_delivery_d >= ?; the argument is the percentage kept.
void BM_ScanSum(benchmark::State& state) {
  OperatorPtr source = scan(lines_table().lines, kLineTypes);
  const int64_t bound = 1'000'000 - state.range(0) * 10'000;
  source->predicates.push_back(make(ExpressionKind::kGreaterEqual, kBooleanType,
                                    column(2, kTimestampType),
                                    literal(kTimestampType, base::Timestamp{bound})));
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kSum, column(3, kLineTypes[3])));
  run_plan(state, plan_of(aggregate(std::move(source), {}, std::move(sums))), kLines);
}
BENCHMARK(BM_ScanSum)->Arg(1)->Arg(50)->Arg(100)->Unit(benchmark::kMillisecond);

// select ol_number, count(*), sum(ol_amount) from lines group by ol_number
void BM_GroupByInt(benchmark::State& state) {
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(static_cast<uint32_t>(state.range(0)), kIntType));
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  sums.push_back(aggregate_of(AggregateKind::kSum, column(3, kLineTypes[3])));
  OperatorPtr groups =
      aggregate(scan(lines_table().lines, kLineTypes), std::move(keys), std::move(sums));
  std::vector<Aggregate> count;
  count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  run_plan(state, plan_of(aggregate(std::move(groups), {}, std::move(count))), kLines);
}
BENCHMARK(BM_GroupByInt)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// select sum(a) from lines, orders where order = o group by number: each order's lines follow each
// other. The argument is 0: by number; 1: by o and number, a build row's own; 2: by o and -number.
void BM_GroupLinesByOrder(benchmark::State& state) {
  const std::vector<DataType> types = {kIntType, kBigIntType};
  OperatorPtr joined = join(JoinKind::kInner, scan(lines_table().by_order, types),
                            scan(lines_table().items_large, types), {{0, 0}});
  joined->estimated_rows = kLines;
  std::vector<ExpressionPtr> keys;
  if (state.range(0) != 0) keys.push_back(column(2, kIntType));
  ExpressionPtr number = column(3, kBigIntType);
  keys.push_back(state.range(0) == 2 ? make(ExpressionKind::kNegate, kBigIntType, std::move(number))
                                     : std::move(number));
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kSum, column(1, kBigIntType)));
  run_plan(state, plan_of(aggregate(std::move(joined), std::move(keys), std::move(sums))), kLines);
}
BENCHMARK(BM_GroupLinesByOrder)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

// So many star queries in a pass: the lines of items below a number, summed; with `keys`, grouped.
void run_stars(benchmark::State& state, const std::function<std::vector<ExpressionPtr>()>& keys) {
  const Lines& lines = lines_table();
  std::vector<Plan> plans;
  for (int64_t i = 0; i < state.range(0); ++i) {
    OperatorPtr fact = scan(lines.lines, kLineTypes);
    OperatorPtr items = scan(lines.items, {kIntType, kBigIntType});
    items->predicates.push_back(make(ExpressionKind::kLess, kBooleanType, column(0, kIntType),
                                     literal(kIntType, number(1000 + i))));
    std::vector<Aggregate> sums;
    sums.push_back(aggregate_of(AggregateKind::kSum, column(3, kLineTypes[3])));
    plans.push_back(
        plan_of(aggregate(join(JoinKind::kInner, std::move(fact), std::move(items), {{1, 0}}),
                          keys(), std::move(sums))));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  Executor executor(placement(1));
  const StopFlag stop{false};
  for (auto _ : state) {
    const auto results = executor.run_batch(batch, lines.replica.replica(), stop);
    DIPTYCH_CHECK(results[0].ok(), "the benchmark's plans run");
    benchmark::DoNotOptimize(results);
  }
  set_rate(state, kLines);
}

// select sum(amount) from lines, items where item = i and date >= ? and number of the item < ?: so
// many of them at once.
void BM_StarBatch(benchmark::State& state) {
  run_stars(state, [] { return std::vector<ExpressionPtr>(); });
}
BENCHMARK(BM_StarBatch)->Arg(1)->Arg(2)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

// The same by item number, of which the items have 100: so many queries with one GROUP BY.
void BM_StarGroups(benchmark::State& state) {
  run_stars(state, [] {
    std::vector<ExpressionPtr> keys;
    keys.push_back(make(ExpressionKind::kModulo, kBigIntType,
                        column(static_cast<uint32_t>(kLineTypes.size()) + 1, kBigIntType),
                        literal(kBigIntType, number(100))));
    return keys;
  });
}
BENCHMARK(BM_StarGroups)->Arg(1)->Arg(2)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

// The planner's sample of the lines: drawn, and what a column's first use costs.
TableSample drawn_lines() {
  storage::Table& table = lines_table().replica.replica().table(lines_table().lines);
  TableSample sample(table.schema());
  sample.refresh(&table, TableSample::Changes(table.partition_count()),
                 std::vector<bool>(table.schema().columns.size(), true));
  return sample;
}
void BM_DrawTable(benchmark::State& state) {
  lines_table();  // filled before anything is measured
  for (auto _ : state) benchmark::DoNotOptimize(drawn_lines());
}
BENCHMARK(BM_DrawTable)->Unit(benchmark::kMicrosecond);

// Sorted anew, and with so many changes since.
void BM_SummarizeColumn(benchmark::State& state) {
  const auto column = base::ColumnId(static_cast<uint16_t>(state.range(0)));
  const std::vector<double> numbers = drawn_lines().sample(column)->numbers();
  SampledValuesPtr values(new SampledValues(numbers));
  std::vector<SampledColumn::Change> changes;
  for (uint32_t i = 0; i < state.range(1); ++i) changes.push_back({i * 7, numbers[i]});
  for (auto _ : state) {
    if (changes.empty()) values.reset(new SampledValues(numbers));
    const SampledColumn sample(values, changes, nullptr, SampledColumn::Extent::kSome, 1'000'000);
    benchmark::DoNotOptimize(sample.summary());
  }
}
BENCHMARK(BM_SummarizeColumn)->ArgsProduct({{0, 2, 3}, {0, 500}})->Unit(benchmark::kMicrosecond);

void probe(benchmark::State& state, base::TableId build, uint32_t key) {
  OperatorPtr joined = join(JoinKind::kInner, scan(lines_table().lines, kLineTypes),
                            scan(build, {kIntType, kBigIntType}), {{key, 0}});
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kSum, column(5, kBigIntType)));
  run_plan(state, plan_of(aggregate(std::move(joined), {}, std::move(sums))), kLines);
}
void BM_ProbeSmall(benchmark::State& state) {
  probe(state, lines_table().numbers, 0);
}
void BM_ProbeItems(benchmark::State& state) {
  probe(state, lines_table().items, 1);
}
void BM_ProbeLarge(benchmark::State& state) {
  probe(state, lines_table().items_large, 1);
}
BENCHMARK(BM_ProbeSmall)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ProbeItems)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ProbeLarge)->Unit(benchmark::kMillisecond);

// select sum(number) from lines, items where item = i and amount < ?, the condition behind the
// join; the arguments are the percentage kept, and whether the sum's column is late.
void BM_LateColumns(benchmark::State& state) {
  OperatorPtr joined = join(JoinKind::kInner, scan(lines_table().lines, kLineTypes),
                            scan(lines_table().items_large, {kIntType, kBigIntType}), {{1, 0}});
  joined->estimated_rows = kLines;
  OperatorPtr kept =
      filter(std::move(joined), make(ExpressionKind::kLess, kBooleanType, column(3, kLineTypes[3]),
                                     literal(kLineTypes[3], decimal(state.range(0) * 10'000, 2))));
  kept->estimated_rows = state.range(1) == 0 ? kLines : 0;
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kSum, column(5, kBigIntType)));
  run_plan(state, plan_of(aggregate(std::move(kept), {}, std::move(sums))), kLines);
}
BENCHMARK(BM_LateColumns)->ArgsProduct({{2, 25, 50, 100}, {0, 1}})->Unit(benchmark::kMillisecond);

void BM_Sort(benchmark::State& state) {
  OperatorPtr sort = over(OperatorKind::kSort, scan(lines_table().lines, kLineTypes), kLineTypes);
  sort->sort_keys = {{2, true, false}, {1, false, false}};
  sort->limit = static_cast<uint64_t>(state.range(0));
  std::vector<Aggregate> count;
  count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  run_plan(state, plan_of(aggregate(std::move(sort), {}, std::move(count))), kLines);
}
BENCHMARK(BM_Sort)->Arg(10)->Arg(kLines)->Unit(benchmark::kMillisecond);

// A million numbers of so many values, by so many workers.
void BM_SortedRows(benchmark::State& state) {
  const DataType types[] = {kBigIntType};
  ColumnStore store(types);
  VectorBuffer values(PhysicalType::kInt64);
  Selection selection;
  select_all(kVectorRows, &selection);
  std::mt19937_64 random(1);
  while (store.row_count() < 1 << 20) {
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      values.values<int64_t>()[i] =
          static_cast<int64_t>(random() % static_cast<uint64_t>(state.range(0)));
    }
    const Vector vectors[] = {values.view()};
    store.append(vectors, selection);
  }
  const StopFlag never{false};
  const StopSignal stop(&never);
  ExecutionArena arena(placement(static_cast<uint32_t>(state.range(1))));
  const Workers workers(&arena, stop);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sorted_rows(store, {{0, false, false}}, kNoLimit, workers));
  }
  set_rate(state, store.row_count());
}
BENCHMARK(BM_SortedRows)
    ->ArgsProduct({{1, 1000, 1 << 30}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Sums over a frame of so many rows to either side, in partitions of so many.
void BM_WindowFrame(benchmark::State& state) {
  constexpr uint32_t kRows = 1 << 20;
  const DataType types[] = {kBigIntType};
  ColumnStore store(types);
  VectorBuffer values(PhysicalType::kInt64);
  Selection selection;
  select_all(kVectorRows, &selection);
  while (store.row_count() < kRows) {
    const Vector vectors[] = {values.view()};
    store.append(vectors, selection);
  }
  const StopFlag never{false};
  const StopSignal stop(&never);
  WindowOrder order;
  order.rows = &store;
  order.stop = &stop;
  const auto side = static_cast<uint64_t>(state.range(0));
  const auto partition = static_cast<uint32_t>(state.range(1));
  WindowFunction sum{.kind = WindowKind::kAggregate,
                     .aggregate = AggregateKind::kSum,
                     .arguments = {0},
                     .type = kBigIntType};
  sum.frame = {FrameMode::kRows, FrameBound::kPreceding, FrameBound::kFollowing, side, side};
  WindowResults results(PhysicalType::kInt64, kRows, stop);
  for (auto _ : state) {
    for (uint32_t first = 0; first < kRows; first += partition) {
      const PositionRange rows = {first, std::min(kRows, first + partition)};
      compute_window_aggregate(order, Operator{}, sum, rows, &results, nullptr);
    }
  }
  set_rate(state, kRows);
}
BENCHMARK(BM_WindowFrame)
    ->ArgsProduct({{2, 3, 100, 5000}, {10, 1000, 1 << 20}})
    ->Unit(benchmark::kMillisecond);

// A million keys of which one in so many is new, into a table by so many workers.
void BM_BuildKeyTable(benchmark::State& state) {
  constexpr size_t kKeys = 1 << 20;
  const PhysicalType types[] = {PhysicalType::kInt64};
  const KeyPacker packer(types, NullKeys::kNever);
  VectorBuffer values(PhysicalType::kInt64);
  Selection selection;
  select_all(kVectorRows, &selection);
  GrowingArray<uint64_t> keys;
  GrowingArray<uint64_t> hashes;
  keys.resize(kKeys);
  hashes.resize(kKeys);
  std::mt19937_64 random(1);
  for (size_t first = 0; first < kKeys; first += kVectorRows) {
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      const auto key = static_cast<int64_t>(random() % kKeys) / state.range(0);
      values.values<int64_t>()[i] = key * int64_t{1'000'003};
    }
    const Vector vectors[] = {values.view()};
    packer.pack(vectors, selection, keys.data() + first, hashes.data() + first);
  }
  const StopFlag never{false};
  const StopSignal stop(&never);
  MemoryBudget memory{MemoryLimits{}};
  ExecutionArena arena(placement(static_cast<uint32_t>(state.range(1))));
  const Workers workers(&arena, stop);
  std::vector<uint32_t> numbers(kKeys);
  for (auto _ : state) {
    KeyTable table(packer, QueryLimits{&memory, &stop}, "keys");
    if (workers.count() == 1) {
      table.reserve(kKeys);
      for (size_t first = 0; first < kKeys; first += kVectorRows) {
        table.find_or_insert(keys.data() + first, hashes.data() + first, kVectorRows,
                             StringLife::kQuery, numbers.data() + first);
      }
    } else {
      GrowingArray<uint64_t> own_keys;
      GrowingArray<uint64_t> own_hashes;
      own_keys.resize(kKeys);
      own_hashes.resize(kKeys);
      workers.run_ranges(kKeys, kVectorRows, [&](RowRange range) {
        std::copy(keys.data() + range.begin, keys.data() + range.end,
                  own_keys.data() + range.begin);
        std::copy(hashes.data() + range.begin, hashes.data() + range.end,
                  own_hashes.data() + range.begin);
      });
      table.build(std::move(own_keys), std::move(own_hashes), workers, numbers.data());
    }
    benchmark::DoNotOptimize(table.size());
  }
  set_rate(state, kKeys);
}
BENCHMARK(BM_BuildKeyTable)
    ->ArgsProduct({{1, 20}, {1, 2, 4}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// So many parts of 300,000 groups in all, with or without keys in common: merged by the caller (0)
// or by as many workers.
void BM_MergeGroups(benchmark::State& state) {
  const auto part_count = static_cast<uint32_t>(state.range(0));
  const bool common = state.range(1) != 0;
  const uint32_t part_groups = 300'000 / part_count;
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(0, kBigIntType));
  std::vector<Aggregate> aggregates;
  aggregates.push_back(aggregate_of(AggregateKind::kSum, column(0, kBigIntType)));
  aggregates.push_back(aggregate_of(AggregateKind::kCountDistinct, column(0, kBigIntType)));
  const OperatorPtr op =
      aggregate(scan(base::TableId(0), {kBigIntType}), std::move(keys), std::move(aggregates));
  const StopFlag never{false};
  const StopSignal stop(&never);
  ExecutionArena arena(placement(part_count));
  const Workers workers = state.range(2) == 0 ? Workers(stop) : Workers(&arena, stop);
  MemoryBudget memory{MemoryLimits{}};
  VectorBuffer values(PhysicalType::kInt64);
  Selection selection;
  select_all(kVectorRows, &selection);
  for (auto _ : state) {
    state.PauseTiming();
    MergedGroups::Tables parts;
    for (uint32_t part = 0; part < part_count; ++part) {
      parts.push_back(std::make_unique<GroupTable>(*op, QueryLimits{&memory, &stop}));
      for (uint32_t first = 0; first < part_groups; first += kVectorRows) {
        for (uint32_t i = 0; i < kVectorRows; ++i) {
          values.values<int64_t>()[i] = (common ? 0 : part * int64_t{1'000'000}) + first + i;
        }
        Batch batch;
        batch.selection = &selection;
        batch.columns.push_back(values.view());
        parts.back()->update(batch);
      }
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(MergedGroups(*op, std::move(parts), &memory, workers).morsels());
  }
  set_rate(state, uint64_t{part_groups} * part_count);
}
BENCHMARK(BM_MergeGroups)
    ->ArgsProduct({{2, 4, 8}, {0, 1}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace diptych::olap::test
