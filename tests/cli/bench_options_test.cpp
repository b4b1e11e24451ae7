#include "cli/bench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace diptych::cli {
namespace {

// Here and not with the program: one that took them would take all of the machine's memory.
TEST(BenchOptions, WarehousesThatDoNotFitIntoMemoryAreRefused) {
  CLI::App app;
  uint32_t warehouses = 0;
  add_warehouses(app, &warehouses);
  app.parse("--warehouses 1");
  EXPECT_EQ(warehouses, 1u);
  try {
    app.parse("--warehouses 100000");
    FAIL() << "30 TB";
  } catch (const CLI::ValidationError& error) {
    EXPECT_THAT(error.what(),
                testing::MatchesRegex("--warehouses: 100000 of them take about 30000.0 GB, and "
                                      "[0-9.]+ GB of memory are available"));
  }
}

TEST(BenchOptions, AReportOfNothingMeasuredFailsAndSaysSo) {
  workloads::BenchmarkReport report;
  report.interrupted = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(give_report(report, ""), ExitCode::kFailed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "interrupted: nothing was measured yet\n");
}

}  // namespace
}  // namespace diptych::cli
