// Times that are meant as "never": they overflow nothing, so nobody waits in a busy loop for them,
// and nothing is done at once that was to be done at their end.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "base/thread.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

class EndlessTime : public DirectoryFixture {
 protected:
  // CPU time of such threads, in so many milliseconds of real time.
  static uint64_t cpu_ms(const char* threads, int pause_ms) {
    const uint64_t before_ns = base::named_threads_cpu_ns(threads);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    return (base::named_threads_cpu_ns(threads) - before_ns) / 1'000'000;
  }
};

TEST_F(EndlessTime, OfAQueryCostsNothingWhileItWaits) {
  const auto bank = Bank::open({});
  bank->fill(10);
  std::vector<RunningQuery> waiting;
  uint64_t busy_ms = 0;
  // A load has the gate, so the query waits.
  const auto loaded = bank->database->load(bank->accounts.table, [&]() -> RowBatch {
    for (const uint64_t timeout_ns : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 62}) {
      // Of another thread: the source's own calls are refused.
      std::thread([&] {
        auto query = bank->database->start_query("SELECT 1", {.timeout_ns = timeout_ns});
        EXPECT_TRUE(query.ok()) << query.error().to_string();
        waiting.push_back(std::move(*query));
      }).join();
      busy_ms += cpu_ms("olap-watch", 100);
    }
    return {};
  });
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_LT(busy_ms, 50U);
  for (RunningQuery& query : waiting) {
    EXPECT_TRUE(query.wait_for(UINT64_MAX));
    EXPECT_TRUE(query.get().ok());
  }
}

TEST_F(EndlessTime, BetweenCheckpointsAndAppliesCostsNothing) {
  Bank::open({.path = path()})->fill(10);
  auto bank = Bank::open(
      {.path = path(), .apply_interval_ns = UINT64_MAX, .checkpoint_interval_ns = UINT64_MAX});
  ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  const uint64_t checkpoints = bank->database->metrics().checkpoints;
  // Of a few: once there is what the call above has left to do.
  uint64_t busy_ms = UINT64_MAX;
  for (int i = 0; i < 3; ++i) busy_ms = std::min(busy_ms, cpu_ms("olap", 100));
  EXPECT_LT(busy_ms, 50U);
  EXPECT_EQ(bank->database->metrics().checkpoints, checkpoints);
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 1);
  static_cast<void>(bank->database->discard());
}

TEST_F(EndlessTime, AfterWhichAQueryIsALongOneIsNeverOver) {
  const auto bank = Bank::open({.long_query_ns = UINT64_MAX});
  bank->fill(10);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 10);
  EXPECT_EQ(bank->database->metrics().long_queries, 0U);
}

}  // namespace
}  // namespace diptych::dispatcher
