// run_overload: it refuses what is too much, and answers what it admitted.

#include "workloads/overload.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/temporary_directory.h"

namespace diptych::workloads {
namespace {

TEST(OverloadBenchmark, RefusesWhatIsTooMuchAndFindsNothingWrong) {
  OverloadOptions options;
  options.queue_requests = 64;
  options.seconds = 0.15;
  options.warmup_seconds = 0.05;
  options.loads = {0.2, 8};
  const StopFlag never{false};
  const auto report = run_overload(options, never, [](const std::string&, double) {});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << report->error;
  EXPECT_GT(report->limit.answered_per_second, 0);
  EXPECT_EQ(report->limit.refused_per_second, 0);
  ASSERT_EQ(report->cells.size(), 2u);
  const OverloadCell& heavy = report->cells[1];
  EXPECT_GT(heavy.offered_per_second, heavy.answered_per_second);
  EXPECT_GT(heavy.refused_per_second, 0);
  EXPECT_GT(heavy.latency_ms.count, 0u);
  for (const char* key : {"sustainable_per_second", "latency_p50_ratio", "latency_p99_ratio"}) {
    EXPECT_NE(to_json(*report).find(key), std::string::npos);
  }
  EXPECT_NE(to_table(*report).find("refused/s"), std::string::npos);
}

// The database refuses most of it at once; it is the driver that has no time for so many.
TEST(OverloadBenchmark, CallsWaitForALateDriverToo) {
  OverloadOptions options;
  options.queue_requests = 64;
  options.seconds = 0.15;
  options.warmup_seconds = 0.05;
  options.loads = {10'000};
  const StopFlag never{false};
  const auto report = run_overload(options, never, [](const std::string&, double) {});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << report->error;
  const double limit = report->limit.answered_per_second;
  const OverloadCell& heavy = report->cells.at(0);
  EXPECT_LT(heavy.offered_per_second, 5'000 * limit);
  EXPECT_GT(heavy.latency_ms.count, 0u);
  // Those that are made at last came about when the load began.
  EXPECT_GT(heavy.latency_ms.p50, 1000 * options.warmup_seconds);
}

TEST(OverloadBenchmark, OfADatabaseThatLogs) {
  const diptych::test::TemporaryDirectory directory;
  OverloadOptions options;
  options.keep_path = directory.path() + "/kept";
  options.log = dispatcher::LogMode::kCommand;
  options.seconds = 0.15;
  options.warmup_seconds = 0.05;
  options.loads = {0.5};
  const StopFlag never{false};
  const auto report = run_overload(options, never, [](const std::string&, double) {});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << report->error;
  EXPECT_GT(report->limit.answered_per_second, 0);
  EXPECT_NE(to_json(*report).find("\"log\": \"command\""), std::string::npos);
  // Closing it has saved it, with all that was logged.
  EXPECT_TRUE(std::filesystem::exists(options.keep_path + "/manifest.json"));
}

// The limit is what is answered where no call has to be in time.
TEST(OverloadBenchmark, CallsThatWaitTooLongAreNotRun) {
  OverloadOptions options;
  options.queue_requests = 4096;
  options.timeout_ms = 1;  // less than the queue of them takes
  options.seconds = 0.15;
  options.warmup_seconds = 0.05;
  options.loads = {4};
  const StopFlag never{false};
  const auto report = run_overload(options, never, [](const std::string&, double) {});
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->clean()) << report->error;
  EXPECT_EQ(report->limit.expired_per_second, 0);
  EXPECT_GT(report->limit.answered_per_second, 0);
  EXPECT_GT(report->cells.at(0).expired_per_second, 0);
}

TEST(OverloadBenchmark, StoppedInItsWarmUpItHasNoRate) {
  OverloadOptions options;
  options.seconds = 0.1;
  StopFlag stop{false};
  const auto report = run_overload(options, stop, [&](const std::string& what, double) {
    if (what == "warming up") stop = true;
  });
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(report->interrupted);
  EXPECT_FALSE(report->clean());
  EXPECT_TRUE(std::isnan(report->limit.answered_per_second));
  EXPECT_TRUE(report->cells.empty());
  EXPECT_EQ(report->error, "");
  const auto json = nlohmann::json::parse(to_json(*report));
  EXPECT_TRUE(json.at("sustainable_per_second").is_null());
  EXPECT_TRUE(json.at("limit").at("offered_per_second").is_null());
  EXPECT_NE(to_table(*report).find("limit                -"), std::string::npos)
      << to_table(*report);
}

}  // namespace
}  // namespace diptych::workloads
