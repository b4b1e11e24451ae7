// Whole runs: both sides at work, then all conditions on both replicas and zero differences.

#include <gtest/gtest.h>

#include "tests/workloads/loaded_session.h"
#include "workloads/benchmark.h"

namespace diptych::workloads {
namespace {

class HybridRun : public ::testing::TestWithParam<uint64_t> {};

TEST_P(HybridRun, ReplicasAgreeAndAllConditionsHold) {
  BenchmarkOptions options = small_options(GetParam());
  options.size = GetParam() % 2 == 0 ? SizePolicy::kConstant : SizePolicy::kGrowing;
  options.queries = QuerySet::kTemplates;
  options.query_clients = 2;
  auto report = run_benchmark(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << to_table(*report);
  EXPECT_GT(report->transactions_per_second, 0) << to_table(*report);
  EXPECT_GT(report->queries_per_second, 0) << to_table(*report);
  for (const auto& [name, type] : report->transactions) {
    EXPECT_EQ(type.failed, 0U) << name << ": " << type.error;
  }
  for (const auto& [name, type] : report->queries) {
    EXPECT_EQ(type.failed, 0U) << name << ": " << type.error;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, HybridRun, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace diptych::workloads
