// BwTree under threads, with nodes of four entries, so that splits and merges are all the time:
// what scans promise, that no change is lost, that a unique key has one row. And mutants of the
// atomic operations below it, each of which one of these must find out.
//
// The threads outnumber the cores and yield in the midst of operations, so that each meets what
// others have half done. A round ends like a batch: nobody is at work, and memory is reclaimed.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/bw_tree.h"
#include "tests/mutant.h"
#include "tests/oltp/stepped_atomic.h"
#include "tests/oltp/stress_yield.h"
#include "tests/relaxed_atomic.h"

namespace diptych::oltp {
namespace {

using Order = std::memory_order;

constexpr uint64_t kStressThreads = 4;
constexpr uint64_t kStressStepsMax = 20'000'000;  // of a thread; it takes far fewer

void yield_now_and_then() {
  static std::atomic<uint64_t> threads{0};
  // relaxed: only tells the threads' sequences apart.
  thread_local std::minstd_rand random(
      static_cast<uint32_t>(threads.fetch_add(1, std::memory_order_relaxed) + 1));
  thread_local uint64_t steps = 0;
  if (++steps == kStressStepsMax) {
    std::fprintf(stderr, "found: an operation without end\n");
    std::abort();
  }
  if (random() % 32 == 0) let_others_in();
}

template <class Value>
class Nervous : public SteppedAtomic<Value, yield_now_and_then> {
 public:
  using SteppedAtomic<Value, yield_now_and_then>::SteppedAtomic;
};

// What the threads found wrong; the first of it is kept.
class Findings {
 public:
  void expect(bool condition, const char* why) {
    if (condition) return;
    const std::lock_guard guard(mutex_);
    if (first_.empty()) first_ = why;
  }
  std::string first() const { return first_; }

 private:
  std::mutex mutex_;
  std::string first_;
};

void on_stress_threads(const std::function<void(uint64_t thread)>& work) {
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kStressThreads; ++thread) {
    threads.emplace_back([&work, thread] {
      const AsWorker as(base::WorkerId(static_cast<uint32_t>(thread)));
      work(thread);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <template <class> class Atomic>
using SharedTree = BwTree<1, 64, Atomic>;

// Keys that are multiples of eight are there all the while; those between them come and go in runs,
// so that nodes fill and empty. Each scan must meet the former, once and in order.
template <template <class> class Atomic>
std::string scan_under_changes(uint64_t seed, int rounds) {
  constexpr uint64_t kKeys = 800;
  SharedTree<Atomic> tree(Concurrency::kShared, base::NumaNode(0));
  Findings findings;
  for (uint64_t key = 0; key < kKeys; key += 8) tree.insert({{key}, key});
  const auto change = [&](std::mt19937_64* random, uint64_t row) {
    const uint64_t first = (*random)() % kKeys;
    for (uint64_t key = first; key < first + 40; ++key) {
      if (key % 8 == 0) continue;
      findings.expect(tree.insert({{key}, row}) == IndexInsert::kInserted, "an own entry was new");
    }
    for (uint64_t key = first; key < first + 40; ++key) {
      if (key % 8 == 0) continue;
      findings.expect(tree.erase({{key}, row}), "an own entry was there");
    }
  };
  const auto scan = [&](std::mt19937_64* random) {
    uint64_t lower = (*random)() % kKeys;
    uint64_t upper = lower + (*random)() % kKeys;
    std::vector<BwEntry<1>> seen;
    const auto take = [&](const BwEntry<1>& entry) {
      seen.push_back(entry);
      return true;
    };
    if ((*random)() % 2 == 0) {
      tree.scan_forward({{lower}, 0}, {{upper}, 0}, take);
    } else {
      tree.scan_backward({{lower}, 0}, {{upper}, 0}, take);
      std::reverse(seen.begin(), seen.end());
    }
    uint64_t stable = (lower + 7) / 8 * 8;
    for (size_t i = 0; i < seen.size(); ++i) {
      findings.expect(i == 0 || seen[i - 1] < seen[i], "a scan is in order, and none comes twice");
      const uint64_t key = seen[i].words[0];
      findings.expect(lower <= key && key < upper, "a scan stays in its range");
      if (key % 8 != 0) continue;
      findings.expect(key == stable && seen[i].row == key, "a scan meets what is there");
      stable = key + 8;
    }
    findings.expect(stable >= std::min(upper, kKeys), "a scan goes to its end");
  };
  for (int round = 0; round < rounds; ++round) {
    on_stress_threads([&](uint64_t thread) {
      std::mt19937_64 random(seed + static_cast<uint64_t>(round) * kStressThreads + thread);
      for (int i = 0; i < 30 && findings.first().empty(); ++i) {
        thread % 2 == 0 ? change(&random, kKeys + thread) : scan(&random);
      }
    });
    if (!findings.first().empty()) return findings.first();
    findings.expect(tree.check() == kKeys / 8, "what came has gone");
    tree.reclaim();
  }
  return findings.first();
}

// The threads' entries share keys, and so leaves, and lie in leaves by several threads' doing; but
// each has its own rows, and knows what every call must say.
template <template <class> class Atomic>
std::string change_side_by_side(uint64_t seed, int rounds) {
  constexpr uint64_t kKeys = 60;
  SharedTree<Atomic> tree(Concurrency::kShared, base::NumaNode(0));
  Findings findings;
  std::set<uint64_t> owned[kStressThreads];
  for (int round = 0; round < rounds; ++round) {
    on_stress_threads([&](uint64_t thread) {
      std::mt19937_64 random(seed + static_cast<uint64_t>(round) * kStressThreads + thread);
      std::set<uint64_t>& mine = owned[thread];
      const bool grows = round % 2 == 0;
      for (int i = 0; i < 200 && findings.first().empty(); ++i) {
        const uint64_t key = random() % kKeys;
        if (random() % 4 < (grows ? 3u : 1u)) {
          const bool fresh = mine.insert(key).second;
          findings.expect(tree.insert({{key}, thread}) ==
                              (fresh ? IndexInsert::kInserted : IndexInsert::kPresent),
                          "an insertion says what was there");
        } else {
          findings.expect(tree.erase({{key}, thread}) == (mine.erase(key) == 1),
                          "a removal says what was there");
        }
        const uint64_t asked = random() % kKeys;
        int met = 0;
        tree.find({asked}, [&](base::RowId row_id) {
          met += row_id.value == thread ? 1 : 0;
          return true;
        });
        findings.expect(met == (mine.contains(asked) ? 1 : 0), "a find meets its own once");
      }
    });
    if (!findings.first().empty()) return findings.first();
    size_t entries = 0;
    for (const auto& mine : owned) entries += mine.size();
    findings.expect(tree.check() == entries, "all that was added and not removed is there");
    tree.reclaim();
  }
  return findings.first();
}

// Rows claim keys as transactions do: first the row says that it has the key, then the entry is
// added. Of the rows that found a key free, one at a time may hold it. Entries stay behind when a
// row lets go, and are found there the next time; few keys have many rows, in several leaves.
template <template <class> class Atomic>
std::string claim_keys(uint64_t seed, uint64_t keys, int rounds) {
  constexpr uint64_t kRows = 8;
  constexpr uint64_t kNone = ~uint64_t{0};
  SharedTree<Atomic> tree(Concurrency::kShared, base::NumaNode(0));
  Findings findings;
  std::atomic<uint64_t> wanted[kRows];  // [row]; writer: the thread of row % kStressThreads
  std::vector<std::atomic<int>> holders(keys);
  // relaxed: before the threads.
  for (auto& key : wanted) key.store(kNone, std::memory_order_relaxed);
  const auto claim = [&](uint64_t row, uint64_t key, bool goes) {
    // seq_cst: as a version is put into its slot, before the entry is added.
    wanted[row].store(key, std::memory_order_seq_cst);
    const auto verdict = [&](base::RowId other) {
      // acquire: as a version is read.
      const uint64_t its = wanted[other.value].load(std::memory_order_acquire);
      if (row % 2 == 0)
        let_others_in();  // what was asked may be otherwise before it is made use of
      return its == key ? KeyVerdict::kConflict : KeyVerdict::kFree;
    };
    const UniquenessCheck check(verdict);
    const IndexInsert outcome = tree.insert({{key}, row}, &check);
    const bool holds = outcome == IndexInsert::kInserted || outcome == IndexInsert::kPresent;
    if (holds) {
      // relaxed: the count is all that is told, here and below.
      const int before = holders[key].fetch_add(1, std::memory_order_relaxed);
      findings.expect(before == 0, "a unique key has one row");
      for (int i = 0; i < 4; ++i) let_others_in();
      // relaxed: likewise.
      holders[key].fetch_sub(1, std::memory_order_relaxed);
    }
    if (holds && goes) tree.erase({{key}, row});
    // release: pairs with the acquire in the verdict.
    wanted[row].store(kNone, std::memory_order_release);
  };
  for (int round = 0; round < rounds; ++round) {
    on_stress_threads([&](uint64_t thread) {
      std::mt19937_64 random(seed + static_cast<uint64_t>(round) * kStressThreads + thread);
      for (int i = 0; i < 300 && findings.first().empty(); ++i) {
        const uint64_t row = random() % (kRows / kStressThreads) * kStressThreads + thread;
        claim(row, random() % keys, random() % 2 == 0);
      }
    });
    if (!findings.first().empty()) return findings.first();
    tree.check();
    tree.reclaim();
  }
  return findings.first();
}

// Each thread comes back to leaves that it knows, and that others replace meanwhile or between two
// batches. What one of them was told of, as by a commit, it must meet.
template <template <class> class Atomic>
std::string come_back(uint64_t seed, int rounds) {
  constexpr uint64_t kKeys = 48;
  BwTree<2, 96, Atomic> tree(Concurrency::kShared, base::NumaNode(0));
  Findings findings;
  std::atomic<uint64_t> told[kKeys] = {};  // [key]: 0, or since when; writer: of key % threads
  uint64_t nows[kStressThreads] = {};
  const auto entry_of = [](uint64_t key) { return BwEntry<2>{{key / 24, key}, 0}; };
  const auto change = [&](uint64_t thread, uint64_t pick) {
    const uint64_t key = pick % (kKeys / kStressThreads) * kStressThreads + thread;
    // relaxed: one's own.
    if (told[key].load(std::memory_order_relaxed) == 0) {
      findings.expect(tree.insert(entry_of(key)) == IndexInsert::kInserted, "it was not there");
      // release: pairs with the acquire of who reads.
      told[key].store(++nows[thread], std::memory_order_release);
    } else {
      // release: before the entry goes.
      told[key].store(0, std::memory_order_release);
      findings.expect(tree.erase(entry_of(key)), "it was there");
    }
  };
  const auto read = [&](uint64_t key) {
    if (const void* const near = tree.prefetch_near(entry_of(key))) tree.prefetch_newest(near);
    tree.prefetch_ranges(std::array{entry_of(key), entry_of(key / 2)}, 3);
    // acquire: pairs with the release of who changes.
    const uint64_t since = told[key].load(std::memory_order_acquire);
    bool met = false;
    const auto meet = [&](const BwEntry<2>&) { return met = true; };
    tree.scan_forward(entry_of(key), entry_of(key + 1), meet);
    // acquire: likewise.
    const bool stayed = since != 0 && told[key].load(std::memory_order_acquire) == since;
    findings.expect(met || !stayed, "a scan meets what it was told of");
  };
  for (int round = 0; round < rounds; ++round) {
    on_stress_threads([&](uint64_t thread) {
      std::mt19937_64 random(seed + static_cast<uint64_t>(round) * kStressThreads + thread);
      for (int i = 0; i < 400 && findings.first().empty(); ++i) {
        random() % 2 == 0 ? change(thread, random()) : read(random() % (kKeys - 1));
      }
    });
    if (!findings.first().empty()) return findings.first();
    // The boundary: the leader alone takes some away, and leaves go and come.
    tree.set_concurrency(Concurrency::kSingle);
    for (uint64_t key = 0; key < kKeys; ++key) {
      // relaxed: nobody else is there.
      if (told[key].load(std::memory_order_relaxed) != 0 && (seed + key) % 3 != 0) {
        change(key % kStressThreads, key / kStressThreads);
      }
    }
    tree.check();
    tree.reclaim();
    tree.set_concurrency(Concurrency::kShared);
  }
  return findings.first();
}

template <template <class> class Atomic>
std::string run_all(uint64_t seed, int rounds) {
  std::string found = scan_under_changes<Atomic>(seed, rounds);
  if (found.empty()) found = change_side_by_side<Atomic>(seed, rounds);
  if (found.empty()) found = claim_keys<Atomic>(seed, 12, rounds);
  if (found.empty()) found = come_back<Atomic>(seed, rounds);
  return found;
}

TEST(BwTreeStress, AScanMeetsWhatIsThereAllTheWhileOnce) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(scan_under_changes<Nervous>(seed * 1000, 20), "") << "seed " << seed;
  }
}

TEST(BwTreeStress, NoChangeIsLost) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(change_side_by_side<Nervous>(seed * 1000, 20), "") << "seed " << seed;
  }
}

TEST(BwTreeStress, AUniqueKeyHasOneRow) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    // All rows of one key in a leaf, and in several.
    EXPECT_EQ(claim_keys<Nervous>(seed * 1000, 12, 20), "") << "seed " << seed;
    EXPECT_EQ(claim_keys<Nervous>(seed * 1000, 2, 20), "") << "seed " << seed;
  }
}

TEST(BwTreeStress, WhoComesBackToALeafThatItKnowsMeetsWhatItWasToldOf) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(come_back<Nervous>(seed * 1000, 40), "") << "seed " << seed;
  }
}

// Mutants. In a leaf all compare-and-swaps are weak ones, in MultiWordCas all are strong ones.

// An insertion shows its slot as soon as it has claimed it, before it has filled it.
template <class Value>
class ShowsBeforeItFills : public Nervous<Value> {
 public:
  using Nervous<Value>::Nervous;
  bool compare_exchange_weak(Value& expected, Value wanted, Order success, Order failure) {
    using Nodes = BwNodes<1, 64, ShowsBeforeItFills>;
    if constexpr (sizeof(Value) == 8) {
      if (wanted == expected + Nodes::kOneClaimed) {
        const Value shown = wanted | Value{1} << Nodes::claimed(expected);
        // seq_cst or less: as given.
        if (!this->value_.compare_exchange_strong(expected, shown, Order(success), Order(failure)))
          return false;
        let_others_in();
        return true;
      }
    }
    // seq_cst or less: as given.
    return this->value_.compare_exchange_strong(expected, wanted, Order(success), Order(failure)) ||
           expected == wanted;
  }
};

// An insertion or removal does not notice that the leaf has changed, or is frozen.
template <class Value>
class ChangesBlindly : public Nervous<Value> {
 public:
  using Nervous<Value>::Nervous;
  bool compare_exchange_weak(Value&, Value wanted, Order success, Order) {
    yield_now_and_then();
    // seq_cst or less: as given.
    this->value_.exchange(wanted, Order(success));
    return true;
  }
};

// A structure change does not notice that a page has another node by now.
template <class Value>
class SwapsBlindly : public Nervous<Value> {
 public:
  using Nervous<Value>::Nervous;
  bool compare_exchange_strong(Value& expected, Value wanted, Order success, Order failure) {
    yield_now_and_then();
    if constexpr (sizeof(Value) == 8) {
      const bool installs = (wanted & 1) != 0 && (expected & 1) == 0;
      // acquire: whatever is there, so that it is replaced.
      const Value seen = this->value_.load(std::memory_order_acquire);
      if (installs && (seen & 1) == 0) expected = seen;
    }
    // seq_cst or less: as given.
    return this->value_.compare_exchange_strong(expected, wanted, Order(success), Order(failure));
  }
};

template <template <class> class Atomic>
void run_mutant(uint64_t seed) {
  diptych::test::fail_if_found(run_all<Atomic>(seed * 1000, 10));
}

#ifndef DIPTYCH_TSAN
// The checks must find these, so ThreadSanitizer does not look. Some build a ring of nodes now and
// then, which no step of an atomic ever leaves: such a try shows nothing.
constexpr uint64_t kTreeTries = 20;

TEST(BwTreeStressDeathTest, TheCheckFindsAnEntryThatIsShownBeforeItIsFilled) {
  EXPECT_MUTANT_FOUND(kTreeTries, run_mutant<ShowsBeforeItFills>(seed), "");
}

TEST(BwTreeStressDeathTest, TheCheckFindsALeafThatIsChangedBlindly) {
  EXPECT_MUTANT_FOUND(kTreeTries, run_mutant<ChangesBlindly>(seed), "");
}

TEST(BwTreeStressDeathTest, TheCheckFindsASwapWithoutValidation) {
  EXPECT_MUTANT_FOUND(kTreeTries, run_mutant<SwapsBlindly>(seed), "");
}

#else
// What is filled is not published: acquire for the orders of one kind of compare-and-swap, or of
// both. The weak ones show an entry in its leaf, the strong ones a page in its word.
enum class Unpublished : uint8_t { kAll, kEntries, kPages };

template <class Value, Unpublished kWhich>
class PublishesLess : public Nervous<Value> {
 public:
  using Nervous<Value>::Nervous;
  Value load(Order) const {
    // acquire: at least as given; the mutant is in the writes.
    return this->value_.load(std::memory_order_acquire);
  }
  bool compare_exchange_strong(Value& expected, Value wanted, Order success, Order failure) {
    // acquire: the weakened order that must be found; or as given.
    return this->value_.compare_exchange_strong(
        expected, wanted, std::memory_order(weakened(success, Unpublished::kPages)),
        std::memory_order(weakened(failure, Unpublished::kPages)));
  }
  bool compare_exchange_weak(Value& expected, Value wanted, Order success, Order failure) {
    // acquire: likewise.
    return this->value_.compare_exchange_weak(
        expected, wanted, std::memory_order(weakened(success, Unpublished::kEntries)),
        std::memory_order(weakened(failure, Unpublished::kEntries)));
  }

 private:
  static Order weakened(Order order, Unpublished kind) {
    return kWhich == Unpublished::kAll || kWhich == kind ? std::memory_order_acquire : order;
  }
};
template <class Value>
using PublishesNothing = PublishesLess<Value, Unpublished::kAll>;
template <class Value>
using PublishesNoEntry = PublishesLess<Value, Unpublished::kEntries>;
template <class Value>
using PublishesNoPage = PublishesLess<Value, Unpublished::kPages>;

TEST(BwTreeStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNothing) {
  EXPECT_RACE_FOUND(run_mutant<PublishesNothing>(seed));
}

TEST(BwTreeStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNoEntry) {
  EXPECT_RACE_FOUND(run_mutant<PublishesNoEntry>(seed));
}

TEST(BwTreeStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNoPage) {
  EXPECT_RACE_FOUND(run_mutant<PublishesNoPage>(seed));
}
#endif

}  // namespace
}  // namespace diptych::oltp
