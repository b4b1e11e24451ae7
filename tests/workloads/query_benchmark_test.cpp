// Queries alone, in closed loops and on aged data: what is measured, and what makes a run unclean.

#include "workloads/query_benchmark.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/workloads/loaded_session.h"
#include "workloads/queries/catalog.h"

namespace diptych::workloads {
namespace {

QueryBenchmarkOptions short_run(QuerySet queries) {
  QueryBenchmarkOptions options;
  options.queries = queries;
  options.warmup_seconds = 0.05;
  options.seconds = 0.2;
  return options;
}

TEST(QueryBenchmark, AloneEachQueryHasItsMedian) {
  const auto report = run_queries(short_run(QuerySet::kCh), kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << to_table(*report);
  ASSERT_EQ(report->cells.size(), 1U);
  const QueryCell& cell = report->cells.front();
  EXPECT_EQ(cell.queries.size(), 22U);
  double logarithms = 0;
  for (const auto& [name, latency] : cell.queries) {
    EXPECT_GE(latency.count, kQueryRoundsMin) << name;
    EXPECT_GT(latency.p50, 0) << name;
    EXPECT_LE(latency.p50, latency.max) << name;
    logarithms += std::log(latency.p50);
  }
  EXPECT_NEAR(cell.geometric_mean_ms(), std::exp(logarithms / 22), 1e-6);
  const double q05 = std::log(cell.queries.at("Q05").p50);
  EXPECT_NEAR(cell.geometric_mean_ms("Q05"), std::exp((logarithms - q05) / 21), 1e-6);
  const auto json = nlohmann::json::parse(to_json(*report));
  EXPECT_EQ(json.at("query_ms").size(), 22U);
  EXPECT_EQ(json.at("query_ms").at("Q22"), cell.queries.at("Q22").p50);
  EXPECT_EQ(json.at("geometric_mean_ms"), cell.geometric_mean_ms());
  EXPECT_GT(json.at("queries_per_second"), 0);
  EXPECT_TRUE(json.at("aging").is_null());
}

TEST(QueryBenchmark, ManyClientsAreMeasuredOneNumberAfterTheOther) {
  QueryBenchmarkOptions options = short_run(QuerySet::kTemplates);
  options.clients = {1, 40};
  options.seconds = 0.01;  // less than forty answers take
  options.placement.olap_threads = 2;
  auto report = run_queries(options, kNeverStop, ignore_progress);
  // Forty wait for each other; one waits for nobody, but may be interrupted in its only query.
  const auto forty_wait = [&] {
    return report->cells.at(1).latency_ms.p50 > report->cells.at(0).latency_ms.p50;
  };
  for (int again = 0; again < 4 && report && report->cells.size() == 2 && !forty_wait(); ++again) {
    report = run_queries(options, kNeverStop, ignore_progress);
  }
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << to_table(*report);
  EXPECT_EQ(report->threads, 2U);
  ASSERT_EQ(report->cells.size(), 2U);
  EXPECT_EQ(report->cells[0].clients, 1U);
  EXPECT_EQ(report->cells[1].clients, 40U);
  for (const QueryCell& cell : report->cells) {
    EXPECT_GT(cell.queries_per_second, 0);
    EXPECT_LE(cell.latency_ms.p50, cell.latency_ms.p99);
    // Those in flight when the time was over are waited for, and count.
    EXPECT_GE(cell.latency_ms.count, cell.clients);
  }
  EXPECT_TRUE(forty_wait()) << to_table(*report);
  const auto json = nlohmann::json::parse(to_json(*report));
  EXPECT_EQ(json.at("cells").size(), 2U);
  EXPECT_EQ(json.at("cells").at(0).at("clients"), 1);
  EXPECT_EQ(json.at("queries_per_second"), json.at("cells").at(1).at("queries_per_second"));
}

// In full once; under the sanitizers a fifth of it.
TEST(QueryBenchmark, AgingGrowsAndChangesWhatItSays) {
  QueryBenchmarkOptions options = short_run(QuerySet::kCh);
  options.aged = true;
  const bool full = DIPTYCH_HYBRID_SEEDS > 1;
  if (!full) options.aging_growth = 0.1;
  const auto report = run_queries(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << to_table(*report);
  ASSERT_TRUE(report->aging.has_value());
  const AgingReport& aging = *report->aging;
  EXPECT_NEAR(static_cast<double>(aging.order_lines),
              (1 + options.aging_growth) * static_cast<double>(aging.order_lines_loaded), 20);
  EXPECT_NEAR(aging.stock_changed, full ? 0.5 : 0.15, 0.05);
  EXPECT_NEAR(aging.customers_changed, full ? 0.5 : 0.15, 0.05);
  EXPECT_EQ(report->checks.replica_differences, 0U);
}

// A seed gives the same rows: what a comparison with another engine's copy of them relies on.
TEST(QueryBenchmark, AgingIsAFunctionOfTheSeed) {
  std::set<std::pair<int64_t, int64_t>> sums;
  for (int run = 0; run < 2; ++run) {
    auto session = loaded_session(small_options(51));
    ASSERT_NE(session, nullptr);
    const auto aged = age(session.get(), 1, 52, kNeverStop, ignore_progress, 0.02);
    ASSERT_TRUE(aged) << aged.error().to_string();
    sums.emplace(integer(session.get(), "select sum(ol_amount) from orderline"),
                 integer(session.get(), "select sum(s_i_id * s_quantity) from stock"));
  }
  EXPECT_EQ(sums.size(), 1U);
}

TEST(QueryBenchmark, StoppedItReportsTheTimeSoFar) {
  StopFlag stop{false};
  QueryBenchmarkOptions options = short_run(QuerySet::kCh);
  options.seconds = 3600;
  const auto stop_in_second_round = [&](const std::string& what, double done) {
    // relaxed: a flag on its own.
    if (what.starts_with("measuring") && done > 0) stop.store(true, std::memory_order_relaxed);
  };
  const auto report = run_queries(options, stop, stop_in_second_round);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->clean());
  EXPECT_EQ(report->cells.front().queries.at("Q01").count, 1U);
}

TEST(QueryBenchmark, StoppedInItsWarmUpItHasMeasuredNothing) {
  for (const bool alone : {true, false}) {
    StopFlag stop{false};
    QueryBenchmarkOptions options = short_run(QuerySet::kCh);
    if (!alone) options.clients = {1};
    const auto stop_when_warming_up = [&](const std::string& what, double) {
      // relaxed: a flag on its own.
      if (what == "warming up") stop.store(true, std::memory_order_relaxed);
    };
    const auto report = run_queries(options, stop, stop_when_warming_up);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_TRUE(report->interrupted);
    EXPECT_FALSE(report->clean());
    EXPECT_TRUE(report->cells.empty());
    EXPECT_TRUE(nlohmann::json::parse(to_json(*report)).at("queries_per_second").is_null());
  }
}

TEST(QueryBenchmark, StoppedBeforeTheFirstAnswerItHasMeasuredNothing) {
  StopFlag stop{false};
  QueryBenchmarkOptions options = short_run(QuerySet::kCh);
  const auto stop_at_once = [&](const std::string& what, double) {
    // relaxed: a flag on its own.
    if (what.starts_with("measuring")) stop.store(true, std::memory_order_relaxed);
  };
  const auto report = run_queries(options, stop, stop_at_once);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->clean());
  EXPECT_TRUE(nlohmann::json::parse(to_json(*report)).at("queries_per_second").is_null());
}

TEST(QueryBenchmark, StoppedWhileAgingItIsCancelled) {
  StopFlag stop{false};
  QueryBenchmarkOptions options = short_run(QuerySet::kCh);
  options.aged = true;
  const auto stop_when_aging = [&](const std::string& what, double) {
    // relaxed: a flag on its own.
    if (what == "aging") stop.store(true, std::memory_order_relaxed);
  };
  const auto report = run_queries(options, stop, stop_when_aging);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.code(), base::ErrorCode::kCancelled);
}

TEST(QueryBenchmark, AQueryThatFailedOrIsMissingMakesItUnclean) {
  QueryBenchmarkReport report;
  EXPECT_FALSE(report.clean());
  QueryCell cell;
  cell.measured_seconds = 1;
  for (const NamedQuery& query : catalog(QuerySet::kCh)) {
    cell.queries[query.name].p50 = 1;
  }
  report.cells = {cell};
  EXPECT_TRUE(report.clean());
  report.cells[0].failed = 1;
  EXPECT_FALSE(report.clean());
  report.cells = {cell};
  report.cells[0].queries_in_all = 22;
  EXPECT_EQ(report.cells[0].geometric_mean_ms(), 1);
  report.cells[0].queries.erase("Q09");
  EXPECT_TRUE(std::isnan(report.cells[0].geometric_mean_ms()));
  EXPECT_FALSE(report.clean());
  report.cells = {cell};
  report.unsupported_queries["Q09"] = "no joins";
  EXPECT_FALSE(report.clean());
  report.unsupported_queries.clear();
  report.aging.emplace();  // transactions ran, and no check was made
  EXPECT_FALSE(report.clean());
  report.checks.consistency_violations = 0;
  report.checks.replica_differences = 0;
  EXPECT_TRUE(report.clean());
}

}  // namespace
}  // namespace diptych::workloads
