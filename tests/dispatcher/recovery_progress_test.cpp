#include "dispatcher/recovery_progress.h"

#include <chrono>
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
  RecoveryProgress progress("bank", listener, "rows put back", 400);
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

}  // namespace
}  // namespace diptych::dispatcher
