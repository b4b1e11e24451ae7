// Indexes: look-ups, inserts, scans. Keys are random or, as in TPC-C, ascend in each of 200
// districts: "lines" are (district, order, line), orders of ten lines come to the districts in
// random order. The argument is the number of entries. Beside them standard maps as yardsticks.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "oltp/index.h"

namespace diptych::oltp {
namespace {

using base::RowId;

enum class Kind { kHash, kOrdered };
enum class Keys { kRandom8, kRandom16, kLines8, kLines16 };

constexpr auto kSingle = Concurrency::kSingle;
constexpr auto kShared = Concurrency::kShared;
constexpr uint64_t kDistricts = 200;
constexpr uint64_t kLines = 10;

base::Key random_key(Keys keys, uint64_t number) {
  const uint64_t mixed = number * 0x9e3779b97f4a7c15;
  base::Key key;
  key.append(static_cast<int64_t>(mixed));
  if (keys == Keys::kRandom16) key.append(static_cast<int64_t>(number));
  return key;
}

base::Key line_key(Keys keys, uint64_t district, uint64_t order, uint64_t line) {
  base::Key key;
  if (keys == Keys::kLines8) {
    key.append(static_cast<int64_t>(district << 40 | order << 8 | line));
    return key;
  }
  for (const uint64_t part : {district / 10, district % 10, order, line}) {
    key.append(static_cast<int32_t>(part));
  }
  return key;
}

std::unique_ptr<Index> make(Kind kind, Keys keys, Concurrency concurrency) {
  const bool narrow = keys == Keys::kRandom8 || keys == Keys::kLines8;
  if (kind == Kind::kHash) return make_hash_index(concurrency, base::NumaNode(0));
  return make_ordered_index(narrow ? 8 : 16, concurrency, base::NumaNode(0));
}

std::unique_ptr<Index> filled(Kind kind, Keys keys, Concurrency concurrency, uint64_t entries) {
  auto index = make(kind, keys, concurrency);
  if (keys == Keys::kRandom8 || keys == Keys::kRandom16) {
    for (uint64_t i = 0; i < entries; ++i) {
      index->insert(random_key(keys, i).bytes(), RowId(i), nullptr);
      if (i % 4096 == 0) index->reclaim();  // a batch boundary
    }
    return index;
  }
  const auto verdict = [](RowId) { return KeyVerdict::kTaken; };
  const UniquenessCheck unique(verdict);
  std::mt19937_64 random(1);
  std::vector<uint64_t> orders(kDistricts);
  for (uint64_t i = 0; i < entries;) {
    const uint64_t district = random() % kDistricts;
    const uint64_t order = orders[district]++;
    for (uint64_t line = 0; line < kLines; ++line, ++i) {
      index->insert(line_key(keys, district, order, line).bytes(), RowId(i), &unique);
    }
  }
  return index;
}

// Filled once for all benchmarks that read it.
const Index& filled_once(Kind kind, Keys keys, Concurrency concurrency, uint64_t entries) {
  static std::map<std::tuple<Kind, Keys, Concurrency, uint64_t>, std::unique_ptr<Index>> indexes;
  auto& index = indexes[{kind, keys, concurrency, entries}];
  if (index == nullptr) index = filled(kind, keys, concurrency, entries);
  return *index;
}

base::Key some_key(Keys keys, uint64_t entries, std::mt19937_64* random) {
  if (keys == Keys::kRandom8 || keys == Keys::kRandom16) {
    return random_key(keys, (*random)() % entries);
  }
  const uint64_t district = (*random)() % kDistricts;
  const uint64_t order = (*random)() % (entries / kLines / kDistricts);
  return line_key(keys, district, order, (*random)() % kLines);
}

void look_up(benchmark::State& state, Kind kind, Keys keys, Concurrency concurrency) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  const Index& index = filled_once(kind, keys, concurrency, entries);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key key = some_key(keys, entries, &random);
    const auto visit = [&](RowId row_id) {
      sum += row_id.value;
      return false;
    };
    index.find(key.bytes(), CandidateVisitor(visit));
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

void insert(benchmark::State& state, Kind kind, Keys keys, Concurrency concurrency) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    const auto index = filled(kind, keys, concurrency, entries);
    benchmark::DoNotOptimize(index->memory_bytes());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(entries));
}

// As of neworder: the newest of a district comes, its oldest is found and goes.
void queue(benchmark::State& state) {
  constexpr auto kKeys = Keys::kLines16;
  const auto index = make(Kind::kOrdered, kKeys, kSingle);
  const auto length = static_cast<uint64_t>(state.range(0)) / kDistricts;
  const auto insert_order = [&](uint64_t district, uint64_t order) {
    index->insert(line_key(kKeys, district, order, 0).bytes(), RowId(order), nullptr);
  };
  for (uint64_t district = 0; district < kDistricts; ++district) {
    for (uint64_t order = 0; order < length; ++order) insert_order(district, order);
  }
  std::mt19937_64 random(7);
  std::vector<uint64_t> oldest(kDistricts);
  for (auto _ : state) {
    const uint64_t district = random() % kDistricts;
    const uint64_t order = oldest[district]++;
    insert_order(district, order + length);
    const base::Key lower = line_key(kKeys, district, 0, 0);
    const base::Key upper = line_key(kKeys, district, INT32_MAX, 0);
    IndexCursor cursor(lower.bytes(), upper.bytes(), Direction::kForward);
    index->next_group(&cursor);
    index->erase(line_key(kKeys, district, order, 0).bytes(), cursor.rows[0]);
  }
  state.SetItemsProcessed(state.iterations());
}

// The lines of one order.
void scan_10(benchmark::State& state, Keys keys) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  const Index& index = filled_once(Kind::kOrdered, keys, kSingle, entries);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const uint64_t district = random() % kDistricts;
    const uint64_t order = random() % (entries / kLines / kDistricts);
    const base::Key lower = line_key(keys, district, order, 0);
    const base::Key upper = line_key(keys, district, order + 1, 0);
    IndexCursor cursor(lower.bytes(), upper.bytes(), Direction::kForward);
    for (index.next_group(&cursor); cursor.count != 0; index.next_group(&cursor)) {
      for (size_t i = 0; i < cursor.count; ++i) sum += cursor.rows[i].value;
    }
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

void scan_48(benchmark::State& state) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  const Index& index = filled_once(Kind::kOrdered, Keys::kRandom8, kSingle, entries);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key key = some_key(Keys::kRandom8, entries, &random);
    IndexCursor cursor(key.bytes(), "", Direction::kForward);
    size_t left = 48;
    for (index.next_group(&cursor); cursor.count != 0 && left != 0; index.next_group(&cursor)) {
      for (size_t i = 0; i < cursor.count && left != 0; ++i, --left) sum += cursor.rows[i].value;
    }
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

// A customer's namesakes, as Payment finds them: three in a district of 3,000, in the index of
// district, last and first name. Text: Varchar<16> (padded), or std::string_view, as if longer ones
// could come.
template <class Text>
base::Key name_key(uint64_t district, uint64_t last) {
  static constexpr std::string_view kNames[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  std::string name;
  for (const uint64_t part : {last / 100, last / 10 % 10, last % 10}) name += kNames[part];
  base::Key key;
  key.append(static_cast<int32_t>(district / 10));
  key.append(static_cast<int32_t>(district % 10));
  key.append(Text(std::string_view(name)));
  return key;
}

template <class Text>
void scan_names(benchmark::State& state) {
  constexpr uint64_t kNamesakes = 3;
  constexpr uint64_t kLast = 1000;
  constexpr size_t kKeyBytes = std::is_same_v<Text, std::string_view> ? 8 + 2 * 34 : 8 + 2 * 17;
  const auto districts = static_cast<uint64_t>(state.range(0)) / kLast / kNamesakes;
  const auto index = make_ordered_index(kKeyBytes, kSingle, base::NumaNode(0));
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i < districts * kLast * kNamesakes; ++i) {
    base::Key key = name_key<Text>(i / kLast / kNamesakes, i / kNamesakes % kLast);
    key.append(Text(std::string_view(std::to_string(random() % 10'000'000'000))));
    index->insert(key.bytes(), RowId(i), nullptr);
  }
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key name = name_key<Text>(random() % districts, random() % kLast);
    const base::Key end = name.prefix_end();
    IndexCursor cursor(name.bytes(), end.bytes(), Direction::kForward, UINT64_MAX,
                       CursorKeys::kLast);
    for (index->next_group(&cursor); cursor.count != 0; index->next_group(&cursor)) {
      for (size_t i = 0; i < cursor.count; ++i) sum += cursor.rows[i].value;
    }
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

template <class Map>
void map_look_up(benchmark::State& state) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  Map map;
  for (uint64_t i = 0; i < entries; ++i) map.emplace(random_key(Keys::kRandom16, i).bytes(), i);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key key = some_key(Keys::kRandom16, entries, &random);
    sum += map.find(std::string(key.bytes()))->second;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

void few_and_many(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(3'000'000);
}

BENCHMARK_CAPTURE(look_up, hash, Kind::kHash, Keys::kRandom16, kSingle)->Apply(few_and_many);
BENCHMARK_CAPTURE(look_up, hash_shared, Kind::kHash, Keys::kRandom16, kShared)->Arg(100'000);
BENCHMARK_CAPTURE(look_up, random8, Kind::kOrdered, Keys::kRandom8, kSingle)->Apply(few_and_many);
BENCHMARK_CAPTURE(look_up, random16, Kind::kOrdered, Keys::kRandom16, kSingle)->Apply(few_and_many);
BENCHMARK_CAPTURE(look_up, lines8, Kind::kOrdered, Keys::kLines8, kSingle)->Apply(few_and_many);
BENCHMARK_CAPTURE(look_up, lines16, Kind::kOrdered, Keys::kLines16, kSingle)->Apply(few_and_many);
BENCHMARK_CAPTURE(look_up, shared, Kind::kOrdered, Keys::kRandom8, kShared)->Apply(few_and_many);
BENCHMARK_CAPTURE(insert, hash, Kind::kHash, Keys::kRandom16, kSingle)->Arg(1'000'000);
BENCHMARK_CAPTURE(insert, random8, Kind::kOrdered, Keys::kRandom8, kSingle)->Arg(1'000'000);
BENCHMARK_CAPTURE(insert, lines8, Kind::kOrdered, Keys::kLines8, kSingle)->Arg(1'000'000);
BENCHMARK_CAPTURE(insert, lines16, Kind::kOrdered, Keys::kLines16, kSingle)->Arg(1'000'000);
BENCHMARK_CAPTURE(insert, shared, Kind::kOrdered, Keys::kRandom8, kShared)->Arg(1'000'000);
BENCHMARK(queue)->Arg(180'000);
BENCHMARK_CAPTURE(scan_10, lines8, Keys::kLines8)->Apply(few_and_many);
BENCHMARK_CAPTURE(scan_10, lines16, Keys::kLines16)->Apply(few_and_many);
BENCHMARK(scan_48)->Apply(few_and_many);
BENCHMARK(scan_names<base::Varchar<16>>)->Arg(300'000)->Arg(3'000'000);
BENCHMARK(scan_names<std::string_view>)->Arg(300'000)->Arg(3'000'000);
BENCHMARK(map_look_up<std::unordered_map<std::string, uint64_t>>)->Arg(100'000);
BENCHMARK(map_look_up<std::map<std::string, uint64_t>>)->Arg(100'000);

}  // namespace
}  // namespace diptych::oltp
