// The loops of olap/execution over one vector, each against the figure that its header claims.
//
//   build/release/tests/olap_bench --benchmark_filter=Like

#include <random>

#include <benchmark/benchmark.h>

#include "base/civil_day.h"
#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/group/coded_groups.h"
#include "olap/execution/key/dense_keys.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_places.h"
#include "olap/execution/pattern/like_pattern.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/differing_rows.h"
#include "olap/execution/vector/letter_case.h"
#include "tests/olap/bench_rate.h"

namespace diptych::olap::test {
namespace {

// So many of 64 slots, on average.
void BM_SelectBits(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::bernoulli_distribution is_selected(static_cast<double>(state.range(0)) / 64);
  std::vector<uint64_t> bits(size_t{kVectorWords} * 1024);
  for (uint64_t& word : bits) {
    for (uint32_t i = 0; i < 64; ++i) word |= uint64_t{is_selected(random)} << i;
  }
  Selection selection;
  size_t first = 0;
  for (auto _ : state) {
    select_bits(&bits[first], kVectorRows, &selection);
    benchmark::DoNotOptimize(selection.rows);
    first = (first + kVectorWords) % bits.size();
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_SelectBits)->Arg(1)->Arg(2)->Arg(8)->Arg(32);

// Columns of random codes, of so many texts each.
struct CodedColumns {
  CodedColumns(size_t count, uint32_t entry_count, const base::StringRef* entries)
      : codes(count, std::vector<uint32_t>(kVectorRows)), coded(count) {
    std::mt19937_64 random(1);
    for (size_t c = 0; c < count; ++c) {
      for (uint32_t& code : codes[c]) code = static_cast<uint32_t>(random() % entry_count);
      coded[c] = {codes[c].data(), entries, entry_count, 1};
      columns.push_back({.type = PhysicalType::kString, .coded = &coded[c]});
    }
    select_all(kVectorRows, &all);
  }

  std::vector<std::vector<uint32_t>> codes;
  std::vector<TextCodes> coded;
  std::vector<Vector> columns;
  Selection all;
};

// By so many columns of seven texts.
void BM_DifferingRows(benchmark::State& state) {
  const std::vector<base::StringRef> entries(7, base::StringRef("a text"));
  const CodedColumns of(static_cast<size_t>(state.range(0)), 7, entries.data());
  DifferingRows differing;
  std::vector<uint32_t> numbers(kVectorRows);
  for (auto _ : state) {
    benchmark::DoNotOptimize(differing.find(nullptr, 1, of.columns, of.all));
    differing.spread(of.codes[0].data(), numbers.data());
    benchmark::DoNotOptimize(numbers.data());
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_DifferingRows)->Arg(1)->Arg(2);

// By so many columns of 100 texts, whose combinations are known.
void BM_CodedGroups(benchmark::State& state) {
  const CodedColumns of(static_cast<size_t>(state.range(0)), 100, nullptr);
  CodedGroups groups;
  std::vector<uint32_t> numbers(kVectorRows);
  for (auto _ : state) {
    benchmark::DoNotOptimize(groups.find(of.columns, of.all, numbers.data()));
    if (groups.unknown().count != 0) groups.learn(of.codes[0].data(), numbers.data());
    benchmark::DoNotOptimize(numbers.data());
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_CodedGroups)->Arg(1)->Arg(2);

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
    for (uint32_t i = 0; i < kVectorRows; ++i) months[i] = base::CivilDay(days[i]).month;
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
  std::vector<uint32_t> asked(kVectorRows);
  std::vector<uint32_t> numbers(kVectorRows);
  Selection with_key;
  size_t first = 0;
  for (auto _ : state) {
    std::copy_n(&probes[first], kVectorRows, asked.data());
    places.match(asked.data(), selection, &with_key, numbers.data());
    benchmark::DoNotOptimize(numbers.data());
    first = (first + kVectorRows) % probes.size();
  }
  set_rate(state, kVectorRows);
}
BENCHMARK(BM_KeyPlaces)
    ->ArgsProduct({{1 << 10, 1 << 16, 300'000, 1'000'000, 8'000'000}, {1, 3, 60}});

void BM_GatherInt64(benchmark::State& state) {
  const base::DataType types[] = {{base::TypeKind::kBigInt}};
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

}  // namespace
}  // namespace diptych::olap::test
