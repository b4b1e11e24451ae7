// Checkpoints that fail: the log grows until the disk is full, then calls are refused, and they go
// on once there is space again, whoever makes it. Nothing is lost meanwhile.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/command_log/uncovered_log.h"
#include "tests/dispatcher/log_fault_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using storage::FileStep;
using ::testing::HasSubstr;

class FailingCheckpoint : public LogFault {
 protected:
  static constexpr size_t kFileBytes = 8 << 10;

  FailingCheckpoint() { Bank::open({.path = path()})->fill(10); }

  std::unique_ptr<Bank> open_bank() {
    DatabaseOptions with{
        .path = path(), .log_file_bytes = kFileBytes, .checkpoint_log_bytes = kFileBytes};
    with.faults.before_step = [this](FileStep step) -> base::Result<void> {
      if (thread_name() == "olap-checkpoint" && checkpoints_fail_) {
        return base::Error(ErrorCode::kIo, "the test's disk refuses checkpoints");
      }
      // The file itself may be there.
      if (step != FileStep::kGrow || !is_thread_of_the_log() || log_files() <= files_max_)
        return {};
      return base::Error(ErrorCode::kNoSpace, "the test's disk is full");
    };
    return Bank::open(with);
  }
  int log_files() {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      files += entry.path().extension() == ".dtl" ? 1 : 0;
    }
    return files;
  }
  static bool ends(Future<oltp::Nothing>* call, std::chrono::milliseconds within) {
    return call->wait_for(within) == std::future_status::ready;
  }
  static bool comes(const std::function<bool()>& moment) {
    const auto begin = std::chrono::steady_clock::now();
    while (!moment()) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  // The call that waits for space; those before it have ended.
  Future<oltp::Nothing> fill_disk(Bank* bank) {
    while (true) {
      auto call = bank->database->call(bank->bump, {.id = 3, .balance = {}});
      while (!ends(&call, std::chrono::milliseconds(1))) {
        const auto refuses = bank->database->metrics().log_refuses;
        if (refuses[static_cast<size_t>(LogRefusal::kNoSpace)]) return call;
      }
      const auto done = call.get();
      EXPECT_TRUE(done.ok() || done.code() == ErrorCode::kNoSpace);
      bumped_ += done.ok() ? 1 : 0;
    }
  }
  void expect_to_go_on(Future<oltp::Nothing>* waits) {
    ASSERT_TRUE(ends(waits, std::chrono::seconds(60)));
    EXPECT_TRUE(waits->get().ok());
    ++bumped_;
  }

  std::atomic<bool> checkpoints_fail_{false};
  std::atomic<int> files_max_{24};
  int64_t bumped_ = 0;
};

TEST_F(FailingCheckpoint, FillsTheDiskWithTheLogAndNothingIsLostUntilThereIsSpace) {
  auto bank = open_bank();
  checkpoints_fail_ = true;
  auto waits = fill_disk(bank.get());
  const Metrics full = bank->database->metrics();
  EXPECT_GT(full.log_uncovered_bytes, UncoveredLog::kFull * kFileBytes) << "nobody was held back";
  EXPECT_GT(full.checkpoints_failed, 0u);
  const auto refused = bump(bank.get());
  EXPECT_EQ(refused.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(refused.error().message, HasSubstr("the test's disk is full"));
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), bumped_ + 1) << "queries go on";
  // Somebody else makes space, for a while.
  files_max_ = 30;
  expect_to_go_on(&waits);
  waits = fill_disk(bank.get());
  EXPECT_GT(bank->database->metrics().log_uncovered_bytes, full.log_uncovered_bytes);
  // A checkpoint does, once it can: it is tried again and again, though the log grows no more.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // for those wished for before
  const auto failed = [&] { return bank->database->metrics().checkpoints_failed; };
  ASSERT_TRUE(comes([&, before = failed()] { return failed() >= before + 2; }));
  checkpoints_fail_ = false;
  expect_to_go_on(&waits);
  EXPECT_TRUE(comes([&] {
    return bank->database->metrics().log_uncovered_bytes <= UncoveredLog::kFull * kFileBytes;
  })) << "files are dropped first";
  EXPECT_LT(log_files(), 24);
  ASSERT_TRUE(bump(bank.get()));
  static_cast<void>(bank->database->discard());  // as a crash
  EXPECT_EQ(bumps(), bumped_ + 1);
}

}  // namespace
}  // namespace diptych::dispatcher
