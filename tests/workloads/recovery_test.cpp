// run_recovery: what it measures is there, and what it leaves is whole.

#include "workloads/recovery.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace diptych::workloads {
namespace {

TEST(RecoveryBenchmark, ReplaysWhatRanAndFindsNothing) {
  RecoveryOptions options;
  options.transaction_clients = 16;
  options.seconds = 0.2;
  std::string name = (std::filesystem::temp_directory_path() / "diptych-XXXXXX").string();
  const std::string directory = ::mkdtemp(name.data());
  options.path = directory + "/db";
  const StopFlag never{false};
  const auto figures = run_recovery(options, never, [](const std::string&, double) {});
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(figures.ok()) << figures.error().to_string();
  EXPECT_TRUE(figures->clean());
  EXPECT_GT(figures->file_bytes, 0u);
  EXPECT_GT(figures->files_read_seconds, 0);
  EXPECT_GT(figures->recovery_seconds, 0);
  EXPECT_GT(figures->replayed_transactions, 0u);
  EXPECT_GT(figures->replayed_transactions_per_second, 0);
  EXPECT_GT(figures->lost_primary_seconds, 0);
  EXPECT_GT(figures->log_bytes, 0u);
  for (const char* key : {"files_read_seconds", "recovery_seconds",
                          "replayed_transactions_per_second", "lost_primary_seconds"}) {
    EXPECT_NE(to_json(*figures).find(key), std::string::npos);
  }
}

}  // namespace
}  // namespace diptych::workloads
