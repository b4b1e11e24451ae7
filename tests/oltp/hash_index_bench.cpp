// The hash index, one thread, and two yardsticks: oneTBB's concurrent_hash_map, which takes a lock
// a key, and linear probing in an array that never grows, which is what the memory allows. The
// argument is the number of keys, of random 64 bits.
//
// A look-up in HashIndex ends with a candidate: its entries have no keys, and the row, which tells,
// is what the engine wants next. The other two compare keys.

#include <bit>
#include <chrono>
#include <memory>
#include <string>
#include <typeinfo>

#include <benchmark/benchmark.h>
#include <tbb/concurrent_hash_map.h>

#include "base/arena.h"
#include "oltp/hash_index.h"
#include "tests/oltp/index_keys.h"

namespace diptych::oltp {
namespace {

constexpr size_t kGroup = 16;

class Hash {
 public:
  explicit Hash(uint64_t) : index_(Concurrency::kSingle, base::NumaNode(0)) {}

  void insert(uint64_t key, uint64_t row) {
    const auto taken = [](base::RowId) { return KeyVerdict::kTaken; };
    const UniquenessCheck unique(taken);
    index_.insert(bytes_of(key), base::RowId(row), &unique);
  }
  uint64_t find(uint64_t key) const { return candidate(hash_of(key)); }
  // As the engine looks ahead.
  uint64_t sum_of(const std::array<uint64_t, kGroup>& keys) const {
    std::array<uint64_t, kGroup> hashes;
    for (size_t i = 0; i < kGroup; ++i) {
      hashes[i] = hash_of(keys[i]);
      HashIndex::fetch(index_.place_of(hashes[i]));
    }
    uint64_t sum = 0;
    for (const uint64_t hash : hashes) sum += candidate(hash);
    return sum;
  }

 private:
  static std::string_view bytes_of(const uint64_t& key) {
    return {reinterpret_cast<const char*>(&key), sizeof key};
  }
  static uint64_t hash_of(const uint64_t& key) {
    return key_hash<sizeof key>(bytes_of(key).data());
  }
  uint64_t candidate(uint64_t hash) const {
    uint64_t row = 0;
    index_.visit(hash, [&](base::RowId found) {
      row = found.value;
      return false;
    });
    return row;
  }

  HashIndex index_;
};

class TbbMap {
 public:
  explicit TbbMap(uint64_t) {}
  void insert(uint64_t key, uint64_t row) { map_.emplace(key, row); }
  uint64_t find(uint64_t key) const {
    tbb::concurrent_hash_map<uint64_t, uint64_t>::const_accessor found;
    return map_.find(found, key) ? found->second : 0;
  }

 private:
  tbb::concurrent_hash_map<uint64_t, uint64_t> map_;
};

// A quarter to half full; key 0 means a free place.
class Probing {
 public:
  explicit Probing(uint64_t keys)
      : mask_(std::bit_ceil(2 * keys) - 1),
        memory_((mask_ + 1) * sizeof(Place), base::NumaNode(0)) {}

  void insert(uint64_t key, uint64_t row) {
    uint64_t at = home_of(key);
    while (places()[at].key != 0 && places()[at].key != key) at = (at + 1) & mask_;
    places()[at] = {key, row};
  }
  uint64_t find(uint64_t key) const {
    uint64_t at = home_of(key);
    while (places()[at].key != key) {
      if (places()[at].key == 0) return 0;
      at = (at + 1) & mask_;
    }
    return places()[at].row;
  }
  uint64_t sum_of(const std::array<uint64_t, kGroup>& keys) const {
    for (const uint64_t key : keys) __builtin_prefetch(places() + home_of(key));
    uint64_t sum = 0;
    for (const uint64_t key : keys) sum += find(key);
    return sum;
  }

 private:
  struct Place {
    uint64_t key;
    uint64_t row;
  };
  uint64_t home_of(uint64_t key) const {
    return key * 0x9e3779b97f4a7c15 >> (64 - std::popcount(mask_));
  }
  Place* places() const { return reinterpret_cast<Place*>(memory_.data()); }

  uint64_t mask_;
  base::Region memory_;
};

template <class Table>
void fill(Table* table, uint64_t keys) {
  for (uint64_t i = 0; i < keys; ++i) table->insert(mix(i), i);
}

template <class Table>
const Table& filled(uint64_t keys) {
  return KeptIndex::get(std::string(typeid(Table).name()) + " " + std::to_string(keys), [&] {
    auto table = std::make_unique<Table>(keys);
    fill(table.get(), keys);
    return table;
  });
}

// Of an empty table, which is timed without its construction and destruction.
template <class Table>
void hash_insert(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    Table table(keys);
    const auto start = std::chrono::steady_clock::now();
    fill(&table, keys);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(passed.count());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys));
}

template <class Table>
void hash_look_up(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const auto& table = filled<Table>(keys);
  RandomNumbers numbers(0, keys);
  uint64_t sum = 0;
  for (auto _ : state) sum += table.find(mix(numbers.next()));
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

template <class Table>
void hash_look_up_batch(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const auto& table = filled<Table>(keys);
  RandomNumbers numbers(0, keys);
  std::array<uint64_t, kGroup> wanted;
  uint64_t sum = 0;
  for (auto _ : state) {
    for (uint64_t& key : wanted) key = mix(numbers.next());
    sum += table.sum_of(wanted);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kGroup));
}

void few_and_many(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(10'000'000);
}
void filled_anew(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(10'000'000)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(hash_insert<Hash>)->Apply(filled_anew);
BENCHMARK(hash_insert<TbbMap>)->Apply(filled_anew);
BENCHMARK(hash_insert<Probing>)->Apply(filled_anew);
BENCHMARK(hash_look_up<Hash>)->Apply(few_and_many);
BENCHMARK(hash_look_up_batch<Hash>)->Apply(few_and_many);
BENCHMARK(hash_look_up<TbbMap>)->Apply(few_and_many);
BENCHMARK(hash_look_up<Probing>)->Apply(few_and_many);
BENCHMARK(hash_look_up_batch<Probing>)->Apply(few_and_many);

}  // namespace
}  // namespace diptych::oltp
