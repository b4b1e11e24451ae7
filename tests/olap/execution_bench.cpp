// The hot loops of olap/execution, each against the figure that its header claims. All on one core.
//
//   build/release/tests/olap_bench --benchmark_filter=Scan

#include <functional>
#include <numeric>
#include <random>

#include <benchmark/benchmark.h>

#include "olap/execution/arithmetic_kernels.h"
#include "olap/execution/ascii_case.h"
#include "olap/execution/civil_day.h"
#include "olap/execution/column_store.h"
#include "olap/execution/comparison_kernels.h"
#include "olap/execution/dense_keys.h"
#include "olap/execution/key_packer.h"
#include "olap/execution/key_places.h"
#include "olap/execution/key_table.h"
#include "olap/execution/like_pattern.h"
#include "olap/execution/merged_groups.h"
#include "olap/execution/sort.h"
#include "olap/execution/sorted_rows.h"
#include "olap/table_statistics.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

void set_rate(benchmark::State& state, uint64_t rows) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * rows));
  state.counters["ns_per_row"] = benchmark::Counter(
      static_cast<double>(rows) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_SelectBits(benchmark::State& state) {
  uint64_t bits[kVectorWords];
  std::mt19937_64 random(1);
  for (uint64_t& word : bits) word = random();
  Selection selection;
  for (auto _ : state) {
    select_bits(bits, kVectorRows, &selection);
    benchmark::DoNotOptimize(selection.rows);
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_SelectBits);

template <class T>
void compare(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<T> a(kVectorRows);
  for (T& value : a) value = static_cast<T>(random());
  const T b = 0;
  Selection selection;
  select_all(kVectorRows, &selection);
  uint64_t bits[kVectorWords];
  for (auto _ : state) {
    compare_values<LessComparison, true>(a.data(), &b, selection, nullptr, bits);
    benchmark::DoNotOptimize(bits);
  }
  set_rate(state, kVectorRows);
}
void BM_CompareInt32(benchmark::State& state) {
  compare<int32_t>(state);
}
void BM_CompareInt64(benchmark::State& state) {
  compare<int64_t>(state);
}
BENCHMARK(BM_CompareInt32);
BENCHMARK(BM_CompareInt64);

template <class Operation, class Outcome, class Operand = int64_t>
void arithmetic(benchmark::State& state, Operand end = 1'000'000) {
  std::mt19937_64 random(1);
  std::vector<Operand> a(kVectorRows);
  for (Operand& value : a) value = static_cast<Operand>(random() % end + 1);
  std::vector<Outcome> results(kVectorRows);
  Selection selection;
  select_all(kVectorRows, &selection);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        apply_operation<Operation>(a.data(), a.data(), results.data(), selection));
    benchmark::DoNotOptimize(results.data());
  }
  set_rate(state, kVectorRows);
}
void BM_AddInt64(benchmark::State& state) {
  arithmetic<AddOperation, int64_t>(state);
}
void BM_MultiplyDecimal(benchmark::State& state) {
  arithmetic<MultiplyOperation, int128_t>(state);
}
void BM_MultiplyInt64(benchmark::State& state) {
  arithmetic<MultiplyOperation, int64_t>(state);
}
void BM_ModuloInt64(benchmark::State& state) {
  arithmetic<ModuloOperation, int64_t>(state);
}
void BM_AddInt32(benchmark::State& state) {
  arithmetic<AddOperation, int32_t, int32_t>(state);
}
void BM_MultiplyInt32(benchmark::State& state) {
  arithmetic<MultiplyOperation, int32_t, int32_t>(state, 40'000);
}
void BM_ModuloInt32(benchmark::State& state) {
  arithmetic<ModuloOperation, int32_t, int32_t>(state);
}
BENCHMARK(BM_AddInt32);
BENCHMARK(BM_AddInt64);
BENCHMARK(BM_MultiplyDecimal);
BENCHMARK(BM_MultiplyInt32);
BENCHMARK(BM_MultiplyInt64);
BENCHMARK(BM_ModuloInt32);
BENCHMARK(BM_ModuloInt64);

void BM_Like(benchmark::State& state) {
  const char* const patterns[] = {"pr%", "%ORIGINAL%", "a_c%x%", "%in%7", "%in%n%"};
  const LikePattern pattern = *LikePattern::compile(patterns[state.range(0)]);
  std::mt19937_64 random(1);
  std::vector<std::string> texts(kVectorRows);
  for (std::string& text : texts) {
    text.resize(26 + random() % 25);
    for (char& c : text) c = static_cast<char>('a' + random() % 26);
  }
  for (auto _ : state) {
    uint32_t matches = 0;
    for (const std::string& text : texts) matches += pattern.matches(text) ? 1 : 0;
    benchmark::DoNotOptimize(matches);
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_Like)->DenseRange(0, 4);

void BM_LetterCase(benchmark::State& state) {
  const std::string text(static_cast<size_t>(state.range(0)), 'M');
  std::string lower = text;
  for (auto _ : state) {
    copy_with_case<LetterCase::kLower>(text.data(), text.size(), lower.data());
    benchmark::DoNotOptimize(lower.data());
    benchmark::ClobberMemory();
  }
  set_rate(state, 1);
}
BENCHMARK(BM_LetterCase)->Arg(7)->Arg(25)->Arg(500);

void BM_CivilDay(benchmark::State& state) {
  std::vector<int32_t> days(kVectorRows);
  std::vector<int64_t> months(kVectorRows);
  std::iota(days.begin(), days.end(), 8035);
  for (auto _ : state) {
    for (uint32_t i = 0; i < kVectorRows; ++i) months[i] = CivilDay(days[i]).month;
    benchmark::DoNotOptimize(months.data());
    benchmark::ClobberMemory();
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_CivilDay);

void BM_PackKeys(benchmark::State& state) {
  const std::vector<PhysicalType> types(static_cast<size_t>(state.range(0)), PhysicalType::kInt32);
  const KeyPacker packer(types, NullKeys::kNever);
  VectorBuffer values(PhysicalType::kInt32);
  const std::vector<Vector> columns(types.size(), values.view());
  Selection selection;
  select_all(kVectorRows, &selection);
  std::vector<uint64_t> keys(kVectorRows * packer.words());
  std::vector<uint64_t> hashes(kVectorRows);
  for (auto _ : state) {
    packer.pack(columns, selection, keys.data(), hashes.data());
    benchmark::DoNotOptimize(hashes.data());
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_PackKeys)->DenseRange(1, 3);

void BM_DenseKeys(benchmark::State& state) {
  const auto columns = static_cast<size_t>(state.range(0));
  const std::vector<ValueBounds> bounds(columns, {0, 99});
  const DenseKeys keys = *DenseKeys::make(bounds, 1'000'000);
  VectorBuffer values(PhysicalType::kInt32);
  const std::vector<Vector> vectors(columns, values.view());
  Selection selection;
  select_all(kVectorRows, &selection);
  std::vector<uint32_t> numbers(kVectorRows);
  for (auto _ : state) {
    keys.number(vectors, selection, numbers.data());
    benchmark::DoNotOptimize(numbers.data());
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_DenseKeys)->DenseRange(1, 3);

// A vector's places among so many, of which one of so many is taken.
void BM_KeyPlaces(benchmark::State& state) {
  const auto size = static_cast<uint32_t>(state.range(0));
  std::mt19937_64 random(1);
  GrowingArray<uint32_t> rows;
  for (uint32_t place = 0; place < size; ++place) {
    if (random() % static_cast<uint64_t>(state.range(1)) == 0) rows.push_back(place);
  }
  const StopFlag never{false};
  KeyPlaces places;
  places.build(size, &rows, StopSignal(&never));
  std::vector<uint32_t> probes(size_t{1} << 20);
  for (uint32_t& place : probes) place = static_cast<uint32_t>(random() % size);
  Selection selection;
  select_all(kVectorRows, &selection);
  std::vector<uint32_t> numbers(kVectorRows);
  uint64_t matched[kVectorWords];
  size_t first = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(places.match(&probes[first], selection, numbers.data(), matched));
    first = (first + kVectorRows) % probes.size();
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_KeyPlaces)
    ->ArgsProduct({{1 << 10, 1 << 16, 300'000, 1'000'000, 8'000'000}, {1, 3, 60}});

void BM_GatherInt64(benchmark::State& state) {
  const DataType types[] = {kBigIntType};
  ColumnStore store(types);
  VectorBuffer values(PhysicalType::kInt64);
  Selection selection;
  select_all(kVectorRows, &selection);
  const Vector vectors[] = {values.view()};
  const auto rows = static_cast<uint64_t>(state.range(0));
  while (store.row_count() < rows) store.append(vectors, selection);
  std::mt19937_64 random(1);
  std::vector<uint32_t> numbers(kVectorRows);
  for (uint32_t& n : numbers) n = static_cast<uint32_t>(random() % rows);
  for (auto _ : state) {
    benchmark::DoNotOptimize(store.gather(0, numbers.data(), selection, &values));
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_GatherInt64)->Arg(1 << 14)->Arg(1 << 22);

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
    for (uint32_t p = 0; p < 2; ++p) {
      for (uint32_t t = 0; t < 4; ++t) {
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
  ExecutionArena arena(placement(static_cast<uint32_t>(state.range(1))));
  const Workers workers(&arena, stop);
  std::vector<uint32_t> numbers(kKeys);
  for (auto _ : state) {
    KeyTable table(packer);
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
