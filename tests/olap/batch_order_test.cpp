// Queries of a batch do not wait for one that does not end, or that takes far longer than its rows
// explain: it is set back behind them, whether it runs alone or shares their scans.

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/olap/exec_table.h"
#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

constexpr base::TableId kItems(0);
constexpr int64_t kItemCount = 3'000;
// Estimated at few rows.
constexpr const char* kEndless =
    "with recursive r(n) as (select 1 union all select n from r where n < 5) select * from r";
constexpr const char* kCount = "select count(*) from item";

class BatchOrder : public testing::TestWithParam<uint32_t> {
 protected:
  struct Delivered {
    size_t query;
    base::Result<QueryResult> result;
    uint64_t after_ns;
  };

  BatchOrder() {
    EXPECT_EQ(define(&catalog_, "CREATE TABLE item (id INT PRIMARY KEY, price INT)"), "");
    replica_.replica().add_table(*catalog_.find_table("item"));
    for (int64_t i = 0; i < kItemCount; ++i) {
      replica_.insert(kItems, {test::number(i), test::number(i % 7)});
    }
  }

  // The results in the order in which they come. All queries may run for `run_ns_max` at once, and
  // those of `endless` are cancelled as soon as all others have come.
  std::vector<Delivered> run(const std::vector<std::string>& texts,
                             const std::vector<size_t>& endless, uint64_t run_ns_max) {
    std::vector<Plan> plans;
    for (const std::string& text : texts) {
      auto plan = prepare(text, catalog_, {static_cast<size_t>(kItemCount)});
      EXPECT_TRUE(plan.ok()) << plan.error().to_string() << "\n" << text;
      plans.push_back(*std::move(plan));
    }
    std::vector<QueryControl> controls(texts.size());
    std::vector<QueryRun> queries;
    for (size_t i = 0; i < texts.size(); ++i) {
      queries.push_back({.plan = &plans[i], .control = &controls[i], .run_ns_max = run_ns_max});
    }
    std::vector<Delivered> all;
    Executor executor(test::placement(GetParam()));
    const StopFlag stop{false};
    const uint64_t start_ns = base::steady_ns();
    executor.run_batch(queries, replica_.replica(), stop,
                       [&](size_t query, base::Result<QueryResult> result) {
                         all.push_back({query, std::move(result), base::steady_ns() - start_ns});
                         if (all.size() + endless.size() < texts.size()) return;
                         for (const size_t one : endless) controls[one].cancel();
                       });
    return all;
  }
  static void expect_count(const Delivered& one, int64_t count) {
    ASSERT_TRUE(one.result.ok()) << one.query << ": " << one.result.error().to_string();
    EXPECT_EQ(base::to_string(one.result->rows[0][0]), std::to_string(count)) << one.query;
  }
  static void expect_cancelled(const Delivered& one) {
    ASSERT_FALSE(one.result.ok());
    EXPECT_EQ(one.result.code(), base::ErrorCode::kCancelled) << one.query;
  }

  base::Catalog catalog_;
  test::TestReplica replica_;
};

constexpr uint64_t kSecond = 1'000'000'000;

TEST_P(BatchOrder, AQueryWithoutEndComesLast) {
  const auto all = run({kEndless, kCount}, {0}, 4 * kSecond);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].query, 1U);
  expect_count(all[0], kItemCount);
  expect_cancelled(all[1]);
}

// All ride, since all scan the table. The others do not wait for as long as each
// query may run.
TEST_P(BatchOrder, AQueryWithoutEndLeavesARide) {
  constexpr uint64_t kRideNsMax = 8 * kSecond;
  const std::string endless = std::string(kEndless) + ", item";
  const auto all = run({endless, "select id from item where price < 9", "select id + 1 from item"},
                       {0}, kRideNsMax);
  ASSERT_EQ(all.size(), 3U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NE(all[i].query, 0U);
    EXPECT_LT(all[i].after_ns, kRideNsMax);
    ASSERT_TRUE(all[i].result.ok()) << all[i].result.error().to_string();
    EXPECT_EQ(all[i].result->rows.size(), static_cast<size_t>(kItemCount));
  }
  expect_cancelled(all[2]);
}

// The middle one needs more than its first slices, of which it gets ever longer ones.
TEST_P(BatchOrder, AQueryOfManyRoundsEndsBesideOneWithoutEnd) {
  const std::string many =
      "with recursive r(n) as (select 1 union all select n + 1 from r where n < {}) "
      "select count(*) from r";
  constexpr int64_t kRounds = 80'000;
  const auto all =
      run({kEndless, fmt::format(fmt::runtime(many), kRounds), kCount}, {0}, 30 * kSecond);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].query, 2U);
  expect_count(all[0], kItemCount);
  EXPECT_EQ(all[1].query, 1U);
  expect_count(all[1], kRounds);
  expect_cancelled(all[2]);
}

// Its own limit is shorter than a slice: it fails at once.
TEST_P(BatchOrder, AQueryThatMayNotRunForASliceIsNotSetBack) {
  const auto all = run({kEndless, kCount}, {0}, kSecond / 100);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].query, 0U);
  ASSERT_FALSE(all[0].result.ok());
  EXPECT_EQ(all[0].result.code(), base::ErrorCode::kDeadlineExceeded);
  expect_count(all[1], kItemCount);
}

INSTANTIATE_TEST_SUITE_P(Threads, BatchOrder, testing::Values(1U, 3U));

}  // namespace
}  // namespace diptych::olap
