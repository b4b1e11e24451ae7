// Both sides at once: what a query may see, and that the replicas agree at the end.

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr int32_t kHybridAccounts = 200;

DatabaseOptions small_batches() {
  DatabaseOptions options;
  options.queue_requests = 64;
  options.batch_requests_max = 16;
  options.apply_interval_ns = 2'000'000;
  return options;
}

TEST(HybridBankStress, EveryQuerySeesOneSnapshotAndReplicasAreEqualAtTheEnd) {
  auto bank = Bank::open(small_batches());
  bank->fill(kHybridAccounts);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      // relaxed: it only ends the loop.
      while (!stop.load(std::memory_order_relaxed)) {
        const auto from = static_cast<int32_t>(random() % kHybridAccounts);
        const auto to = static_cast<int32_t>(random() % kHybridAccounts);
        if (from == to) continue;
        auto done = bank->database->call(bank->transfer, {.from = from, .to = to, .cents = 10});
        auto outcome = done.get();
        ASSERT_TRUE(outcome.ok() || outcome.code() == base::ErrorCode::kAborted)
            << outcome.error().to_string();
      }
    });
  }
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 60; ++i) {
        auto sum = bank->number("SELECT sum(balance) FROM account");
        ASSERT_TRUE(sum.ok()) << sum.error().to_string();
        ASSERT_EQ(*sum, int64_t{kHybridAccounts} * 10'000) << "half a transaction is visible";
      }
      // relaxed: it only ends the loops.
      stop.store(true, std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_equal_replicas(bank->database.get());
  const Metrics metrics = bank->database->metrics();
  EXPECT_EQ(metrics.replica_vid, metrics.last_vid);
  EXPECT_EQ(metrics.queries_completed, 120u);
  EXPECT_EQ(metrics.wait_apply_ns.count(), 120u);
}

// Each thread owns an account, bumps it, and must see its own count at once.
TEST(HybridReadYourWritesStress, AQuerySeesWhatWasAcknowledgedBeforeItWasSubmitted) {
  auto bank = Bank::open(small_batches());
  bank->fill(kHybridAccounts);
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    // relaxed: it only ends the loop.
    for (int32_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      auto done = bank->database->call(bank->bump, {.id = 10 + i % 50, .balance = {}});
      ASSERT_TRUE(done.get().ok());
    }
  });
  std::vector<std::thread> writers;
  for (int32_t id = 0; id < 3; ++id) {
    writers.emplace_back([&, id] {
      const std::string sql = "SELECT version FROM account WHERE id = " + std::to_string(id);
      for (int64_t i = 1; i <= 80; ++i) {
        ASSERT_TRUE(bank->database->call(bank->bump, {.id = id, .balance = {}}).get().ok());
        auto seen = bank->number(sql);
        ASSERT_TRUE(seen.ok()) << seen.error().to_string();
        ASSERT_EQ(*seen, i);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  // relaxed: it only ends the loop.
  stop.store(true, std::memory_order_relaxed);
  noise.join();
  expect_equal_replicas(bank->database.get());
}

TEST(HybridLoadStress, ALoadIsSeenWholeOrNotAtAllWhileBothSidesRun) {
  auto bank = Bank::open(small_batches());
  bank->fill(kHybridAccounts);
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    // relaxed: it only ends the loop.
    for (int32_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      ASSERT_TRUE(
          bank->database->call(bank->bump, {.id = i % kHybridAccounts, .balance = {}}).get().ok());
    }
  });
  std::thread querier([&] {
    // relaxed: it only ends the loop.
    while (!stop.load(std::memory_order_relaxed)) {
      auto count = bank->number("SELECT count(*) FROM account");
      ASSERT_TRUE(count.ok());
      ASSERT_EQ((*count - kHybridAccounts) % 1'000, 0);
    }
  });
  for (int32_t round = 0; round < 5; ++round) {
    std::vector<Account> rows;
    for (int32_t i = 0; i < 1'000; ++i) rows.push_back({1'000 * (round + 1) + i, {1}, 0});
    size_t given = 0;
    const auto slices = [&]() -> RowBatch {
      const size_t first = given;
      given = std::min<size_t>(given + 300, rows.size());
      return {reinterpret_cast<const std::byte*>(rows.data() + first), given - first};
    };
    ASSERT_TRUE(bank->database->load(bank->accounts.table, slices).ok());
    // Again: every row is a duplicate, so nothing of it may stay.
    given = 0;
    rows.front().id = -1 - round;
    auto failed = bank->database->load(bank->accounts.table, slices);
    ASSERT_EQ(failed.code(), base::ErrorCode::kAlreadyExists);
  }
  // relaxed: it only ends the loops.
  stop.store(true, std::memory_order_relaxed);
  caller.join();
  querier.join();
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), kHybridAccounts + 5'000);
  expect_equal_replicas(bank->database.get());
}

}  // namespace
}  // namespace diptych::dispatcher
