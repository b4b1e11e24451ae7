#include "cli/bench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program_run.h"

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

TEST(BenchOptions, ListsOfClientsHaveEachNumberOnceAndNoEmptyItem) {
  CLI::App app;
  std::vector<uint32_t> counts;
  add_client_counts(app, "--clients", "", 1, &counts);
  app.parse("--clients 16,1,4");
  EXPECT_EQ(counts, (std::vector<uint32_t>{16, 1, 4}));
  for (const char* const wrong : {"1,,2", ",1", "1,", "1,2,1", "0", "1;2", "1, 2"}) {
    EXPECT_THROW(app.parse(std::vector<std::string>{wrong, "--clients"}), CLI::ParseError) << wrong;
  }
  const Outcome outcome = run({"bench", "isolation", "--transaction-clients", "1,,2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, testing::HasSubstr("--transaction-clients: \"\" is not a whole number"));
}

TEST(BenchOptions, AReportOfNothingMeasuredFailsAndSaysSo) {
  workloads::BenchmarkReport report;
  report.interrupted = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(give_report(report, ""), ExitCode::kFailed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "interrupted: nothing was measured yet\n");
}

// The engine's limit, seen before anything is opened.
TEST(BenchOptions, MoreWorkersThanTheEngineBearsAreRefused) {
  for (const char* const workers : {"65", "1024"}) {
    const Outcome outcome = run({"bench", "tpcc", "--workers", workers});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, testing::HasSubstr("is not a whole number from 1 to 64\n"));
  }
}

TEST(BenchOptions, ARateOfCheckpointsThatAreNotMadeIsRefused) {
  const Outcome outcome = run({"bench", "tpcc", "--checkpoint-rate", "5", "--seconds", "0.1"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "diptych: --checkpoint-rate: no checkpoint is made; give --checkpoint-seconds\n");
}

}  // namespace
}  // namespace diptych::cli
