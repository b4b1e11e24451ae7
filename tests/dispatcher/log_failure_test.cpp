// A write or sync of the log that fails, for good: transactions end, and what must be saved too.

#include <array>
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/log_fault_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using storage::FileStep;
using ::testing::HasSubstr;

TEST_F(LogFault, AFailedWriteOrSyncEndsTransactionsAndQueriesGoOn) {
  // A new file that cannot be made is one: as where the device has become read-only.
  for (const FileStep step : {FileStep::kWrite, FileStep::kSync, FileStep::kGrow}) {
    SCOPED_TRACE(static_cast<int>(step));
    ::testing::internal::CaptureStderr();
    {
      auto bank = Bank::open(options());
      bank->fill(10);
      ASSERT_TRUE(bump(bank.get()));
      steps_.refuse(step, ErrorCode::kIo);
      base::Result<void> failed = bump(bank.get());
      while (step == FileStep::kGrow && failed) failed = bump(bank.get());
      ASSERT_EQ(failed.ok() ? ErrorCode::kClosed : failed.code(), ErrorCode::kIo);
      EXPECT_THAT(failed.error().message, HasSubstr("the test's disk refuses"));
      EXPECT_THAT(failed.error().message, HasSubstr("not known"));
      steps_.refuse({}, ErrorCode::kIo);
      // For good, though the disk works again.
      EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kIo);
      EXPECT_EQ(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().code(),
                ErrorCode::kIo);
      EXPECT_TRUE(bank->number("SELECT sum(version) FROM account").ok());
      EXPECT_EQ(bank->database->metrics().log_refuses,
                (std::array<bool, kLogRefusals>{true, false, false}));
      static_cast<void>(bank->database->discard());
    }
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(occurrences(told, "the log cannot be written"), 1) << told;
    EXPECT_THAT(told, HasSubstr("the test's disk refuses"));
  }
}

// What could not be saved would be in memory alone, and no call could use it.
TEST_F(LogFault, LoadsAndDdlAreRefusedOnceTheLogHasFailed) {
  auto bank = Bank::open(options());
  bank->fill(10);
  steps_.refuse(FileStep::kSync, ErrorCode::kIo);
  const auto failed = bump(bank.get());
  ASSERT_EQ(failed.code(), ErrorCode::kIo);
  bool is_asked = false;
  const auto loaded = bank->database->load(bank->accounts.table, [&] {
    is_asked = true;
    return RowBatch{};
  });
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message, failed.error().message);
  EXPECT_FALSE(is_asked);
  const auto created = bank->database->execute_ddl("CREATE TABLE t (a INT PRIMARY KEY)");
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().message, failed.error().message);
  EXPECT_EQ(bank->database->catalog().find_table("t"), nullptr);
  EXPECT_EQ(bank->database->metrics().log_refuses,
            (std::array<bool, kLogRefusals>{true, false, false}));
  steps_.refuse({}, ErrorCode::kIo);
  static_cast<void>(bank->database->discard());
}

// The log fails when DDL has been let in, and before it is saved.
TEST_F(LogFault, DdlBesideALogThatFailsIsNotSaidToNeedASaveOnly) {
  Bank::open({.path = path()})->fill(10);
  std::atomic<bool> holds{false};
  std::atomic<bool> syncs{false};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](FileStep) -> base::Result<void> {
    if (!holds && !syncs) return {};
    syncs = true;
    while (holds) std::this_thread::yield();
    return base::Error(ErrorCode::kIo, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  ASSERT_TRUE(bump(bank.get()));
  holds = true;
  auto written = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (!syncs) std::this_thread::yield();
  auto ddl = std::async(std::launch::async, [&] {
    return bank->database->execute_ddl(
        "CREATE TABLE t (a INT PRIMARY KEY); CREATE UNIQUE INDEX u ON account (version, id)");
  });
  while (bank->database->catalog().find_table("t") == nullptr) std::this_thread::yield();
  holds = false;
  EXPECT_EQ(written.get().code(), ErrorCode::kIo);
  const auto failed = ddl.get();
  ASSERT_EQ(failed.code(), ErrorCode::kIo);
  EXPECT_THAT(failed.error().message, HasSubstr("until the database is opened anew, without it"));
  static_cast<void>(bank->database->discard());
}

// The batch began before the group failed that it read from, and ends after it.
TEST_F(LogFault, ACallThatOnlyReadWhatWasNotWrittenFailsToo) {
  std::atomic<int> stage{0};  // 1: a sync waits, 2: it fails, 3: it has failed
  std::atomic<bool> syncs{false};
  DatabaseOptions with{.path = path(), .slow_procedure_ns = 0};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kSync || stage == 0) return {};
    syncs = true;
    while (stage == 1) std::this_thread::yield();
    return base::Error(ErrorCode::kIo, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  bank->fill(10);
  std::atomic<bool> reads{false};
  const auto look = *bank->database->register_procedure<AccountArguments, TransferReply>(
      "look",
      [&](Transaction& txn, const AccountArguments& arguments) -> base::Result<TransferReply> {
        auto row = txn.get<&Account::version>(bank->by_id, arguments.id);
        if (!row) return row.error();
        reads = true;
        while (stage != 3) std::this_thread::yield();
        return TransferReply{*row};
      });
  stage = 1;
  auto written = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (!syncs) std::this_thread::yield();
  auto seen = bank->database->call(look, {.id = 3, .balance = {}});
  while (!reads) std::this_thread::yield();
  stage = 2;
  EXPECT_EQ(written.get().code(), ErrorCode::kIo);
  stage = 3;
  EXPECT_EQ(seen.get().code(), ErrorCode::kIo);
  static_cast<void>(bank->database->discard());
}

TEST_F(LogFault, WhatWasAcknowledgedBeforeAFailedSyncIsThere) {
  Bank::open({.path = path()})->fill(10);
  {
    auto bank = Bank::open(options());
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(bump(bank.get()));
    steps_.refuse(FileStep::kSync, ErrorCode::kIo);
    EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kIo);
    static_cast<void>(bank->database->discard());
  }
  const int64_t there = bumps();
  EXPECT_GE(there, 4);
  EXPECT_LE(there, 5);
}

}  // namespace
}  // namespace diptych::dispatcher
