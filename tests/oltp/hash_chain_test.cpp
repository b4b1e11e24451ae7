// HashChains: in a table that may not grow, an entry is near, however many there are; and all is in
// its place when the table grows at last.

#include "oltp/hash_chain.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/hash_index.h"
#include "oltp/hash_index_body.h"

namespace diptych::oltp {
namespace {

// As std::atomic, of one thread; counts loads.
template <class Value>
class CountingAtomic {
 public:
  static uint64_t loads;

  CountingAtomic() = default;
  explicit CountingAtomic(Value value) : value_(value) {}
  Value load(std::memory_order) const {
    ++loads;
    return value_;
  }
  void store(Value value, std::memory_order) { value_ = value; }
  Value fetch_add(Value more, std::memory_order) {
    value_ += more;
    return value_ - more;
  }
  Value fetch_sub(Value less, std::memory_order) {
    value_ -= less;
    return value_ + less;
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order,
                               std::memory_order = std::memory_order_relaxed) {
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = wanted;
    return true;
  }

 private:
  Value value_{};
};
template <class Value>
uint64_t CountingAtomic<Value>::loads = 0;

std::string key_of(uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

using CountedIndex = BasicHashIndex<CountingAtomic>;
uint64_t& loads = CountingAtomic<uint64_t>::loads;

TEST(HashChains, AnEntryIsNearInATableThatIsFarTooSmall) {
  constexpr uint64_t kRows = 100'000;  // the table is made for 896
  CountedIndex index(Concurrency::kShared, base::NumaNode(0));
  const auto nobody_has_it = [](base::RowId) { return KeyVerdict::kFree; };
  const UniquenessCheck check(nobody_has_it);
  for (uint64_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(index.insert(key_of(row), base::RowId(row), &check), IndexInsert::kInserted);
  }
  // A way has 3 or 4 buckets of 7 entries, and an insertion goes it three times; 400 entries share
  // a first bucket.
  loads = 0;
  for (uint64_t row = kRows; row < kRows + 1000; ++row) {
    index.insert(key_of(row), base::RowId(row), &check);
  }
  EXPECT_LT(loads / 1000, 150u);
  EXPECT_EQ(index.check(), kRows + 1000);

  const size_t bytes = index.memory_bytes();
  index.reclaim();
  EXPECT_EQ(index.check(), kRows + 1000);
  loads = 0;
  for (uint64_t row = 0; row < kRows; ++row) {
    bool is_there = false;
    index.visit(key_hash(key_of(row)), [&](base::RowId found) {
      is_there |= found.value == row;
      return !is_there;
    });
    ASSERT_TRUE(is_there) << row;
  }
  EXPECT_LT(loads / kRows, 12u);
  // What was behind the buckets is used again by the next such transaction.
  const size_t grown = index.memory_bytes();
  EXPECT_GT(grown, bytes);
  for (uint64_t row = 0; row < kRows; ++row)
    ASSERT_TRUE(index.erase(key_of(row), base::RowId(row)));
  EXPECT_EQ(index.check(), 1000u);
}

// Keys come and go, and their number stays: so does the memory, and so do the chains.
TEST(HashChains, StayShortWhereKeysComeAndGo) {
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    constexpr uint64_t kRows = 6'000;
    CountedIndex index(concurrency, base::NumaNode(0));
    uint64_t next = 0;
    const auto insert = [&] {
      index.insert(key_of(next), base::RowId(next % (2 * kRows)), nullptr);
      ++next;
    };
    const auto turn_over = [&](int times) {
      for (uint64_t i = 0; i < static_cast<uint64_t>(times) * kRows; ++i) {
        const uint64_t oldest = next - kRows;
        ASSERT_TRUE(index.erase(key_of(oldest), base::RowId(oldest % (2 * kRows))));
        insert();
        if (i % 100 == 0) index.reclaim();
      }
    };
    const auto loads_of_an_insert = [&] {
      turn_over(1);
      loads = 0;
      for (int i = 0; i < 1000; ++i) insert();
      const uint64_t taken = loads;
      for (int i = 0; i < 1000; ++i) {
        --next;
        index.erase(key_of(next), base::RowId(next % (2 * kRows)));
      }
      return static_cast<double>(taken) / 1000;
    };
    while (next < kRows) insert();
    index.reclaim();
    const double at_first = loads_of_an_insert();
    turn_over(5);
    const size_t bytes = index.memory_bytes();
    turn_over(100);
    EXPECT_LE(static_cast<double>(index.memory_bytes()), 1.1 * static_cast<double>(bytes));
    EXPECT_LE(loads_of_an_insert(), 1.2 * at_first);
    EXPECT_EQ(index.check(), kRows);
  }
}

// Of one worker, who splits as it inserts, so that a boundary would only look at buckets.
TEST(HashChains, AreLeftToTheSplitsWhereTheTableGrows) {
  constexpr uint64_t kRows = 100'000;
  constexpr uint64_t kBatchRows = 100;
  CountedIndex index(Concurrency::kSingle, base::NumaNode(0));
  uint64_t of_boundaries = 0;
  for (uint64_t row = 0; row < kRows; ++row) {
    index.insert(key_of(row), base::RowId(row), nullptr);
    if (row % kBatchRows != kBatchRows - 1) continue;
    const uint64_t before = loads;
    index.reclaim();
    of_boundaries += loads - before;
  }
  EXPECT_LE(of_boundaries, 2 * kRows / kBatchRows);
}

// More than the hash bits can tell apart: a key that is erased and inserted again and again within
// a batch leaves as many entries with the same bits.
TEST(HashChains, EntriesWithTheSameHashBitsLieOneBehindTheOther) {
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    constexpr uint64_t kRows = 500;
    CountedIndex index(concurrency, base::NumaNode(0));
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(index.insert(key_of(7), base::RowId(row), nullptr), IndexInsert::kInserted);
      ASSERT_EQ(index.insert(key_of(row + 100), base::RowId(kRows + row), nullptr),
                IndexInsert::kInserted);
    }
    EXPECT_EQ(index.insert(key_of(7), base::RowId(3), nullptr), IndexInsert::kPresent);
    std::vector<bool> seen(2 * kRows);
    index.visit(key_hash(key_of(7)), [&](base::RowId found) {
      EXPECT_FALSE(seen[found.value]);
      seen[found.value] = true;
      return true;
    });
    EXPECT_EQ(std::count(seen.begin(), seen.begin() + kRows, true), kRows);
    EXPECT_EQ(index.check(), 2 * kRows);
    index.reclaim();
    EXPECT_EQ(index.check(), 2 * kRows);
    for (uint64_t row = 0; row < kRows; ++row) {
      ASSERT_TRUE(index.erase(key_of(7), base::RowId(row)));
      ASSERT_FALSE(index.erase(key_of(7), base::RowId(row)));
    }
    EXPECT_EQ(index.check(), kRows);
  }
}

}  // namespace
}  // namespace diptych::oltp
