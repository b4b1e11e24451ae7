// run_recovery: what it measures is there, and what it leaves is whole.

#include "workloads/recovery.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/temporary_directory.h"

namespace diptych::workloads {
namespace {

TEST(RecoveryBenchmark, ReplaysWhatRanAndFindsNothing) {
  RecoveryOptions options;
  options.transaction_clients = 16;
  options.seconds = 0.2;
  const diptych::test::TemporaryDirectory directory;
  options.path = directory.path() + "/db";
  const StopFlag never{false};
  const auto figures = run_recovery(options, never, [](const std::string&, double) {});
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

TEST(RecoveryBenchmark, StoppedItTellsWhatItReached) {
  RecoveryOptions options;
  const diptych::test::TemporaryDirectory directory;
  options.path = directory.path() + "/db";
  StopFlag stop{false};
  size_t openings = 0;
  const auto figures = run_recovery(options, stop, [&](const std::string& what, double) {
    if (what != "opening the database") return;
    ++openings;
    stop = true;
  });
  ASSERT_TRUE(figures.ok()) << figures.error().to_string();
  EXPECT_EQ(openings, 1u);
  EXPECT_TRUE(figures->interrupted);
  EXPECT_FALSE(figures->clean());
  EXPECT_GT(figures->recovery_seconds, 0);
  EXPECT_EQ(figures->first_transactions_per_second, 0);
  EXPECT_EQ(figures->replayed_transactions, 0u);
}

std::string own_directory() {
  return fmt::format("diptych-recovery-{}", ::getpid());
}

TEST(RecoveryBenchmark, ADirectoryThatItDidNotMakeStays) {
  std::filesystem::create_directory(own_directory());
  std::ofstream(own_directory() + "/letter") << "mine";
  const StopFlag never{false};
  const auto figures = run_recovery({}, never, [](const std::string&, double) {});
  EXPECT_FALSE(figures.ok());
  EXPECT_TRUE(std::filesystem::exists(own_directory() + "/letter"));
  std::filesystem::remove_all(own_directory());
}

TEST(RecoveryBenchmark, WhatItMadeIsGoneThoughItThrows) {
  const StopFlag never{false};
  bool was_there = false;
  const auto throwing = [&](const std::string& what, double) {
    if (what != "reading the files") return;
    was_there = std::filesystem::exists(own_directory());
    throw std::runtime_error("the terminal is gone");
  };
  EXPECT_THROW(static_cast<void>(run_recovery({}, never, throwing)), std::runtime_error);
  EXPECT_TRUE(was_there);
  EXPECT_FALSE(std::filesystem::exists(own_directory()));
}

}  // namespace
}  // namespace diptych::workloads
