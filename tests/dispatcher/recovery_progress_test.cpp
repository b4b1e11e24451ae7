#include "dispatcher/recovery_progress.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace diptych::dispatcher {
namespace {

TEST(RecoveryProgress, AListenerHearsNowAndThenHowFarItIsAndHowLongItWillTake) {
  std::vector<std::pair<std::string, double>> heard;
  const RecoveryListener listener = [&](const std::string& text, double done) {
    heard.emplace_back(text, done);
  };
  RecoveryProgress progress("bank", listener, "row", "put back", 400);
  progress.at(1);  // too soon
  EXPECT_TRUE(heard.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  progress.at(0);  // nothing can be said yet
  EXPECT_TRUE(heard.empty());
  progress.at(100);
  progress.at(101);  // too soon
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_THAT(heard[0].first, ::testing::StartsWith("100 of 400 rows put back, "));
  EXPECT_THAT(heard[0].first, ::testing::EndsWith(" s to go"));
  EXPECT_EQ(heard[0].second, 0.25);
}

TEST(RecoveryProgress, LinesSayItToALogWhereNobodyListens) {
  int heard = 0;
  for (const RecoveryListener& listener :
       {RecoveryListener(), RecoveryListener([&](const std::string&, double) { ++heard; })}) {
    ::testing::internal::CaptureStderr();
    RecoveryProgress progress("bank", listener, "transaction", "of the log replayed", 400);
    std::this_thread::sleep_for(std::chrono::milliseconds(1'010));
    progress.at(100);
    progress.at(101);  // too soon
    progress.finish(400);
    const std::string lines = ::testing::internal::GetCapturedStderr();
    if (listener) {
      EXPECT_EQ(lines, "");
    } else {
      EXPECT_THAT(lines, ::testing::MatchesRegex(
                             "diptych: bank: 100 of 400 transactions of the log replayed, "
                             "[0-9]+ s to go\n"
                             "diptych: bank: 400 transactions of the log replayed in [0-9.]+ s\n"));
    }
  }
  EXPECT_EQ(heard, 1);
}

TEST(RecoveryProgress, OneIsNotSeveral) {
  ::testing::internal::CaptureStderr();
  RecoveryProgress progress("bank", {}, "transaction", "of the log replayed", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1'010));
  progress.finish(1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::StartsWith("diptych: bank: 1 transaction of the log replayed in "));
}

TEST(RecoveryProgress, AListenerThatThrowsHearsNoMore) {
  int heard = 0;
  const RecoveryListener listener = [&](const std::string&, double) {
    ++heard;
    throw std::runtime_error("no terminal");
  };
  ::testing::internal::CaptureStderr();
  RecoveryProgress progress("bank", listener, "row", "put back", 400);
  for (const uint64_t done : {100, 200}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    EXPECT_NO_THROW(progress.at(done));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "diptych: bank: the recovery_listener threw, and hears no more\n");
  EXPECT_EQ(heard, 1);
}

TEST(RecoveryProgress, WhatTookNoTimeIsNotSaid) {
  ::testing::internal::CaptureStderr();
  RecoveryProgress progress("bank", {}, "row", "put back", 400);
  progress.at(400);
  progress.finish(400);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace diptych::dispatcher
