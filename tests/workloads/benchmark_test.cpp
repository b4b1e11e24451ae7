// Runs: numbers of clients, interruption, options that make no run, constant size, the grid.

#include "workloads/benchmark.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/workloads/loaded_session.h"
#include "workloads/isolation.h"
#include "workloads/tpcc/population.h"

namespace diptych::workloads {
namespace {

TEST(Benchmark, AnyNumberOfClientsRunsAndStops) {
  auto session = loaded_session(small_options(31));
  ASSERT_NE(session, nullptr);
  for (const auto& [transactions, queries] :
       {std::pair{0U, 1U}, std::pair{1U, 0U}, std::pair{1U, 1U}, std::pair{100U, 20U}}) {
    BenchmarkOptions options = small_options(32);
    options.transaction_clients = transactions;
    options.query_clients = queries;
    options.seconds = 0.5;
    const uint64_t begin_ns = base::steady_ns();
    auto report = session->measure(options, kNeverStop, ignore_progress);
    const double passed_seconds = base::seconds_since(begin_ns);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(report->transactions_per_second > 0, transactions > 0) << to_table(*report);
    EXPECT_EQ(std::isnan(report->transactions_per_second), transactions == 0);
    EXPECT_EQ(std::isnan(report->queries_per_second), queries == 0);
    EXPECT_EQ(report->transaction_latency_ms.count > 0, transactions > 0);
    EXPECT_EQ(report->oltp_bytes > 0, true);
    EXPECT_GE(report->measured_seconds, options.seconds);
    EXPECT_LE(report->measured_seconds,
              passed_seconds - options.warmup_seconds - options.cooldown_seconds);
  }
  expect_clean(session->verify(kNeverStop, ignore_progress));
}

TEST(Benchmark, EveryQueryRuns) {
  for (const QuerySet set : {QuerySet::kCh, QuerySet::kTemplates, QuerySet::kGrouped}) {
    BenchmarkOptions options = small_options(33);
    options.queries = set;
    auto session = loaded_session(options);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->queries().size(), catalog(set).size());
    for (const auto& [name, why] : session->unsupported()) ADD_FAILURE() << name << ": " << why;
    tpcc::Random random(33);
    for (const NamedQuery& query : session->queries()) {
      auto result = session->database()->query(instantiate(query.text, &random));
      EXPECT_TRUE(result) << query.name << ": " << result.error().to_string();
    }
  }
}

TEST(Benchmark, ConstantSizeKeepsTheSize) {
  BenchmarkOptions options = small_options(34, SizePolicy::kConstant);
  options.seconds = 2;
  auto report = run_benchmark(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << to_table(*report);
  EXPECT_GT(report->transactions["NewOrder"].completed, 100U) << to_table(*report);
  EXPECT_EQ(report->table_rows["orders"], 30'000U);
  EXPECT_EQ(report->table_rows["history"], 30'000U);
  EXPECT_NEAR(static_cast<double>(report->table_rows["neworder"]), 9'000, 500);
  EXPECT_NEAR(static_cast<double>(report->table_rows["orderline"]), 300'000, 6'000);
  EXPECT_EQ(report->table_rows["customer"], 30'000U);
}

// Whether each column has a value that is neither NULL nor 0: an engine that finds nothing would
// answer with the others.
bool tells_something(const dispatcher::QueryResult& result) {
  bool all = !result.rows.empty();
  for (size_t column = 0; column < result.columns.size(); ++column) {
    all = all && std::any_of(result.rows.begin(), result.rows.end(), [&](const auto& row) {
            const std::string text = base::to_string(row[column]);
            return text != "NULL" && text.find_first_not_of("0.") != std::string::npos;
          });
  }
  return all;
}

TEST(Benchmark, TheQueriesDateBoundsHoldLoadedAndNewRows) {
  BenchmarkOptions options = small_options(39, SizePolicy::kConstant);
  options.seconds = 3;
  options.query_clients = 0;
  auto session = loaded_session(options);
  ASSERT_NE(session, nullptr);
  auto report = session->measure(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  const auto ask = [&](const std::string& sql) {
    auto result = session->database()->query(sql);
    EXPECT_TRUE(result) << sql << ": " << result.error().to_string();
    return std::move(*result);
  };
  for (const char* sql : {"select max(o_entry_d) from orders", "select max(h_date) from history",
                          "select max(ol_delivery_d) from orderline"}) {
    const std::string newest = base::to_string(ask(sql).rows[0][0]);
    EXPECT_GT(newest, base::to_string(tpcc::kTimeOrigin)) << sql;
    EXPECT_LT(newest, "2011-01-01 02:00:00") << sql;
  }
  const std::set<std::string> bounded = {"Q04", "Q06", "Q07", "Q12", "Q14"};
  for (const NamedQuery& query : catalog(QuerySet::kCh)) {
    if (!bounded.contains(query.name)) continue;
    EXPECT_TRUE(tells_something(ask(std::string(query.text)))) << query.name;
  }
  tpcc::Random random(39);
  bool template_7 = false;
  for (int draw = 0; draw < 5 && !template_7; ++draw) {
    template_7 = tells_something(ask(instantiate(catalog(QuerySet::kTemplates)[3].text, &random)));
  }
  EXPECT_TRUE(template_7);
}

TEST(Benchmark, StoppedEarlyItReportsWhatItMeasuredAndStillChecks) {
  StopFlag stop{false};
  BenchmarkOptions options = small_options(35);
  options.seconds = 3600;
  const auto stop_when_measuring = [&](const std::string& what, double done) {
    // relaxed: a flag on its own.
    if (what == "measuring" && done > 0) stop.store(true, std::memory_order_relaxed);
  };
  auto report = run_benchmark(options, stop, stop_when_measuring);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->clean());
  EXPECT_LT(report->measured_seconds, 60);
}

TEST(Benchmark, StoppedWhileLoadingItIsCancelled) {
  StopFlag stop{false};
  const auto stop_when_loading = [&](const std::string& what, double done) {
    // relaxed: a flag on its own.
    if (what.starts_with("loading") && done > 0.1) stop.store(true, std::memory_order_relaxed);
  };
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("diptych-stop-{}", getpid());
  fs::create_directories(folder / "was_there");
  for (const char* name : {"", "new", "was_there"}) {
    // relaxed: a flag on its own.
    stop.store(false, std::memory_order_relaxed);
    BenchmarkOptions options = small_options(36);
    if (*name != '\0') options.keep_path = folder / name;
    auto report = run_benchmark(options, stop, stop_when_loading);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.code(), base::ErrorCode::kCancelled) << report.error().to_string();
    EXPECT_FALSE(fs::exists(folder / "new"));
    EXPECT_TRUE(fs::is_empty(folder / "was_there"));
  }
  fs::remove_all(folder);
}

TEST(Benchmark, StoppedInItsWarmUpItSaysThatNothingWasMeasured) {
  StopFlag stop{false};
  BenchmarkOptions options = small_options(40);
  options.warmup_seconds = 3600;
  const auto stop_when_warm = [&](const std::string& what, double done) {
    // relaxed: a flag on its own.
    if (what == "warming up" && done > 0) stop.store(true, std::memory_order_relaxed);
  };
  auto report = run_benchmark(options, stop, stop_when_warm);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->interrupted);
  EXPECT_EQ(report->measured_seconds, 0);
  EXPECT_TRUE(std::isnan(report->transactions_per_second));
  EXPECT_FALSE(report->clean());
  expect_clean(report->checks);
  EXPECT_NE(to_table(*report).find("Nothing was measured yet"), std::string::npos);
}

TEST(Benchmark, StoppedInItsChecksItSaysThatTheyWereNotMade) {
  for (const char* step : {"checking consistency on the OLTP replica",
                           "checking consistency on the OLAP replica", "comparing the replicas"}) {
    StopFlag stop{false};
    const auto stop_in_step = [&](const std::string& what, double) {
      // relaxed: a flag on its own.
      if (what == step) stop.store(true, std::memory_order_relaxed);
    };
    BenchmarkOptions options = small_options(41);
    options.seconds = 0.2;
    auto report = run_benchmark(options, stop, stop_in_step);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_FALSE(report->interrupted);
    EXPECT_GT(report->transactions_per_second, 0);
    EXPECT_FALSE(report->checks.replica_differences.has_value());
    EXPECT_FALSE(report->clean());
    EXPECT_NE(to_table(*report).find("not checked"), std::string::npos) << to_table(*report);
  }
}

TEST(Benchmark, ADatabaseThatCannotBeClosedIsInTheReport) {
  namespace fs = std::filesystem;
  BenchmarkOptions options = small_options(42);
  options.seconds = 0.2;
  options.keep_path = fs::path(testing::TempDir()) / fmt::format("diptych-close-{}", getpid());
  const auto remove_in_checks = [&](const std::string& what, double) {
    if (what.starts_with("checking")) fs::remove_all(options.keep_path);
  };
  auto report = run_benchmark(options, kNeverStop, remove_in_checks);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GT(report->transactions_per_second, 0);
  EXPECT_NE(report->checks.close_error.find(options.keep_path), std::string::npos)
      << report->checks.close_error;
  EXPECT_FALSE(report->clean());
  EXPECT_NE(to_table(*report).find(report->checks.close_error), std::string::npos);
}

TEST(Benchmark, CallsThatFailAreCounted) {
  auto session = loaded_session(small_options(43));
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->database()->close());
  BenchmarkOptions options = small_options(43);
  options.seconds = 0.1;
  auto report = session->measure(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GE(report->calls_failed, options.transaction_clients + options.query_clients);
  report->checks.consistency_violations = report->checks.replica_differences = 0;
  EXPECT_FALSE(report->clean());
  EXPECT_NE(to_table(*report).find("CALLS THAT FAILED"), std::string::npos);
}

TEST(Benchmark, OptionsThatMakeNoRunAreRefusedInWords) {
  const auto refused = [](auto change) {
    BenchmarkOptions options = small_options(37);
    change(options);
    auto report = run_benchmark(options, kNeverStop, ignore_progress);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.code(), base::ErrorCode::kInvalidArgument);
    EXPECT_GT(report.error().message.size(), 10U);
  };
  refused([](BenchmarkOptions& o) { o.warehouses = 0; });
  refused([](BenchmarkOptions& o) { o.warehouses = kWarehousesMax + 1; });
  refused([](BenchmarkOptions& o) { o.transaction_clients = kClientsMax + 1; });
  refused([](BenchmarkOptions& o) { o.query_clients = kClientsMax + 1; });
  refused([](BenchmarkOptions& o) { o.seconds = 0; });
  refused([](BenchmarkOptions& o) { o.warmup_seconds = -1; });
  refused([](BenchmarkOptions& o) { o.transaction_clients = o.query_clients = 0; });
  refused([](BenchmarkOptions& o) { o.export_updates = false; });
}

TEST(Benchmark, TransactionsRunWithoutExport) {
  BenchmarkOptions options = small_options(38);
  options.export_updates = false;
  options.query_clients = 0;
  auto report = run_benchmark(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GT(report->transactions_per_second, 0);
  EXPECT_TRUE(report->clean()) << to_table(*report);
  EXPECT_FALSE(report->checks.replica_differences.has_value());
  EXPECT_GT(report->table_rows["orders"], 30'000U);
}

TEST(Benchmark, TheGridHasEveryCellWithAClient) {
  IsolationOptions options;
  options.seconds = 0.3;
  options.warmup_seconds = 0.1;
  options.transaction_clients = {0, 4};
  options.query_clients = {0, 2};
  auto report = run_isolation(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->cells.size(), 3U);
  EXPECT_TRUE(report->clean()) << to_table(*report);
  EXPECT_NE(report->cell(4, 2), nullptr);
}

}  // namespace
}  // namespace diptych::workloads
