// run_propagation: its rounds reach the replica whole, in both modes, and its shares add up.

#include "workloads/propagation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace diptych::workloads {
namespace {

constexpr double kRounding = 1e-9;

base::Result<PropagationReport> run_rounds(dispatcher::ExportMode mode, SizePolicy size) {
  PropagationOptions options;
  options.transactions = 3000;
  options.round_transactions = 1000;
  options.mode = mode;
  options.size = size;
  const StopFlag never{false};
  return run_propagation(options, never, [](const std::string&, double) {});
}

void expect_whole(const PropagationReport& report) {
  EXPECT_TRUE(report.clean()) << to_table(report);
  EXPECT_GE(report.transactions, 3000u);
  EXPECT_LE(report.rounds, 3u);
  EXPECT_NEAR(report.order + report.route + report.apply, 1, kRounding);
  EXPECT_NEAR(report.index_lookup + report.write, report.apply, kRounding);
  double time = 0;
  uint64_t updates = 0;
  for (const auto& [name, table] : report.tables) {
    time += table.time;
    updates += table.updates;
    EXPECT_EQ(table.updates == 0,
              name == "region" || name == "nation" || name == "supplier" || name == "item")
        << name;
  }
  EXPECT_NEAR(time, 1, kRounding);
  EXPECT_EQ(updates, report.updates);
  EXPECT_GT(report.apply_cpu_seconds, 0);
}

TEST(PropagationRun, AppliesTheColumnsThatChanged) {
  const auto report = run_rounds(dispatcher::ExportMode::kColumns, SizePolicy::kGrowing);
  ASSERT_TRUE(report) << report.error().to_string();
  expect_whole(*report);
  const auto json = nlohmann::json::parse(to_json(*report));
  for (const char* rate :
       {"applied_transactions_per_second_per_core", "applied_updates_per_second_per_core"}) {
    EXPECT_GT(json[rate].get<double>(), 0) << rate;
  }
  EXPECT_TRUE(json["steps"].contains("order") && json["steps"].contains("route") &&
              json["steps"].contains("index_lookup") && json["steps"].contains("write"));
  EXPECT_GT(json["tables"]["orderline"].get<double>(), 0);
  EXPECT_EQ(json["configuration"]["mode"], "field");
  EXPECT_GT(json["compaction_cpu_seconds"], 0);
  EXPECT_DOUBLE_EQ(json["compaction_seconds_per_apply_second"],
                   report->compact_cpu_seconds / report->apply_cpu_seconds);
}

TEST(PropagationRun, AppliesWholeRowsOfDataThatKeepsItsSize) {
  const auto report = run_rounds(dispatcher::ExportMode::kRows, SizePolicy::kConstant);
  ASSERT_TRUE(report) << report.error().to_string();
  expect_whole(*report);
  EXPECT_EQ(nlohmann::json::parse(to_json(*report))["configuration"]["mode"], "row");
}

}  // namespace
}  // namespace diptych::workloads
