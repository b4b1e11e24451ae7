// Runs whose log waits for space on a full disk: they end, and say so.

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "dispatcher/log_inspection.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/loaded_session.h"
#include "workloads/aging.h"
#include "workloads/drivers/open_loop_driver.h"

namespace diptych::workloads {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The log's files have at least a megabyte: there is space for them, and for little else, or none.
constexpr rlim_t kLogBytes = 1 << 20;
constexpr rlim_t kTooFewBytes = kLogBytes / 2;

// While it lives no file grows beyond so many bytes. A run that would wait for good is rescued.
class FullDisk {
 public:
  explicit FullDisk(rlim_t file_bytes) : before_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit tight{.rlim_cur = file_bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
    rescuer_ = std::jthread([this](const std::stop_token& ended) {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, ended, 60s, [&] { return ended.stop_requested(); })) return;
      if (ended.stop_requested()) return;
      ADD_FAILURE() << "it waits for good";
      setrlimit(RLIMIT_FSIZE, &before_);
    });
  }
  ~FullDisk() {
    rescuer_.request_stop();
    rescuer_.join();
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*before_signal_)(int);
  rlimit before_{};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread rescuer_;
};

class RunOnAFullDisk : public testing::Test {
 protected:
  RunOnAFullDisk() {
    options_ = small_options(61);
    options_.query_clients = 0;
    options_.seconds = 3600;
    options_.keep_path = directory_.path() + "/kept";
    options_.log = dispatcher::LogMode::kPhysical;  // of which there is most
    session_ = loaded_session(options_);
  }
  void await_full_log() const {
    const auto waits = static_cast<size_t>(dispatcher::LogRefusal::kNoSpace);
    while (!session_->database()->metrics().log_refuses[waits]) std::this_thread::sleep_for(1ms);
  }

  const test::TemporaryDirectory directory_;
  BenchmarkOptions options_;
  std::unique_ptr<Session> session_;
};

TEST_F(RunOnAFullDisk, IsGivenUpAndNothingOfItIsKept) {
  ASSERT_NE(session_, nullptr);
  const FullDisk full(kTooFewBytes);
  StopFlag stop{false};
  const std::jthread stopper([&] {
    await_full_log();
    // relaxed: a flag on its own.
    stop.store(true, std::memory_order_relaxed);
  });
  const auto report = session_->measure(options_, stop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->interrupted);
  EXPECT_GT(report->calls_failed, 0U);
  const Checks checks = session_->finish(stop, ignore_progress);
  EXPECT_FALSE(checks.found_nothing(true));
  EXPECT_FALSE(checks.consistency_violations.has_value()) << "none could be checked";
  EXPECT_THAT(checks.close_error, HasSubstr("nothing of it was kept"));
  EXPECT_FALSE(std::filesystem::exists(options_.keep_path));
}

TEST_F(RunOnAFullDisk, InAnOpenLoopIsGivenUp) {
  ASSERT_NE(session_, nullptr);
  const FullDisk full(kTooFewBytes);
  PhaseSwitch phase;
  OpenLoopDriver driver(session_->database(), session_->procedures(), {.queue_requests = 64},
                        &phase);
  driver.start();
  await_full_log();
  phase.set(Phase::kStop);
  driver.join();
  EXPECT_GT(driver.statistics().failed, 0U);
  EXPECT_NE(driver.statistics().error, "");
}

// Where no call is on its way, the save of the end fails.
TEST_F(RunOnAFullDisk, WhatCannotBeSavedIsKeptByItsLog) {
  ASSERT_NE(session_, nullptr);
  const FullDisk full(kLogBytes);
  ASSERT_TRUE(age(session_.get(), 1, 61, kNeverStop, ignore_progress, 0.01));
  const Checks checks = session_->finish(kNeverStop, ignore_progress);
  EXPECT_THAT(checks.close_error, HasSubstr("the database is left with its log"));
  session_.reset();
  const auto log = dispatcher::inspect_log(options_.keep_path);
  ASSERT_TRUE(log) << log.error().to_string();
  EXPECT_GT(log->transactions, 0U);
}

}  // namespace
}  // namespace diptych::workloads
