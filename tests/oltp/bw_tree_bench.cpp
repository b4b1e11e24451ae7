// The Bw-tree and, on one thread, absl::btree_map: look-ups one by one and in batches, inserts,
// scans of 48 entries. The last argument is the number of keys. What is counted: keys; scans.
//
//   tree<Keys>/alone    made for one worker
//   tree<Keys>/shared   made for several; by 1 and 2 threads
//   map<Keys>           the yardstick; its memory is malloc's, which has huge pages if asked to
//                       (tests/README.md has the command)
//
// An index of the engine is reclaimed at batch boundaries; so is the tree that is filled here, all
// threads waiting for each other.

#include <barrier>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include <absl/container/btree_map.h>
#include <benchmark/benchmark.h>

#include "oltp/bw_tree.h"
#include "tests/oltp/index_keys.h"

namespace diptych::oltp {
namespace {

constexpr auto kSingle = Concurrency::kSingle;
constexpr auto kShared = Concurrency::kShared;
constexpr uint64_t kBatch = 4096;
constexpr uint64_t kScan = 48;
constexpr size_t kLookUps = 16;

template <class Keys>
class Tree {
 public:
  using Key = std::array<uint64_t, Keys::kWords>;

  explicit Tree(Concurrency concurrency) : tree_(concurrency, base::NumaNode(0)) {}

  // Each thread inserts its part of the numbers, in order.
  void fill(uint64_t keys, uint64_t threads) {
    std::barrier boundary(static_cast<std::ptrdiff_t>(threads),
                          [this]() noexcept { tree_.reclaim(); });
    const auto fill_part = [&](uint64_t thread) {
      const uint64_t end = keys * (thread + 1) / threads;
      for (uint64_t i = keys * thread / threads; i < end; ++i) {
        tree_.insert({Keys::at(i), i});
        if (i % kBatch == 0) boundary.arrive_and_wait();
      }
      boundary.arrive_and_drop();
    };
    std::vector<std::thread> others;
    for (uint64_t thread = 1; thread < threads; ++thread) others.emplace_back(fill_part, thread);
    fill_part(0);
    for (std::thread& other : others) other.join();
  }
  uint64_t find(const Key& key) const {
    uint64_t row = 0;
    tree_.find(key, [&](base::RowId found) {
      row = found.value;
      return false;
    });
    return row;
  }
  void find_each(std::span<const Key> keys, std::span<uint64_t> rows) const {
    tree_.find_each(keys, rows);
  }
  uint64_t sum_from(const Key& key) const {
    uint64_t sum = 0;
    uint64_t left = kScan;
    using Entry = typename BwTree<Keys::kWords>::Entry;
    tree_.scan_forward(Entry{key, 0}, Entry::infinity(), [&](const Entry& entry) {
      sum += entry.row;
      return --left != 0;
    });
    return sum;
  }
  size_t bytes() const { return tree_.allocated_bytes(); }

 private:
  BwTree<Keys::kWords> tree_;
};

template <class Keys>
class Map {
 public:
  using Key = std::array<uint64_t, Keys::kWords>;

  explicit Map(Concurrency) {}

  void fill(uint64_t keys, uint64_t) {
    for (uint64_t i = 0; i < keys; ++i) map_.emplace(Keys::at(i), i);
  }
  uint64_t find(const Key& key) const { return map_.find(key)->second; }
  uint64_t sum_from(const Key& key) const {
    uint64_t sum = 0;
    auto at = map_.lower_bound(key);
    for (uint64_t i = 0; i < kScan && at != map_.end(); ++i, ++at) sum += at->second;
    return sum;
  }

 private:
  absl::btree_map<Key, uint64_t> map_;
};

template <class Ordered>
const Ordered& filled(Concurrency concurrency, uint64_t keys) {
  const std::string name = std::string(typeid(Ordered).name()) +
                           (concurrency == kSingle ? " alone " : " shared ") + std::to_string(keys);
  return KeptIndex::get(name, [&] {
    auto index = std::make_unique<Ordered>(concurrency);
    index->fill(keys, 1);
    return index;
  });
}

RandomNumbers numbers_of(const benchmark::State& state) {
  return {static_cast<uint64_t>(state.thread_index()), static_cast<uint64_t>(state.range(0))};
}

// Of the process; that of a tree should be about as much as the tree is big.
double huge_page_megabytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;) {
    double kibibytes = 0;
    if (word == "AnonHugePages:" && rollup >> kibibytes) return kibibytes / 1024;
  }
  return 0;
}

template <template <class> class Ordered, class Keys>
void look_up(benchmark::State& state, Concurrency concurrency) {
  const auto& index = filled<Ordered<Keys>>(concurrency, static_cast<uint64_t>(state.range(0)));
  RandomNumbers numbers = numbers_of(state);
  uint64_t sum = 0;
  for (auto _ : state) sum += index.find(Keys::at(numbers.next()));
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

template <class Keys>
void look_up_batch(benchmark::State& state, Concurrency concurrency) {
  const auto& tree = filled<Tree<Keys>>(concurrency, static_cast<uint64_t>(state.range(0)));
  RandomNumbers numbers = numbers_of(state);
  std::array<typename Tree<Keys>::Key, kLookUps> keys;
  std::array<uint64_t, kLookUps> rows;
  for (auto _ : state) {
    for (auto& key : keys) key = Keys::at(numbers.next());
    tree.find_each(keys, rows);
    benchmark::DoNotOptimize(rows);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kLookUps));
}

template <template <class> class Ordered, class Keys>
void scan(benchmark::State& state, Concurrency concurrency) {
  const auto& index = filled<Ordered<Keys>>(concurrency, static_cast<uint64_t>(state.range(0)));
  RandomNumbers numbers = numbers_of(state);
  uint64_t sum = 0;
  for (auto _ : state) sum += index.sum_from(Keys::at(numbers.next()));
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations());
}

// One iteration fills an empty index, by threads of its own, and is timed without its destruction.
template <template <class> class Ordered, class Keys>
void insert(benchmark::State& state, Concurrency concurrency, uint64_t threads) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    Ordered<Keys> index(concurrency);
    const auto start = std::chrono::steady_clock::now();
    index.fill(keys, threads);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(passed.count());
    if constexpr (requires { index.bytes(); }) {
      state.counters["MB"] = static_cast<double>(index.bytes()) / (1 << 20);
      state.counters["huge_MB"] = huge_page_megabytes();
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys));
}

void few_and_many(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(10'000'000)->UseRealTime();
}
void by_two_as_well(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(10'000'000)->Threads(1)->Threads(2)->UseRealTime();
}
void filled_anew(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(100'000)->Arg(10'000'000)->UseManualTime()->Unit(benchmark::kMillisecond);
}

// In an order that fills each index once for all that read it.
template <class Keys>
void add_benchmarks(const std::string& keys) {
  const auto add = [&](const std::string& name, auto run, auto... rest) {
    return benchmark::RegisterBenchmark(name.c_str(),
                                        [=](benchmark::State& state) { run(state, rest...); });
  };
  for (const uint64_t threads : {1, 2}) {
    add("tree<" + keys + ">/insert/shared_" + std::to_string(threads), insert<Tree, Keys>, kShared,
        threads)
        ->Apply(filled_anew);
  }
  add("tree<" + keys + ">/insert/alone", insert<Tree, Keys>, kSingle, 1)->Apply(filled_anew);
  add("map<" + keys + ">/insert", insert<Map, Keys>, kSingle, 1)->Apply(filled_anew);
  if constexpr (!std::is_same_v<Keys, AscendingKeys>) {
    add("tree<" + keys + ">/look_up/alone", look_up<Tree, Keys>, kSingle)->Apply(few_and_many);
    add("tree<" + keys + ">/look_up_batch/alone", look_up_batch<Keys>, kSingle)
        ->Apply(few_and_many);
    add("tree<" + keys + ">/scan_48/alone", scan<Tree, Keys>, kSingle)->Apply(few_and_many);
    add("tree<" + keys + ">/look_up/shared", look_up<Tree, Keys>, kShared)->Apply(by_two_as_well);
    add("tree<" + keys + ">/look_up_batch/shared", look_up_batch<Keys>, kShared)
        ->Apply(by_two_as_well);
    add("tree<" + keys + ">/scan_48/shared", scan<Tree, Keys>, kShared)->Apply(by_two_as_well);
    add("map<" + keys + ">/look_up", look_up<Map, Keys>, kSingle)->Apply(few_and_many);
    add("map<" + keys + ">/scan_48", scan<Map, Keys>, kSingle)->Apply(few_and_many);
  }
}

const bool kAdded = [] {
  add_benchmarks<RandomKeys>("random");
  add_benchmarks<AscendingKeys>("ascending");
  add_benchmarks<StringKeys>("strings");
  return true;
}();

}  // namespace
}  // namespace diptych::oltp
