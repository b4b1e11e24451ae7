#include "dispatcher/byte_rate.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace diptych::dispatcher {
namespace {

class ByteRateTest : public testing::Test {
 protected:
  static constexpr uint64_t kBytesPerSecond = 10'000'000;
  static constexpr size_t kPieceBytes = 100'000;  // 10 ms
  static constexpr int kPieces = 8;

  double seconds_of_pieces() {
    const uint64_t begin_ns = base::steady_ns();
    std::unique_lock lock(mutex_);
    for (int i = 0; i < kPieces; ++i) rate_.wait(kPieceBytes, &lock, &changed_, stops_);
    return static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
  }

  ByteRate rate_{kBytesPerSecond};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  const std::function<bool()> stops_ = [this] { return stopped_; };
};

TEST_F(ByteRateTest, PiecesTakeAsLongAsTheRateSays) {
  EXPECT_GE(seconds_of_pieces(), 0.08);
}

TEST_F(ByteRateTest, SlownessIsNotMadeUpFor) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_GE(seconds_of_pieces(), 0.07);
}

TEST_F(ByteRateTest, WhoIsStoppedDoesNotWait) {
  stopped_ = true;
  std::unique_lock lock(mutex_);
  const uint64_t begin_ns = base::steady_ns();
  rate_.wait(1000 * kBytesPerSecond, &lock, &changed_, stops_);
  EXPECT_LT(base::steady_ns() - begin_ns, uint64_t{900} * 1'000'000'000);
}

TEST_F(ByteRateTest, WhatEndsAWaitIsNoticedWithoutAWord) {
  std::unique_lock lock(mutex_);
  const uint64_t begin_ns = base::steady_ns();
  rate_.wait(1000 * kBytesPerSecond, &lock, &changed_,
             [&] { return base::steady_ns() - begin_ns > 10'000'000; });
  EXPECT_LT(base::steady_ns() - begin_ns, uint64_t{900} * 1'000'000'000);
}

TEST_F(ByteRateTest, WithoutARateNobodyWaits) {
  rate_ = ByteRate(0);
  std::unique_lock lock(mutex_);
  const uint64_t begin_ns = base::steady_ns();
  rate_.wait(1000 * kBytesPerSecond, &lock, &changed_, stops_);
  EXPECT_LT(base::steady_ns() - begin_ns, uint64_t{900} * 1'000'000'000);
}

}  // namespace
}  // namespace diptych::dispatcher
