// run_scan: a stop ends it, and nothing is left of what it made for itself.

#include "workloads/scan.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/workloads/loaded_session.h"

namespace diptych::workloads {
namespace {

// Sets the stop when the run says that it is about to do so.
base::Result<ScanReport> scan_stopped_at(const std::string& at, const ScanOptions& options) {
  StopFlag stop{false};
  bool was_reached = false;
  auto report = run_scan(options, stop, [&](const std::string& what, double) {
    if (!what.starts_with(at)) return;
    was_reached = true;
    // relaxed: a flag on its own.
    stop.store(true, std::memory_order_relaxed);
  });
  EXPECT_TRUE(was_reached) << at;
  return report;
}

TEST(ScanRun, StoppedColdItReadsNothingAndItsDirectoryIsGone) {
  for (const std::string at : {"settling", "saving", "reading all blocks"}) {
    SCOPED_TRACE(at);
    ScanOptions options;
    options.cold = true;
    options.settled = at == "settling";
    options.seconds = 0.01;
    const auto report = scan_stopped_at(at, options);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_TRUE(report->interrupted);
    EXPECT_FALSE(report->cold.has_value());
    EXPECT_FALSE(report->clean());
    EXPECT_FALSE(std::filesystem::exists(fmt::format("diptych-scan-{}", ::getpid())));
  }
}

TEST(ScanRun, StoppedInAColumnItLeavesItOut) {
  ScanOptions options;
  options.seconds = 0.01;
  const auto report = scan_stopped_at("scanning ", options);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->interrupted);
  EXPECT_TRUE(report->columns.empty());
  EXPECT_FALSE(report->clean());
}

}  // namespace
}  // namespace diptych::workloads
