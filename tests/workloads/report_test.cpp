// The reports have every key and every figure that scripts and people rely on.

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "workloads/benchmark.h"
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
  for (const char* key : {"cpu", "cores", "memory_bytes", "numa_nodes", "kernel", "compiler"}) {
    EXPECT_TRUE(json["machine"].contains(key)) << key;
  }
  EXPECT_EQ(json["seed"], 99);
  EXPECT_EQ(json["transaction_latency_ms"]["p99"], 3.0);
  EXPECT_EQ(json["transactions"]["NewOrder"]["completed"], 7);
  EXPECT_EQ(json["unsupported_queries"]["Q21"], "not supported: NOT EXISTS");
  EXPECT_EQ(json["configuration"]["transaction_clients"], 4);
  EXPECT_EQ(json["configuration"]["time_origin"], "2011-01-01 00:50:00");
}

TEST(Report, CommitIsNeverEmpty) {
  EXPECT_FALSE(build_commit().empty());
}

TEST(Report, TableNamesFiguresAndUnsupportedQueries) {
  BenchmarkReport report = sample(4, 2, 1000, 3);
  report.consistency_violations = 1;
  report.violations.emplace_back("OLTP replica: condition 3: a gap");
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
  for (const char* key : {"consistency_violations", "replica_differences", "machine",
                          "configuration", "seed", "commit"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_NE(to_table(grid).find("10.0"), std::string::npos);
}

TEST(Report, AViolationOrADifferenceIsNotClean) {
  BenchmarkReport report;
  EXPECT_TRUE(report.clean());
  report.replica_differences = 1;
  EXPECT_FALSE(report.clean());
}

}  // namespace
}  // namespace diptych::workloads
