// A disk that refuses: every step of log and checkpoint in turn, a kill between any two of them, a
// full disk that has space again, a sync that fails for good.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using storage::FileStep;
using ::testing::HasSubstr;

// Refuses or kills at a step, once told to. Outlives the database.
class StepCounter {
 public:
  storage::BeforeFileStep hook() {
    return [this](FileStep step) { return take(step); };
  }
  // The n-th step from now on, counted from 1; 0: none.
  void kill_at(int64_t n) { left_ = n; }
  int64_t taken() const { return taken_; }
  void refuse(std::optional<FileStep> step, ErrorCode code) {
    const std::lock_guard lock(mutex_);
    refused_ = step;
    code_ = code;
  }

 private:
  base::Result<void> take(FileStep step) {
    ++taken_;
    if (left_ > 0 && --left_ == 0) ::kill(::getpid(), SIGKILL);
    const std::lock_guard lock(mutex_);
    if (refused_ != step) return {};
    return base::Error(code_, "the test's disk refuses");
  }

  std::atomic<int64_t> left_{0};
  std::atomic<int64_t> taken_{0};
  std::mutex mutex_;
  std::optional<FileStep> refused_;
  ErrorCode code_ = ErrorCode::kIo;
};

class LogFault : public DirectoryFixture {
 protected:
  DatabaseOptions options() {
    return {.path = path(), .log_file_bytes = 16 << 10, .faults = {.before_step = steps_.hook()}};
  }
  static base::Result<void> bump(Bank* bank, int32_t id = 3) {
    auto done = bank->database->call(bank->bump, {.id = id, .balance = {}}).get();
    return done ? base::Result<void>() : done.error();
  }
  int64_t bumps() {
    auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
    if (bank == nullptr) return -1;
    expect_equal_replicas(bank->database.get());
    const auto number = bank->number("SELECT version FROM account WHERE id = 3");
    EXPECT_TRUE(number.ok()) << number.error().to_string();
    bank->database->discard();
    return number ? *number : -1;
  }

  StepCounter steps_;
};

// What a process does that dies at the n-th step: calls, checkpoints, DDL, a load, several files.
void live(const std::string& path, LogMode mode, StepCounter* steps,
          std::atomic<int64_t>* acknowledged) {
  auto bank = Bank::open({.path = path,
                          .log = mode,
                          .log_file_bytes = 8 << 10,
                          .faults = {.before_step = steps->hook()}});
  const auto bump = [&] {
    const bool done = bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok();
    if (done) ++*acknowledged;
  };
  for (int i = 0; i < 3; ++i) bump();
  static_cast<void>(bank->database->checkpoint());
  bump();
  static_cast<void>(bank->database->execute_ddl("CREATE INDEX by_version ON account (version)"));
  bump();
  bank->fill(0);
  static_cast<void>(bank->database->close());
}

class LogFaultOfMode : public LogFault, public ::testing::WithParamInterface<LogMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, LogFaultOfMode,
                         ::testing::Values(LogMode::kCommand, LogMode::kPhysical));

TEST_P(LogFaultOfMode, AProcessThatDiesBetweenAnyTwoStepsLosesNothing) {
  auto* const shared = static_cast<std::atomic<int64_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Bank::open({.path = path("base")})->fill(10);
  int64_t deaths = 0;
  for (int64_t at = 1;; ++at) {
    std::filesystem::remove_all(path());
    std::filesystem::copy(path("base"), path());
    *shared = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      steps_.kill_at(at);
      live(path(), GetParam(), &steps_, shared);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const int64_t there = bumps();
    ASSERT_GE(there, *shared) << "killed at step " << at;
    ASSERT_LE(there, *shared + 1) << "killed at step " << at;
    // Once more: what the recovery itself left is whole too.
    if (at % 4 == 0) {
      ASSERT_EQ(bumps(), there);
    }
    if (!WIFSIGNALED(status)) break;
    ++deaths;
  }
  EXPECT_GT(deaths, 30);
  RecordProperty("deaths", std::to_string(deaths));
  ::munmap(shared, 4096);
}

TEST_F(LogFault, AReplyComesAfterTheSync) {
  std::atomic<bool> may_sync{true};
  std::atomic<bool> syncing{false};
  DatabaseOptions with_gate{.path = path()};
  with_gate.faults.before_step = [&](FileStep step) {
    if (step == FileStep::kSync && !may_sync) {
      syncing = true;
      while (!may_sync) std::this_thread::yield();
    }
    return base::Result<void>();
  };
  auto bank = Bank::open(with_gate);
  bank->fill(10);
  ASSERT_TRUE(bump(bank.get()));
  may_sync = false;
  auto reply = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (!syncing) std::this_thread::yield();
  // A call that only fails read what is not durable yet, and a query shows it.
  auto aborted = bank->database->call(bank->transfer, {.from = 3, .to = 4, .cents = 1 << 30});
  auto query = std::async(std::launch::async, [&] {
    return *bank->number("SELECT version FROM account WHERE id = 3");
  });
  for (auto* const future : {&reply}) {
    EXPECT_EQ(future->wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  }
  EXPECT_EQ(aborted.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  EXPECT_EQ(query.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  may_sync = true;
  EXPECT_TRUE(reply.get().ok());
  EXPECT_EQ(aborted.get().code(), ErrorCode::kAborted);
  EXPECT_EQ(query.get(), 2);
}

TEST_F(LogFault, AFailedWriteOrSyncEndsTransactionsAndQueriesGoOn) {
  for (const FileStep step : {FileStep::kWrite, FileStep::kSync}) {
    std::filesystem::remove_all(path());
    {
      auto bank = Bank::open(options());
      bank->fill(10);
      ASSERT_TRUE(bump(bank.get()));
      steps_.refuse(step, ErrorCode::kIo);
      const auto failed = bump(bank.get());
      ASSERT_EQ(failed.ok() ? ErrorCode::kClosed : failed.code(), ErrorCode::kIo);
      EXPECT_THAT(failed.error().message, HasSubstr("the test's disk refuses"));
      EXPECT_THAT(failed.error().message, HasSubstr("not known"));
      steps_.refuse({}, ErrorCode::kIo);
      // For good, though the disk works again.
      EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kIo);
      EXPECT_EQ(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().code(),
                ErrorCode::kIo);
      EXPECT_TRUE(bank->number("SELECT sum(version) FROM account").ok());
      bank->database->discard();
    }
    if (!std::filesystem::exists(path())) continue;  // open() had made it
  }
}

// The batch began before the group failed that it read from, and ends after it.
TEST_F(LogFault, ACallThatOnlyReadWhatWasNotWrittenFailsToo) {
  std::atomic<int> stage{0};  // 1: a sync waits, 2: it fails, 3: it has failed
  DatabaseOptions with{.path = path(), .slow_procedure_ns = 0};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kSync || stage == 0) return {};
    while (stage == 1) std::this_thread::yield();
    return base::Error(ErrorCode::kIo, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  bank->fill(10);
  std::atomic<bool> reads{false};
  const auto look = *bank->database->register_procedure<AccountArguments, TransferReply>(
      "look", [&](Transaction& txn, const AccountArguments& arguments)
                  -> base::Result<TransferReply> {
        auto row = txn.get<&Account::version>(bank->by_id, arguments.id);
        if (!row) return row.error();
        reads = true;
        while (stage != 3) std::this_thread::yield();
        return TransferReply{*row};
      });
  stage = 1;
  auto written = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  auto seen = bank->database->call(look, {.id = 3, .balance = {}});
  while (!reads) std::this_thread::yield();
  stage = 2;
  EXPECT_EQ(written.get().code(), ErrorCode::kIo);
  stage = 3;
  EXPECT_EQ(seen.get().code(), ErrorCode::kIo);
  bank->database->discard();
}

TEST_F(LogFault, WhatWasAcknowledgedBeforeAFailedSyncIsThere) {
  Bank::open({.path = path()})->fill(10);
  {
    auto bank = Bank::open(options());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(bump(bank.get()));
    steps_.refuse(FileStep::kSync, ErrorCode::kIo);
    EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kIo);
    bank->database->discard();
  }
  const int64_t there = bumps();
  EXPECT_GE(there, 4);
  EXPECT_LE(there, 5);
}

TEST_F(LogFault, AFullDiskRefusesCallsUntilThereIsSpace) {
  Bank::open({.path = path()})->fill(10);
  auto bank = Bank::open(options());
  ASSERT_TRUE(bump(bank.get()));
  steps_.refuse(FileStep::kGrow, ErrorCode::kNoSpace);
  // Until a new file is needed all is well; then a call waits, and further ones are refused.
  int64_t done = 1;
  Future<oltp::Nothing> waits;
  while (true) {
    waits = bank->database->call(bank->bump, {.id = 3, .balance = {}});
    if (waits.wait_for(std::chrono::milliseconds(300)) == std::future_status::timeout) break;
    ASSERT_TRUE(waits.get().ok());
    ++done;
  }
  EXPECT_GT(done, 2);
  const auto refused = bump(bank.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(refused.error().message, HasSubstr("wait for the log"));
  EXPECT_TRUE(bank->number("SELECT sum(version) FROM account").ok());
  steps_.refuse({}, ErrorCode::kIo);
  EXPECT_TRUE(waits.get().ok());
  EXPECT_TRUE(bump(bank.get()));
  bank->database->discard();
  EXPECT_EQ(bumps(), done + 2);
}

TEST_F(LogFault, ADiskThatStaysFullIsNotWaitedForByClose) {
  Bank::open({.path = path()})->fill(10);
  {
    auto bank = Bank::open(options());
    steps_.refuse(FileStep::kGrow, ErrorCode::kNoSpace);
    auto waits = bank->database->call(bank->bump, {.id = 3, .balance = {}});
    EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    EXPECT_FALSE(bank->database->close().ok());
    EXPECT_EQ(waits.get().code(), ErrorCode::kIo);
    steps_.refuse({}, ErrorCode::kIo);
    const auto closed = bank->database->close();
    EXPECT_TRUE(closed.ok()) << closed.error().to_string();
  }
  // Its fate was not known; it was in memory, which was saved.
  EXPECT_EQ(bumps(), 1);
}

TEST_F(LogFault, ALoadOrDdlThatCannotBeSavedStopsCallsUntilASaveSucceeds) {
  auto bank = Bank::open(options());
  bank->fill(10);
  ASSERT_TRUE(bump(bank.get()));
  steps_.refuse(FileStep::kRename, ErrorCode::kIo);
  const auto failed = bank->database->execute_ddl("CREATE TABLE t (a INT PRIMARY KEY)");
  ASSERT_EQ(failed.code(), ErrorCode::kIo);
  EXPECT_THAT(failed.error().message, HasSubstr("until save() or checkpoint() succeeds"));
  EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kIo);
  EXPECT_TRUE(bank->number("SELECT count(*) FROM t").ok());
  EXPECT_EQ(bank->database->checkpoint().code(), ErrorCode::kIo);
  steps_.refuse({}, ErrorCode::kIo);
  ASSERT_TRUE(bank->database->checkpoint().ok());
  EXPECT_TRUE(bump(bank.get()));
}

TEST_F(LogFault, ACheckpointThatFailsKeepsTheLog) {
  Bank::open({.path = path()})->fill(10);
  for (const FileStep step : {FileStep::kWrite, FileStep::kSync, FileStep::kSyncDirectory}) {
    const int64_t before = bumps();
    auto bank = Bank::open(options());
    ASSERT_TRUE(bump(bank.get()));
    ASSERT_TRUE(bump(bank.get()));
    steps_.refuse(step, ErrorCode::kNoSpace);
    EXPECT_FALSE(bank->database->save().ok());
    steps_.refuse({}, ErrorCode::kIo);
    bank->database->discard();
    bank.reset();
    EXPECT_EQ(bumps(), before + 2);
  }
}

}  // namespace
}  // namespace diptych::dispatcher
