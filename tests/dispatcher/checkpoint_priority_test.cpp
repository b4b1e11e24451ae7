// At which priority checkpoints are written: at the lowest, unless the log outgrows them, or calls
// wait for one; then at no rate, either.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "storage/manifest.h"
#include "tests/dispatcher/log_fault_fixture.h"

namespace diptych::dispatcher {
namespace {

using std::chrono::milliseconds;
using storage::FileStep;

class CheckpointPriority : public DirectoryFixture {
 protected:
  static constexpr uint64_t kLogBytes = 16 << 10;
  static constexpr int kLowest = 19;

  void SetUp() override {
    usual_ = ::getpriority(PRIO_PROCESS, 0);
    if (usual_ == kLowest) GTEST_SKIP() << "all that this process does has the lowest";
    Bank::open({.path = path()})->fill(1'000);
  }

  std::unique_ptr<Bank> open_bank(uint64_t checkpoint_log_bytes) {
    return open_bank(DatabaseOptions{.checkpoint_log_bytes = checkpoint_log_bytes});
  }
  std::unique_ptr<Bank> open_bank(DatabaseOptions with) {
    with.path = path();
    with.faults.before_step = [this](FileStep step) { return pass(step); };
    return Bank::open(with);
  }
  static void bump(Bank* bank) {
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 1, .balance = {}}).get().ok());
  }
  static void log_more(Bank* bank, uint64_t bytes) {
    const uint64_t before = bank->database->metrics().log_bytes;
    while (bank->database->metrics().log_bytes < before + bytes) bump(bank);
    std::this_thread::sleep_for(milliseconds(50));  // for a wish of the log to be heard
  }

  // From its next step on, the thread that writes checkpoints waits until it may go on.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waits_; });
  }
  // Of the thread that put the newest checkpoint's manifest into its place.
  int nice() {
    const std::lock_guard lock(mutex_);
    return nice_;
  }
  void expect_that_the_next_has_the_lowest(Bank* bank) {
    bump(bank);
    ASSERT_TRUE(bank->database->checkpoint().ok());
    EXPECT_EQ(nice(), kLowest);
  }

  static bool refuses(const Bank& bank, LogRefusal why) {
    return bank.database->metrics().log_refuses[static_cast<size_t>(why)];
  }

  int usual_ = 0;
  std::atomic<bool> is_full_{false};     // the log finds no space for a file
  std::atomic<bool> saves_fail_{false};  // but for checkpoints in the background

 private:
  base::Result<void> pass(FileStep step) {
    const std::string name = thread_name();
    if (name.starts_with("oltp-log") && step == FileStep::kGrow && is_full_) {
      return base::Error(base::ErrorCode::kNoSpace, "the test's disk");
    }
    if (name != "olap-checkpoint") {
      if (name.starts_with("oltp-log") || !saves_fail_) return {};
      return base::Error(base::ErrorCode::kIo, "the test's disk");
    }
    std::unique_lock lock(mutex_);
    waits_ = held_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    waits_ = false;
    if (step == FileStep::kRename) nice_ = ::getpriority(PRIO_PROCESS, ::gettid());
    return {};
  }

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  bool held_ = false;
  bool waits_ = false;
  int nice_ = kLowest + 1;
};

TEST_F(CheckpointPriority, IsTheLowestUntilTheLogOutgrowsTheOneThatIsWritten) {
  auto bank = open_bank(kLogBytes);
  ASSERT_NO_FATAL_FAILURE(expect_that_the_next_has_the_lowest(bank.get()));
  for (const bool outgrows : {false, true}) {
    bump(bank.get());
    hold(true);
    auto done = std::async(std::launch::async, [&] { return bank->database->checkpoint(); });
    wait_until_held();
    // The log wishes for the next one, and then again.
    ASSERT_NO_FATAL_FAILURE(log_more(bank.get(), kLogBytes / 8 + kLogBytes * (outgrows ? 2 : 1)));
    const uint64_t written = bank->database->metrics().checkpoint_ns.count();
    hold(false);
    ASSERT_TRUE(done.get().ok());
    while (storage::read_manifest(path())->vid != bank->database->metrics().last_vid) {
      std::this_thread::yield();
    }
    EXPECT_EQ(nice(), outgrows ? usual_ : kLowest);
    while (bank->database->metrics().checkpoints_running != 0) std::this_thread::yield();
    EXPECT_EQ(bank->database->metrics().checkpoint_ns.count(), written + (outgrows ? 1 : 2))
        << "the first one makes way only where the log outgrows it";
  }
  expect_that_the_next_has_the_lowest(bank.get());
}

TEST_F(CheckpointPriority, IsTheUsualOfOneThatIsBegunLate) {
  {
    auto bank = open_bank(0);
    ASSERT_NO_FATAL_FAILURE(log_more(bank.get(), 2 * kLogBytes));
    ASSERT_NO_FATAL_FAILURE(expect_that_the_next_has_the_lowest(bank.get()));
    ASSERT_NO_FATAL_FAILURE(log_more(bank.get(), 2 * kLogBytes));
    static_cast<void>(bank->database->discard());
  }
  auto bank = open_bank(kLogBytes);
  ASSERT_TRUE(bank->database->recover().ok());
  while (bank->database->metrics().checkpoints == 0) std::this_thread::yield();
  EXPECT_EQ(nice(), usual_);
  expect_that_the_next_has_the_lowest(bank.get());
}

// At this rate none would ever end.
DatabaseOptions slowest_checkpoints() {
  return {.log_file_bytes = 8 << 10, .checkpoint_bytes_per_second = 1};
}

TEST_F(CheckpointPriority, IsTheUsualAndWithoutARateWhileTheLogWaitsForSpace) {
  auto bank = open_bank(slowest_checkpoints());
  bump(bank.get());
  // The one that is written at the lowest by then makes way.
  hold(true);
  auto done = std::async(std::launch::async, [&] { return bank->database->checkpoint(); });
  wait_until_held();
  is_full_ = true;
  Future<oltp::Nothing> waits;
  do {
    waits = bank->database->call(bank->bump, {.id = 1, .balance = {}});
    while (waits.wait_for(milliseconds(1)) != std::future_status::ready &&
           !refuses(*bank, LogRefusal::kNoSpace)) {
    }
  } while (!refuses(*bank, LogRefusal::kNoSpace));
  std::this_thread::sleep_for(milliseconds(50));  // for the log's wish to be heard
  hold(false);
  ASSERT_EQ(done.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_TRUE(done.get().ok());
  EXPECT_EQ(nice(), usual_);
  is_full_ = false;
  EXPECT_TRUE(waits.get().ok());
}

TEST_F(CheckpointPriority, IsTheUsualAndWithoutARateWhileCallsAreRefusedUntilThereIsOne) {
  auto bank = open_bank(slowest_checkpoints());
  bump(bank.get());
  saves_fail_ = true;
  // Which leaves the checkpoint the rows to write.
  constexpr const char* kChanges = "CREATE UNIQUE INDEX pairs ON account (id, version)";
  EXPECT_FALSE(bank->database->execute_ddl(kChanges).ok());
  ASSERT_TRUE(refuses(*bank, LogRefusal::kSuspended));
  const auto begin = std::chrono::steady_clock::now();
  while (refuses(*bank, LogRefusal::kSuspended)) {
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(nice(), usual_);
}

}  // namespace
}  // namespace diptych::dispatcher
