// Indexes of one worker and of several: look-ups, inserts, scans. Keys are 16 bytes, as of an order
// line; `entries` is the argument. Beside them std::unordered_map and std::map as yardsticks.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>

#include <benchmark/benchmark.h>

#include "oltp/index.h"

namespace diptych::oltp {
namespace {

using base::RowId;

base::Key key_of(uint64_t number) {
  const uint64_t mixed = number * 0x9e3779b97f4a7c15;
  base::Key key;
  key.append(static_cast<int64_t>(mixed >> 8));
  key.append(static_cast<int64_t>(mixed & 0xff));
  return key;
}

std::unique_ptr<Index> make(bool hash, Concurrency concurrency) {
  return hash ? make_hash_index(concurrency, base::NumaNode(0))
              : make_ordered_index(16, concurrency, base::NumaNode(0));
}

std::unique_ptr<Index> filled(bool hash, uint64_t entries, Concurrency concurrency) {
  auto index = make(hash, concurrency);
  for (uint64_t i = 0; i < entries; ++i) index->insert(key_of(i).bytes(), RowId(i), nullptr);
  return index;
}

void look_up(benchmark::State& state, bool hash, Concurrency concurrency) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  const auto index = filled(hash, entries, concurrency);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key key = key_of(random() % entries);
    const auto visit = [&](RowId row_id) {
      sum += row_id.value;
      return false;
    };
    index->find(key.bytes(), CandidateVisitor(visit));
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

void insert(benchmark::State& state, bool hash) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    const auto index = filled(hash, entries, Concurrency::kSingle);
    benchmark::DoNotOptimize(index->entry_count());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(entries));
}

void scan_48(benchmark::State& state) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  const auto index = filled(false, entries, Concurrency::kSingle);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key key = key_of(random() % entries);
    IndexCursor cursor(key.bytes(), "", true);
    size_t left = 48;
    for (index->next_group(&cursor); cursor.count != 0 && left != 0; index->next_group(&cursor)) {
      for (size_t i = 0; i < cursor.count && left != 0; ++i, --left) sum += cursor.rows[i].value;
    }
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

template <class Map>
void map_look_up(benchmark::State& state) {
  const auto entries = static_cast<uint64_t>(state.range(0));
  Map map;
  for (uint64_t i = 0; i < entries; ++i) map.emplace(key_of(i).bytes(), i);
  std::mt19937_64 random(7);
  uint64_t sum = 0;
  for (auto _ : state) {
    const base::Key key = key_of(random() % entries);
    sum += map.find(std::string(key.bytes()))->second;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(look_up, hash, true, Concurrency::kSingle)->Arg(100'000)->Arg(3'000'000);
BENCHMARK_CAPTURE(look_up, hash_shared, true, Concurrency::kShared)->Arg(100'000);
BENCHMARK_CAPTURE(look_up, ordered, false, Concurrency::kSingle)->Arg(100'000)->Arg(3'000'000);
BENCHMARK_CAPTURE(look_up, ordered_shared, false, Concurrency::kShared)->Arg(100'000);
BENCHMARK_CAPTURE(insert, hash, true)->Arg(1'000'000);
BENCHMARK_CAPTURE(insert, ordered, false)->Arg(1'000'000);
BENCHMARK(scan_48)->Arg(100'000)->Arg(3'000'000);
BENCHMARK(map_look_up<std::unordered_map<std::string, uint64_t>>)->Arg(100'000);
BENCHMARK(map_look_up<std::map<std::string, uint64_t>>)->Arg(100'000);

}  // namespace
}  // namespace diptych::oltp
