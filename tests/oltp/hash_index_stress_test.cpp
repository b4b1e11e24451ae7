// HashIndex under threads, in a table that is too small, so that buckets have chains: what an
// entry's finder sees of its row, that no change is lost, that a unique key has one row. And
// mutants of its atomics, each of which one of these must find out.

#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/hash_index.h"
#include "oltp/hash_index_body.h"
#include "tests/mutant.h"
#include "tests/oltp/stress_yield.h"
#include "tests/relaxed_atomic.h"

namespace diptych::oltp {
namespace {

using diptych::test::fail_if_found;

constexpr uint64_t kHashThreads = 4;

// The threads outnumber the cores: each comes to a stop amid what it does.
void stop_now_and_then() {
  static std::atomic<uint32_t> threads{0};
  // relaxed: only tells the threads' sequences apart.
  thread_local std::minstd_rand random(threads.fetch_add(1, std::memory_order_relaxed) + 1);
  if (random() % 16 == 0) let_others_in();
}

std::string hash_key(uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// What the threads found wrong first.
class HashFindings {
 public:
  void expect(bool condition, const char* why) {
    if (condition) return;
    const std::lock_guard guard(mutex_);
    if (first_.empty()) first_ = why;
  }
  std::string first() const {
    const std::lock_guard guard(mutex_);
    return first_;
  }

 private:
  mutable std::mutex mutex_;
  std::string first_;
};

void on_hash_threads(const std::function<void(uint64_t thread)>& work) {
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kHashThreads; ++thread) threads.emplace_back(work, thread);
}

// Each thread writes its rows and adds their entries; all look for all rows. Who finds one reads
// it, as plain memory: only the entry can have published it.
template <template <class> class Atomic>
std::string read_what_is_found(uint64_t seed) {
  constexpr uint64_t kRows = 16'000;  // 1,792 have room without chains
  BasicHashIndex<Atomic> index(Concurrency::kShared, base::NumaNode(0));
  std::vector<uint64_t> rows(kRows);  // [row]: its key
  HashFindings findings;
  on_hash_threads([&](uint64_t thread) {
    std::mt19937_64 random(seed + thread);
    uint64_t newest = thread;
    for (uint64_t row = thread; row < kRows; row += kHashThreads) {
      rows[row] = row + 1;
      const IndexInsert outcome = index.insert(hash_key(row + 1), base::RowId(row), nullptr);
      findings.expect(outcome == IndexInsert::kInserted, "an own entry was new");
      newest = row;
      // Near what the others do at present; it may be there or not.
      const uint64_t wanted = (newest + random() % 64) % kRows + 1;
      index.visit(key_hash(hash_key(wanted)), [&](base::RowId found) {
        findings.expect(rows[found.value] == found.value + 1, "who finds an entry sees its row");
        return true;
      });
    }
  });
  findings.expect(index.entry_count() == kRows, "all entries are there");
  for (uint64_t row = 0; row < kRows; ++row) {
    bool is_there = false;
    index.visit(key_hash(hash_key(row + 1)), [&](base::RowId found) {
      is_there |= found.value == row;
      return !is_there;
    });
    findings.expect(is_there, "no entry is lost");
  }
  return findings.first();
}

// Each thread adds and removes entries of its own, side by side with others' in the same buckets,
// and knows what every call must say. The table grows between two rounds.
template <template <class> class Atomic>
std::string change_buckets(uint64_t seed) {
  constexpr uint64_t kKeys = 3000;
  BasicHashIndex<Atomic> index(Concurrency::kShared, base::NumaNode(0));
  std::set<uint64_t> owned[kHashThreads];
  HashFindings findings;
  for (uint64_t round = 0; round < 6 && findings.first().empty(); ++round) {
    on_hash_threads([&](uint64_t thread) {
      std::mt19937_64 random(seed + round * kHashThreads + thread);
      std::set<uint64_t>& mine = owned[thread];
      for (int i = 0; i < 2000; ++i) {
        const uint64_t row = random() % kKeys * kHashThreads + thread;
        if (random() % 4 < (round % 2 == 0 ? 3u : 1u)) {
          findings.expect(
              index.insert(hash_key(row), base::RowId(row), nullptr) ==
                  (mine.insert(row).second ? IndexInsert::kInserted : IndexInsert::kPresent),
              "an insertion says what was there");
        } else {
          findings.expect(index.erase(hash_key(row), base::RowId(row)) == (mine.erase(row) == 1),
                          "a removal says what was there");
        }
      }
    });
    size_t entries = 0;
    for (const auto& mine : owned) entries += mine.size();
    findings.expect(index.check() == entries, "the count is exact between batches");
    index.reclaim();
    index.check();
  }
  return findings.first();
}

// Rows claim keys as transactions do: the row says that it has the key, then its entry is added. Of
// the rows that found a key free, one at a time may hold it (H2).
template <template <class> class Atomic>
std::string claim_hash_keys(uint64_t seed) {
  constexpr uint64_t kKeys = 3;
  constexpr uint64_t kNone = ~uint64_t{0};
  BasicHashIndex<Atomic> index(Concurrency::kShared, base::NumaNode(0));
  HashFindings findings;
  std::atomic<uint64_t> wanted[kHashThreads];  // [row]; writer: the thread of that number
  std::atomic<int> holders[kKeys] = {};
  // relaxed: before the threads.
  for (auto& key : wanted) key.store(kNone, std::memory_order_relaxed);
  on_hash_threads([&](uint64_t row) {
    std::mt19937_64 random(seed + row);
    for (int i = 0; i < 3000 && findings.first().empty(); ++i) {
      const uint64_t key = random() % kKeys;
      // seq_cst: as a version is put into its slot, before the entry is added.
      wanted[row].store(key, std::memory_order_seq_cst);
      const auto verdict = [&](base::RowId other) {
        // seq_cst: as a version's word is read.
        const uint64_t its = wanted[other.value].load(std::memory_order_seq_cst);
        return its == key ? KeyVerdict::kConflict : KeyVerdict::kFree;
      };
      const UniquenessCheck check(verdict);
      const bool holds =
          index.insert(hash_key(key), base::RowId(row), &check) == IndexInsert::kInserted;
      if (holds) {
        // relaxed: the count is all that is told, here and below.
        const int before = holders[key].fetch_add(1, std::memory_order_relaxed);
        findings.expect(before == 0, "a unique key has one row");
        let_others_in();
        // relaxed: likewise.
        holders[key].fetch_sub(1, std::memory_order_relaxed);
        findings.expect(index.erase(hash_key(key), base::RowId(row)), "an own entry was there");
      }
      // release: pairs with the load in the verdict.
      wanted[row].store(kNone, std::memory_order_release);
    }
  });
  return findings.first();
}

// As std::atomic, with stops in between.
template <class Value>
class Halting {
 public:
  Halting() = default;
  explicit Halting(Value value) : value_(value) {}
  Value load(std::memory_order order) const {
    // seq_cst or less: as given, here and below.
    return value_.load(std::memory_order(order));
  }
  void store(Value value, std::memory_order order) {
    // seq_cst or less: as given.
    value_.store(value, std::memory_order(order));
  }
  Value fetch_add(Value more, std::memory_order order) {
    // seq_cst or less: as given.
    return value_.fetch_add(more, std::memory_order(order));
  }
  Value fetch_sub(Value less, std::memory_order order) {
    // seq_cst or less: as given.
    return value_.fetch_sub(less, std::memory_order(order));
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order success,
                               std::memory_order failure = std::memory_order_relaxed) {
    stop_now_and_then();
    // seq_cst or less: as given.
    return value_.compare_exchange_strong(expected, wanted, std::memory_order(success),
                                          std::memory_order(failure));
  }

 protected:
  std::atomic<Value> value_{};
};

TEST(HashIndexStress, WhoFindsAnEntrySeesItsRow) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(read_what_is_found<Halting>(seed * 1000), "") << "seed " << seed;
  }
}

TEST(HashIndexStress, NoChangeIsLost) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(change_buckets<Halting>(seed * 1000), "") << "seed " << seed;
  }
}

TEST(HashIndexStress, AUniqueKeyHasOneRow) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(claim_hash_keys<Halting>(seed * 1000), "") << "seed " << seed;
  }
}

// Mutants.

// An entry or a chain's bucket is put where another one has come meanwhile.
template <class Value>
class PlacesBlindly : public Halting<Value> {
 public:
  using Halting<Value>::Halting;
  bool compare_exchange_strong(Value&, Value wanted, std::memory_order,
                               std::memory_order = std::memory_order_relaxed) {
    stop_now_and_then();
    // seq_cst: at least as given; the mutation is that it does not compare.
    this->value_.store(wanted, std::memory_order_seq_cst);
    return true;
  }
};

// An entry is seen by others only after its inserter's next look, as an order less than seq_cst
// would allow (H2): it waits in a store buffer until the inserter has loaded some more.
template <class Value>
class PlacesLate : public Halting<Value> {
 public:
  using Halting<Value>::Halting;
  Value load(std::memory_order order) const {
    // seq_cst or less: as given.
    const Value seen = this->value_.load(std::memory_order(order));
    if constexpr (std::is_same_v<Value, uint64_t>) {
      Buffered& late = buffered();
      if (late.place != nullptr && ++late.loads == 7) {
        stop_now_and_then();
        flush();
      }
    }
    return seen;
  }
  void store(Value value, std::memory_order order) {
    flush();
    // seq_cst or less: as given.
    this->value_.store(value, std::memory_order(order));
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order success,
                               std::memory_order failure = std::memory_order_relaxed) {
    if constexpr (std::is_same_v<Value, uint64_t>) {
      // seq_cst: at least as given; of the place, not of what is to be seen in it.
      if (!this->value_.compare_exchange_strong(expected, kReserved, std::memory_order_seq_cst)) {
        return false;
      }
      buffered() = {this, wanted, 0};
      return true;
    } else {
      return Halting<Value>::compare_exchange_strong(expected, wanted, success, failure);
    }
  }

 private:
  static constexpr uint64_t kReserved = ~uint64_t{0};  // no key of the test has such hash bits

  struct Buffered {
    PlacesLate* place = nullptr;
    Value value{};
    int loads = 0;
  };
  static Buffered& buffered() {
    thread_local Buffered late;
    return late;
  }
  static void flush() {
    Buffered& late = buffered();
    // seq_cst: too late, which is the mutation.
    if (late.place != nullptr) late.place->value_.store(late.value, std::memory_order_seq_cst);
    late.place = nullptr;
  }
};

constexpr uint64_t kHashTries = 20;

TEST(HashIndexStressDeathTest, TheCheckFindsAnEntryThatIsPlacedBlindly) {
  EXPECT_MUTANT_FOUND(kHashTries, fail_if_found(read_what_is_found<PlacesBlindly>(seed * 1000)),
                      "found: no entry is lost");
}

TEST(HashIndexStressDeathTest, TheCheckFindsAnEntryThatIsShownAfterTheSecondLook) {
  EXPECT_MUTANT_FOUND(kHashTries, fail_if_found(claim_hash_keys<PlacesLate>(seed * 1000)),
                      "found: a unique key has one row");
}

#ifdef DIPTYCH_TSAN
template <class Value>
using RelaxedEntries = std::conditional_t<std::is_pointer_v<Value>, std::atomic<Value>,
                                          diptych::test::RelaxedAtomic<Value>>;
template <class Value>
using RelaxedChains = std::conditional_t<std::is_pointer_v<Value>,
                                         diptych::test::RelaxedAtomic<Value>, std::atomic<Value>>;

TEST(HashIndexStressDeathTest, ThreadSanitizerFindsTheMutantWhoseEntriesPublishNothing) {
  EXPECT_RACE_FOUND(read_what_is_found<RelaxedEntries>(seed));
}

TEST(HashIndexStressDeathTest, ThreadSanitizerFindsTheMutantWhoseChainsPublishNothing) {
  EXPECT_RACE_FOUND(read_what_is_found<RelaxedChains>(seed));
}

// What adds an entry or a bucket, and what finds it, each alone. Stores take entries away, which
// publishes nothing.
TEST(HashIndexStressDeathTest, ThreadSanitizerFindsLoadsAndSwapsWeakenedAlone) {
  EXPECT_RACE_FOUND(read_what_is_found<diptych::test::RelaxedLoads>(seed));
  EXPECT_RACE_FOUND(read_what_is_found<diptych::test::RelaxedSwaps>(seed));
}
#endif

}  // namespace
}  // namespace diptych::oltp
