// The reports have every key and every figure that scripts and people rely on.

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "workloads/benchmark.h"
#include "workloads/isolation.h"
#include "workloads/overload.h"
#include "workloads/propagation.h"
#include "workloads/recovery.h"
#include "workloads/reports/machine.h"

namespace diptych::workloads {
namespace {

BenchmarkReport sample(uint32_t transaction_clients, uint32_t query_clients, double tps,
                       double qps) {
  BenchmarkReport report;
  report.options.transaction_clients = transaction_clients;
  report.options.query_clients = query_clients;
  report.options.seed = 99;
  report.transactions_per_second = tps;
  report.queries_per_second = qps;
  report.transaction_latency_ms = {10, 1, 0.5, 2, 3, 4, 5};
  report.transactions["NewOrder"] = {7, 1, 0, 2, "", report.transaction_latency_ms};
  report.queries["Q01"] = {3, 0, 1, 0, "broken \xff text", report.transaction_latency_ms};
  report.unsupported_queries["Q21"] = "not supported: NOT EXISTS";
  report.table_rows["orders"] = 30'000;
  return report;
}

TEST(Report, JsonHasEveryKey) {
  const auto json = nlohmann::json::parse(to_json(sample(4, 2, 1000, 3)));
  for (const char* key :
       {"transactions_per_second", "queries_per_second", "aborts_per_second",
        "transaction_latency_ms", "query_latency_ms", "freshness_ms", "apply_ms",
        "consistency_violations", "replica_differences", "machine", "configuration", "seed",
        "commit", "transactions", "queries", "unsupported_queries", "table_rows", "interrupted"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* latency : {"transaction_latency_ms", "query_latency_ms", "freshness_ms",
                              "apply_ms", "wait_apply_ms"}) {
    for (const char* key : {"p50", "p90", "p99", "p999", "mean", "max"}) {
      EXPECT_TRUE(json[latency].contains(key)) << latency << " " << key;
    }
  }
  for (const char* key : {"cpu", "cores", "memory_bytes", "numa_nodes", "kernel", "compiler",
                          "cpu_family", "cpu_model", "cpu_stepping", "cpu_mhz", "avx512",
                          "level2_cache_bytes", "level3_cache_bytes", "huge_pages"}) {
    EXPECT_TRUE(json["machine"].contains(key)) << key;
  }
  EXPECT_EQ(json["seed"], 99);
  EXPECT_EQ(json["transaction_latency_ms"]["p99"], 3.0);
  EXPECT_EQ(json["transactions"]["NewOrder"]["completed"], 7);
  EXPECT_EQ(json["unsupported_queries"]["Q21"], "not supported: NOT EXISTS");
  EXPECT_EQ(json["configuration"]["transaction_clients"], 4);
  EXPECT_EQ(json["configuration"]["time_origin"], "2011-01-01 00:50:00");
}

TEST(Report, OverloadAndRecoverySayWhatWasFoundToo) {
  OverloadReport overload;
  overload.options.isolation = dispatcher::IsolationLevel::kSerializable;
  overload.calls_failed = 1;
  overload.error = "the log is full";
  RecoveryBenchmarkReport recovery;
  recovery.options.isolation = dispatcher::IsolationLevel::kSerializable;
  for (Checks* const checks : {&overload.checks, &recovery.checks}) {
    checks->consistency_violations = 1;
    checks->violations = {"condition 1"};
    checks->differences = {"row 7"};
    checks->close_error = "no space left";
  }
  for (const std::string& text : {to_json(overload), to_json(recovery)}) {
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json.at("configuration").at("isolation"), "serializable");
    EXPECT_EQ(json.at("consistency_violations"), 1);
    EXPECT_EQ(json.at("violations").at(0), "condition 1");
    EXPECT_EQ(json.at("differences").at(0), "row 7");
    EXPECT_EQ(json.at("close_error"), "no space left");
    EXPECT_TRUE(json.at("replica_differences").is_null());
    EXPECT_TRUE(json.contains("machine") && json.contains("commit") && json.contains("seed"));
  }
  EXPECT_EQ(nlohmann::json::parse(to_json(overload)).at("error"), "the log is full");
  overload.error.clear();
  EXPECT_TRUE(nlohmann::json::parse(to_json(overload)).at("error").is_null());
}

TEST(Report, CommitIsNeverEmpty) {
  EXPECT_FALSE(build_commit().empty());
}

TEST(Report, TableNamesFiguresAndUnsupportedQueries) {
  BenchmarkReport report = sample(4, 2, 1000, 3);
  report.checks.consistency_violations = 1;
  report.checks.violations.emplace_back("OLTP replica: condition 3: a gap");
  const std::string table = to_table(report);
  for (const char* text : {"Transactions per second", "1000", "NewOrder", "Q01", "Q21",
                           "NOT EXISTS", "condition 3: a gap", "Freshness", "orders 30000"}) {
    EXPECT_NE(table.find(text), std::string::npos) << text << "\n" << table;
  }
}

TEST(Report, IsolationComparesWithTheSideAlone) {
  IsolationReport grid;
  grid.cells = {sample(0, 2, 0, 10), sample(8, 0, 1000, 0), sample(8, 2, 900, 8)};
  EXPECT_DOUBLE_EQ(grid.transaction_loss_percent(grid.cells[2]), 10);
  EXPECT_DOUBLE_EQ(grid.query_loss_percent(grid.cells[2]), 20);
  EXPECT_DOUBLE_EQ(grid.transaction_loss_percent(grid.cells[1]), 0);
  EXPECT_TRUE(std::isnan(grid.query_loss_percent(grid.cells[1])));
  EXPECT_EQ(grid.cell(8, 2), &grid.cells[2]);
  EXPECT_EQ(grid.cell(9, 2), nullptr);
  const auto json = nlohmann::json::parse(to_json(grid));
  ASSERT_EQ(json["cells"].size(), 3U);
  EXPECT_DOUBLE_EQ(json["cells"][2]["transaction_loss_percent"].get<double>(), 10.0);
  EXPECT_TRUE(json["cells"][1]["query_loss_percent"].is_null());
  // Checked once, after the last cell.
  EXPECT_FALSE(json["cells"][1].contains("consistency_violations"));
  for (const char* key : {"consistency_violations", "replica_differences", "machine",
                          "configuration", "seed", "commit"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_NE(to_table(grid).find("10.0"), std::string::npos);
}

TEST(Report, CleanIsOnlyARunInWhichAllIsWell) {
  BenchmarkReport fine;
  fine.measured_seconds = 1;
  fine.checks.consistency_violations = 0;
  fine.checks.replica_differences = 0;
  EXPECT_TRUE(fine.clean());
  const auto expect_not_clean = [&](auto spoil) {
    BenchmarkReport report = fine;
    spoil(report);
    EXPECT_FALSE(report.clean());
    IsolationReport grid;
    grid.cells = {report};
    grid.checks = report.checks;
    EXPECT_EQ(grid.clean(), report.measured_seconds == 0);  // such a cell is left out
  };
  expect_not_clean([](BenchmarkReport& r) { r.measured_seconds = 0; });
  expect_not_clean([](BenchmarkReport& r) { r.calls_failed = 1; });
  expect_not_clean([](BenchmarkReport& r) { r.checks.consistency_violations = 1; });
  expect_not_clean([](BenchmarkReport& r) { r.checks.consistency_violations.reset(); });
  expect_not_clean([](BenchmarkReport& r) { r.checks.replica_differences = 1; });
  expect_not_clean([](BenchmarkReport& r) { r.checks.replica_differences.reset(); });
  expect_not_clean([](BenchmarkReport& r) { r.checks.close_error = "full"; });
  EXPECT_FALSE(IsolationReport{}.clean());
}

TEST(Report, WhatWasNotMeasuredIsNullAndADash) {
  BenchmarkReport report;
  report.options.query_clients = 1;
  report.queries["Q01"] = {};
  const auto json = nlohmann::json::parse(to_json(report));
  for (const char* key : {"transactions_per_second", "queries_per_second", "aborts_per_second",
                          "consistency_violations", "replica_differences", "close_error"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_EQ(json["query_latency_ms"]["count"], 0);
  EXPECT_TRUE(json["query_latency_ms"]["p50"].is_null());
  const std::string table = to_table(report);
  EXPECT_NE(table.find("not checked"), std::string::npos) << table;
  EXPECT_EQ(table.find(" 0.0"), table.find(" 0.0 s measured")) << table;
  EXPECT_NE(table.find("1 warehouse,"), std::string::npos) << table;
}

TEST(Report, ARunWithoutQueriesHasNoLinesOfThem) {
  const std::string table = to_table(sample(4, 0, 1000, 0));
  for (const char* text : {"Queries", "Query latency", "Freshness", "Q01"}) {
    EXPECT_EQ(table.find(text), std::string::npos) << text << "\n" << table;
  }
}

}  // namespace
}  // namespace diptych::workloads
