// The directory of an open database that is moved, while another database comes to its path:
// neither harms the other, and what could not be done is told.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "dispatcher/backup.h"
#include "dispatcher/database_inspection.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class MovedDirectory : public DirectoryFixture {
 protected:
  static base::Result<void> bump(Bank* bank) {
    auto done = bank->database->call(bank->bump, {.id = 3, .balance = {}}).get();
    return done ? base::Result<void>() : done.error();
  }
  static std::unique_ptr<Bank> open(const std::string& path) {
    return Bank::open({.path = path, .log_file_bytes = 8 << 10});
  }
  // How often account 3 was bumped.
  static int64_t version_in(const std::string& path) {
    auto bank = Bank::open({.path = path, .mode = OpenMode::kOpen});
    if (bank == nullptr) return -1;
    expect_equal_replicas(bank->database.get());
    return *bank->number("SELECT version FROM account WHERE id = 3");
  }
  static void expect_moved(const base::Result<void>& told) {
    ASSERT_FALSE(told.ok());
    EXPECT_EQ(told.code(), ErrorCode::kIo);
    EXPECT_THAT(told.error().message, HasSubstr("moved or replaced"));
  }
};

TEST_F(MovedDirectory, AndTheDatabaseThatComesToItsPlaceHarmEachOtherNot) {
  auto moved = open(path());
  moved->fill(10);
  fs::rename(path(), path("moved"));
  auto other = open(path());
  other->fill(5);
  int done = 0;
  int done_in_other = 0;
  constexpr int kMoreThanOneFileOfTheLog = 2'000;
  base::Result<void> told;
  while (told && done < kMoreThanOneFileOfTheLog) {
    told = bump(moved.get());
    if (told) ++done;
    if (done % 10 != 0) continue;
    ASSERT_TRUE(bump(other.get()).ok());
    ++done_in_other;
  }
  expect_moved(told);
  expect_moved(moved->database->checkpoint());
  expect_moved(moved->database->close());
  moved.reset();
  ASSERT_TRUE(bump(other.get()).ok());
  EXPECT_TRUE(other->database->checkpoint().ok());
  ASSERT_TRUE(bump(other.get()).ok());
  EXPECT_TRUE(other->database->close().ok());
  other.reset();
  EXPECT_EQ(version_in(path("moved")), done);
  EXPECT_EQ(version_in(path()), done_in_other + 2);
}

// Also where the log's next file is ready, as it mostly is a little after its last step: a
// checkpoint would begin it.
TEST_F(MovedDirectory, ThatComesBackIsUsedAsBefore) {
  constexpr int kRounds = 10;
  std::atomic<int> last_steps{0};
  DatabaseOptions with{.path = path(), .log_file_bytes = 8 << 10};
  with.faults.before_step = [&](storage::FileStep step) -> base::Result<void> {
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    const bool makes_ready = std::string_view(name) == "oltp-log-files";
    if (makes_ready && step == storage::FileStep::kSyncDirectory) ++last_steps;
    return {};
  };
  auto bank = Bank::open(with);
  bank->fill(10);
  for (int round = 0; round < kRounds; ++round) {
    const int before = last_steps;
    ASSERT_TRUE(bump(bank.get()).ok()) << round;
    while (last_steps == before) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    fs::rename(path(), path("moved"));
    expect_moved(bank->database->checkpoint());
    const auto copied = bank->database->backup(path("backup"));
    expect_moved(copied ? base::Result<void>() : copied.error());
    fs::rename(path("moved"), path());
    const auto taken = bank->database->checkpoint();
    EXPECT_TRUE(taken.ok()) << taken.error().to_string();
  }
  EXPECT_TRUE(bank->database->close().ok());
  EXPECT_EQ(version_in(path()), kRounds);
}

TEST_F(MovedDirectory, OfADatabaseThatIsDiscardedLeavesTheOther) {
  auto moved = open(path());
  moved->fill(10);
  fs::rename(path(), path("moved"));
  auto other = open(path());
  other->fill(10);
  ASSERT_TRUE(bump(other.get()).ok());
  expect_moved(moved->database->discard());
  moved.reset();
  EXPECT_TRUE(other->database->close().ok());
  EXPECT_EQ(version_in(path()), 1);
  EXPECT_EQ(version_in(path("moved")), 0);
}

}  // namespace
}  // namespace diptych::dispatcher
