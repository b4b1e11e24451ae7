// Checkpoints one after the other beside transactions, queries, DDL and saves, in memory that holds
// little of the replica. What is there after a crash is what was acknowledged.

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr int32_t kKeptAccounts = 5'000;

class CheckpointStress : public DirectoryFixture {};

TEST_F(CheckpointStress, OneAfterTheOtherLosesNothing) {
  { Bank::open({.path = path()})->fill(kKeptAccounts); }
  std::atomic<int64_t> bumped{0};
  {
    auto bank = Bank::open({.path = path(),
                            .olap_memory_bytes_max = 64 << 10,
                            .block_rows = storage::kBlockRowsMin,
                            .apply_interval_ns = 2'000'000,
                            .log_file_bytes = 1 << 20,
                            .checkpoint_interval_ns = 1'000'000,
                            .checkpoint_bytes_per_second = 8 << 20});
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (uint32_t seed = 0; seed < 2; ++seed) {
      threads.emplace_back([&, seed] {
        std::mt19937 random(seed);
        // relaxed: it only ends the loop.
        while (!stop.load(std::memory_order_relaxed)) {
          const auto id = static_cast<int32_t>(random() % kKeptAccounts);
          const auto done = bank->database->call(bank->bump, {.id = id, .balance = {}}).get();
          ASSERT_TRUE(done.ok()) << done.error().to_string();
          bumped.fetch_add(1, std::memory_order_relaxed);  // relaxed: read after the join
        }
      });
    }
    threads.emplace_back([&] {
      // relaxed: it only ends the loop.
      while (!stop.load(std::memory_order_relaxed)) {
        auto sum = bank->number("SELECT sum(balance) FROM account");
        ASSERT_TRUE(sum.ok()) << sum.error().to_string();
        ASSERT_EQ(*sum, int64_t{kKeptAccounts} * 10'000);
      }
    });
    for (int i = 0; i < 12; ++i) {
      // relaxed, here and below: a count of what has happened already.
      const int64_t before = bumped.load(std::memory_order_relaxed);
      while (bumped.load(std::memory_order_relaxed) < before + 5) std::this_thread::yield();
      std::string ddl = "CREATE INDEX by_version" + std::to_string(i) + " ON account (version)";
      const auto done = i % 6 == 3   ? bank->database->execute_ddl(ddl)
                        : i % 6 == 5 ? bank->database->save()
                                     : bank->database->checkpoint();
      ASSERT_TRUE(done.ok()) << done.error().to_string();
    }
    stop.store(true, std::memory_order_relaxed);  // relaxed: it only ends the loops
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(bank->database->metrics().checkpoint_ns.count(), 4U);
    static_cast<void>(bank->database->discard());
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  expect_equal_replicas(bank->database.get());
  // relaxed: the threads were joined.
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"),
            bumped.load(std::memory_order_relaxed));
}

}  // namespace
}  // namespace diptych::dispatcher
