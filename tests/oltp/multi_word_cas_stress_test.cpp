// MultiWordCas against a model, under threads, and its mutants.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/multi_word_cas.h"
#include "tests/mutant.h"
#include "tests/relaxed_atomic.h"

namespace diptych::oltp {
namespace {

using Cas = MultiWordCas<>;

constexpr size_t kCasWords = 6;

// Distinct words in random order.
std::vector<size_t> pick_words(std::mt19937_64* random, size_t count) {
  std::array<size_t, kCasWords> order;
  for (size_t i = 0; i < kCasWords; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), *random);
  return {order.begin(), order.begin() + static_cast<ptrdiff_t>(count)};
}

TEST(MultiWordCasModel, ChangesAllWordsOrNone) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::array<Cas::Word, kCasWords> words{};
    std::array<uint64_t, kCasWords> model{};
    Cas::DescriptorPool pool{base::NumaNode(0)};
    uint64_t fresh = 0;  // M2: no value comes twice
    for (int i = 0; i < 5000; ++i) {
      std::vector<Cas::Change> changes;
      bool as_expected = true;
      for (const size_t at : pick_words(&random, 1 + random() % Cas::kWordsMax)) {
        const bool right = random() % 8 != 0;
        as_expected = as_expected && right;
        changes.push_back({&words[at], right ? model[at] : (uint64_t{1} << 40), fresh += 2});
      }
      EXPECT_EQ(Cas::swap(&pool, changes), as_expected);
      for (const auto& change : changes) {
        if (as_expected) model[static_cast<size_t>(change.word - words.data())] = change.desired;
      }
      for (size_t at = 0; at < kCasWords; ++at) ASSERT_EQ(Cas::read(words[at]), model[at]);
      if (i % 100 == 0) pool.reset();
    }
  }
}

TEST(MultiWordCasModel, ResetKeepsTheMemoryFlat) {
  std::array<Cas::Word, 2> words{};
  Cas::DescriptorPool pool{base::NumaNode(0)};
  for (uint64_t i = 0; i < 100'000; ++i) {
    const Cas::Change changes[] = {{&words[0], 2 * i, 2 * i + 2}, {&words[1], 2 * i, 2 * i + 2}};
    ASSERT_TRUE(Cas::swap(&pool, changes));
    if (i % 64 == 0) pool.reset();
  }
  EXPECT_LE(pool.allocated_bytes(), size_t{32} * 1024);
}

// Every word counts in twos, and each swap moves all of its words: the sum of the words is then
// twice the words of the swaps that said yes. Words come in random order, so that threads ask in
// opposite orders (M3), and threads outnumber the cores, so that swaps are met half done.
TEST(MultiWordCasStress, NoStepIsLostOrDoubled) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 3000;
  std::array<Cas::Word, kCasWords> words{};
  std::atomic<uint64_t> steps{0};
  std::vector<Cas::DescriptorPool> pools;  // they outlive every helper
  for (int i = 0; i < kThreads; ++i) pools.emplace_back(base::NumaNode(0));
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    Cas::DescriptorPool& pool = pools[seed];
    uint64_t done = 0;
    for (int i = 0; i < kSteps; ++i) {
      const std::vector<size_t> picked = pick_words(&random, 1 + random() % Cas::kWordsMax);
      std::vector<Cas::Change> changes;
      for (const size_t at : picked) {
        const uint64_t seen = Cas::read(words[at]);
        changes.push_back({&words[at], seen, seen + 2});
      }
      if (Cas::swap(&pool, changes)) done += changes.size();
    }
    // relaxed: read after the join.
    steps.fetch_add(done, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < kThreads; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  uint64_t sum = 0;
  for (const auto& word : words) {
    // relaxed: after the join. No descriptor is left (M4).
    EXPECT_EQ(word.load(std::memory_order_relaxed) % 2, 0u);
    sum += Cas::read(word);
  }
  // relaxed: after the join.
  EXPECT_EQ(sum, 2 * steps.load(std::memory_order_relaxed));
  EXPECT_GT(sum, 0u);
}

// Pairs move together, so a reader that sees the second word sees the first at least as far.
TEST(MultiWordCasStress, AReaderSeesNoHalfOfASwap) {
  std::array<Cas::Word, 2> words{};
  std::atomic<bool> stop{false};
  Cas::DescriptorPool pools[] = {Cas::DescriptorPool(base::NumaNode(0)),
                                 Cas::DescriptorPool(base::NumaNode(0))};
  std::vector<std::thread> threads;
  for (Cas::DescriptorPool& pool : pools) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const uint64_t seen = Cas::read(words[0]);
        const Cas::Change changes[] = {{&words[1], seen, seen + 2}, {&words[0], seen, seen + 2}};
        Cas::swap(&pool, changes);
      }
    });
  }
  std::thread reader([&] {
    // relaxed: only ends the loop.
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t second = Cas::read(words[1]);
      ASSERT_LE(second, Cas::read(words[0]));
    }
  });
  for (std::thread& thread : threads) thread.join();
  // relaxed: only ends the loop.
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  EXPECT_EQ(Cas::read(words[0]), Cas::read(words[1]));
}

#ifdef DIPTYCH_TSAN
// What of a mutant is weakened: all compare-and-swaps, or those that put a descriptor, have acquire
// in place of seq_cst, so that they publish nothing; or loads are relaxed.
enum class WeakWords : uint8_t { kSwaps, kDescriptors, kReads };

template <class Value, WeakWords kWhich>
class WeakWord {
 public:
  WeakWord() : value_{} {}
  explicit WeakWord(Value value) : value_(value) {}
  Value load(std::memory_order order) const {
    if constexpr (kWhich != WeakWords::kReads) {
      // seq_cst or less: as given; the mutant is in the writes.
      return value_.load(std::memory_order(order));
    } else {
      // relaxed: the weakened order that must be found.
      return value_.load(std::memory_order_relaxed);
    }
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order success,
                               std::memory_order failure) {
    if (!is_weak(wanted)) {
      // seq_cst or less: as given.
      return value_.compare_exchange_strong(expected, wanted, std::memory_order(success),
                                            std::memory_order(failure));
    }
    // acquire: the weakened order that must be found.
    const bool put = value_.compare_exchange_strong(expected, wanted, std::memory_order_acquire,
                                                    std::memory_order_acquire);
    // A descriptor is there for a few instructions only: the reader gets its turn meanwhile.
    if (kWhich == WeakWords::kDescriptors && put) std::this_thread::yield();
    return put;
  }

 private:
  static bool is_weak(Value wanted) {
    if constexpr (kWhich != WeakWords::kDescriptors) return kWhich == WeakWords::kSwaps;
    if constexpr (std::is_integral_v<Value>) return (wanted & 1) != 0;
    return false;
  }

  std::atomic<Value> value_;
};
template <class Value>
using CasWithoutRelease = WeakWord<Value, WeakWords::kSwaps>;
template <class Value>
using DescriptorsWithoutRelease = WeakWord<Value, WeakWords::kDescriptors>;
template <class Value>
using ReadsWithoutAcquire = WeakWord<Value, WeakWords::kReads>;

template <template <class> class Atomic>
void run_cas_mutant() {
  using Mutant = MultiWordCas<Atomic>;
  static typename Mutant::Word words[2];
  static uint64_t targets[20'000];
  std::thread reader([] {
    uint64_t sum = 0;
    for (uint64_t at = 0; at + 2 < std::size(targets);) {
      at = Mutant::read(words[0]) / 2;
      if (at != 0) sum += targets[at];
    }
    std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sum));
  });
  typename Mutant::DescriptorPool pool{base::NumaNode(0)};
  for (uint64_t i = 0; i + 1 < 20'000; ++i) {
    targets[i + 1] = i;
    const typename Mutant::Change changes[] = {{&words[0], 2 * i, 2 * i + 2},
                                               {&words[1], 2 * i, 2 * i + 2}};
    Mutant::swap(&pool, changes);
  }
  reader.join();
}

TEST(MultiWordCasStressDeathTest, ThreadSanitizerFindsTheMutantWithoutRelease) {
  EXPECT_RACE_FOUND(run_cas_mutant<CasWithoutRelease>());
}

// Not to be found alone are the orders with which a decision and the values are put: these are
// read-modify-writes of words that the descriptor's release heads, so whoever reads them sees what
// came before it.
TEST(MultiWordCasStressDeathTest, ThreadSanitizerFindsDescriptorsAndReadsWeakenedAlone) {
  EXPECT_RACE_FOUND(run_cas_mutant<DescriptorsWithoutRelease>());
  EXPECT_RACE_FOUND(run_cas_mutant<ReadsWithoutAcquire>());
}
#endif

}  // namespace
}  // namespace diptych::oltp
