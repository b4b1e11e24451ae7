// With one worker an index neither read-modify-writes nor fences: the atomics here count what does.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/bw_tree.h"
#include "oltp/hash_index.h"
#include "oltp/hash_index_body.h"

namespace diptych::oltp {
namespace {

uint64_t locked_steps = 0;  // of the only thread

template <class Value>
class CountedAtomic {
 public:
  CountedAtomic() = default;
  CountedAtomic(Value value) : value_(value) {}  // NOLINT: as std::atomic

  Value load(std::memory_order order) const {
    // seq_cst or less: as given, here and below.
    return value_.load(std::memory_order(order));
  }
  void store(Value value, std::memory_order order) {
    // seq_cst: it would be a fence.
    if (order == std::memory_order_seq_cst) ++locked_steps;
    value_.store(value, std::memory_order(order));
  }
  Value exchange(Value value, std::memory_order order) {
    ++locked_steps;
    // seq_cst or less: as given.
    return value_.exchange(value, std::memory_order(order));
  }
  Value fetch_add(Value more, std::memory_order order) {
    ++locked_steps;
    // seq_cst or less: as given.
    return value_.fetch_add(more, std::memory_order(order));
  }
  Value fetch_sub(Value less, std::memory_order order) {
    ++locked_steps;
    // seq_cst or less: as given.
    return value_.fetch_sub(less, std::memory_order(order));
  }
  Value fetch_or(Value bits, std::memory_order order) {
    ++locked_steps;
    // seq_cst or less: as given.
    return value_.fetch_or(bits, std::memory_order(order));
  }
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order success,
                               std::memory_order failure = std::memory_order_relaxed) {
    ++locked_steps;
    // seq_cst or less: as given.
    return value_.compare_exchange_strong(expected, wanted, std::memory_order(success),
                                          std::memory_order(failure));
  }
  bool compare_exchange_weak(Value& expected, Value wanted, std::memory_order success,
                             std::memory_order failure = std::memory_order_relaxed) {
    ++locked_steps;
    // seq_cst or less: as given.
    return value_.compare_exchange_weak(expected, wanted, std::memory_order(success),
                                        std::memory_order(failure));
  }

 private:
  std::atomic<Value> value_{};
};

constexpr uint64_t kLoneEntries = 6000;

constexpr auto kAlwaysFree = [](base::RowId) { return KeyVerdict::kFree; };

// The tree splits and merges, at the end and in the midst, and is read in every way.
uint64_t locked_steps_of_a_tree(Concurrency concurrency) {
  BwTree<1, 64, CountedAtomic> tree(concurrency, base::NumaNode(0));
  const UniquenessCheck check(kAlwaysFree);
  locked_steps = 0;
  for (uint64_t i = 0; i < kLoneEntries; ++i) {
    const uint64_t key = i % 2 == 0 ? i : (i * 7919) % kLoneEntries;
    tree.insert({{key / 3}, i}, i % 3 == 0 ? &check : nullptr);
    if (i % 64 == 0) tree.reclaim();
  }
  uint64_t met = 0;
  const auto visit = [&](const auto&) { return ++met != 0; };
  tree.find({7}, visit);
  tree.scan_forward({{0}, 0}, BwEntry<1>::infinity(), visit);
  tree.scan_backward({{0}, 0}, BwEntry<1>::infinity(), visit);
  EXPECT_GT(met, 2 * kLoneEntries);
  std::vector<std::array<uint64_t, 1>> keys(20, {11});
  std::vector<uint64_t> rows(keys.size());
  tree.find_each(keys, rows);
  for (uint64_t i = 0; i < kLoneEntries; ++i) {
    const uint64_t key = i % 2 == 0 ? i : (i * 7919) % kLoneEntries;
    tree.erase({{key / 3}, i});
  }
  const uint64_t steps = locked_steps;
  EXPECT_EQ(tree.check(), 0u);
  return steps;
}

// The table grows at inserts, and buckets with rows of one key get chains, which are taken apart.
uint64_t locked_steps_of_a_hash_index(Concurrency concurrency) {
  BasicHashIndex<CountedAtomic> hash(concurrency, base::NumaNode(0));
  const UniquenessCheck check(kAlwaysFree);
  const auto key_of = [](uint64_t i) {
    return std::to_string(i % 8 == 0 ? i / 256 : i + kLoneEntries);
  };
  const size_t bytes_at_first = hash.memory_bytes();
  locked_steps = 0;
  for (uint64_t i = 0; i < kLoneEntries; ++i) {
    EXPECT_EQ(hash.insert(key_of(i), base::RowId(i), i % 3 == 0 ? &check : nullptr),
              IndexInsert::kInserted);
  }
  uint64_t met = 0;
  const auto visit = [&](base::RowId) { return ++met != 0; };
  hash.find(key_of(0), CandidateVisitor(visit));
  EXPECT_GE(met, 32u);
  hash.reclaim();
  const uint64_t steps = locked_steps;
  EXPECT_EQ(hash.check(), kLoneEntries);
  locked_steps = 0;
  for (uint64_t i = 0; i < kLoneEntries; ++i) EXPECT_TRUE(hash.erase(key_of(i), base::RowId(i)));
  EXPECT_GT(hash.memory_bytes(), bytes_at_first + kLoneEntries * sizeof(uint64_t));
  return steps + locked_steps;
}

TEST(SingleWorker, ATreeIsChangedByPlainStores) {
  EXPECT_EQ(locked_steps_of_a_tree(Concurrency::kSingle), 0u);
  EXPECT_GT(locked_steps_of_a_tree(Concurrency::kShared), kLoneEntries);
}

TEST(SingleWorker, AHashIndexIsChangedByPlainStores) {
  EXPECT_EQ(locked_steps_of_a_hash_index(Concurrency::kSingle), 0u);
  EXPECT_GT(locked_steps_of_a_hash_index(Concurrency::kShared), kLoneEntries);
}

}  // namespace
}  // namespace diptych::oltp
