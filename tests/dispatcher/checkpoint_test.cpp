// Checkpoints in the background: what goes on beside one, what ends one, and what is there after a
// crash in the middle of one.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "storage/chunk_address.h"
#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using std::chrono::milliseconds;
using storage::FileStep;

// Stops the thread that writes checkpoints at its next step, until it may go on.
class CheckpointStop {
 public:
  static bool is_writer() {
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    return std::string_view(name) == "olap-checkpoint";
  }
  storage::BeforeFileStep hook() {
    return [this](FileStep step) { return pass(step); };
  }
  void stop() { set(true); }
  void go_on() { set(false); }
  void refuse(std::optional<FileStep> step) {
    const std::lock_guard lock(mutex_);
    refused_ = step;
  }
  void wait_until_stopped() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_; });
  }

 private:
  void set(bool stops) {
    const std::lock_guard lock(mutex_);
    stops_ = stops;
    changed_.notify_all();
  }
  base::Result<void> pass(FileStep step) {
    if (!is_writer()) return {};
    std::unique_lock lock(mutex_);
    waits_ = stops_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !stops_; });
    waits_ = false;
    if (refused_ == step) return base::Error(ErrorCode::kNoSpace, "the test's disk refuses");
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;
  bool waits_ = false;
  std::optional<FileStep> refused_;
};

class Checkpoint : public DirectoryFixture {
 protected:
  std::unique_ptr<Bank> open_bank(DatabaseOptions with = {}) {
    with.path = path();
    with.faults.before_step = stop_.hook();
    auto bank = Bank::open(with);
    if (*bank->number("SELECT count(*) FROM account") == 0) bank->fill(1'000);
    return bank;
  }
  static void bump(Bank* bank, int32_t id) {
    const auto done = bank->database->call(bank->bump, {.id = id, .balance = {}}).get();
    ASSERT_TRUE(done.ok()) << done.error().to_string();
  }
  std::future<base::Result<void>> checkpoint(Bank* bank) {
    return std::async(std::launch::async, [bank] { return bank->database->checkpoint(); });
  }
  static base::Result<void> load_one(Bank* bank, int32_t id) {
    const Account row{id, {1}, 0};
    bool given = false;
    const auto loaded = bank->database->load(bank->accounts.table, [&]() -> base::Result<RowBatch> {
      if (std::exchange(given, true)) return RowBatch{};
      return RowBatch{reinterpret_cast<const std::byte*>(&row), 1};
    });
    if (!loaded.ok()) return loaded.error();
    return {};
  }
  int64_t bumps_after_a_crash(std::unique_ptr<Bank> bank) {
    static_cast<void>(bank->database->discard());
    bank.reset();
    bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
    expect_equal_replicas(bank->database.get());
    return *bank->number("SELECT sum(version) FROM account");
  }

  CheckpointStop stop_;
};

TEST_F(Checkpoint, TransactionsAndQueriesGoOnWhileOneIsWritten) {
  Bank::open({.path = path()});
  auto bank = open_bank();
  for (int32_t id = 0; id < 100; ++id) bump(bank.get(), id);
  stop_.stop();
  auto done = checkpoint(bank.get());
  stop_.wait_until_stopped();
  for (int32_t id = 0; id < 200; ++id) bump(bank.get(), id);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 300);
  expect_equal_replicas(bank->database.get());
  const Metrics beside = bank->database->metrics();
  EXPECT_EQ(beside.checkpoints_running, 1U);
  EXPECT_EQ(beside.snapshots, 1U);
  EXPECT_GT(beside.memory.replica.snapshot_bytes, 0U);
  EXPECT_EQ(done.wait_for(milliseconds(0)), std::future_status::timeout);
  stop_.go_on();
  ASSERT_TRUE(done.get().ok());
  EXPECT_EQ(bank->database->metrics().checkpoint_ns.count(), 1U);
  EXPECT_EQ(bank->database->metrics().snapshots, 0U);
  for (int i = 0; bank->database->metrics().memory.replica.snapshot_bytes != 0; ++i) {
    ASSERT_LT(i, 1'000) << "what the snapshot had is not taken back";
    std::this_thread::sleep_for(milliseconds(5));
  }
  // The manifest has what was there as it was cut, and the log the rest.
  EXPECT_EQ(storage::read_manifest(path())->vid.value + 200,
            bank->database->metrics().last_vid.value);
  EXPECT_EQ(bumps_after_a_crash(std::move(bank)), 300);
}

TEST_F(Checkpoint, ACrashInTheMiddleOfOneFindsTheOneBefore) {
  Bank::open({.path = path()});
  auto bank = open_bank();
  for (int32_t id = 0; id < 100; ++id) bump(bank.get(), id);
  ASSERT_TRUE(bank->database->checkpoint().ok());
  const base::Vid before = storage::read_manifest(path())->vid;
  for (int32_t id = 50; id < 150; ++id) bump(bank.get(), id);
  stop_.stop();
  auto done = checkpoint(bank.get());
  stop_.wait_until_stopped();
  for (int32_t id = 0; id < 10; ++id) bump(bank.get(), id);
  EXPECT_EQ(storage::read_manifest(path())->vid, before);
  std::filesystem::copy(path(), path("crashed"));
  stop_.go_on();
  ASSERT_TRUE(done.get().ok());
  static_cast<void>(bank->database->discard());
  bank = Bank::open({.path = path("crashed"), .mode = OpenMode::kOpen});
  expect_equal_replicas(bank->database.get());
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 210);
}

TEST_F(Checkpoint, OneThatIsWishedForMeanwhileHasWhatCameMeanwhile) {
  auto bank = open_bank();
  bump(bank.get(), 1);
  stop_.stop();
  auto first = checkpoint(bank.get());
  stop_.wait_until_stopped();
  bump(bank.get(), 2);
  auto second = checkpoint(bank.get());
  EXPECT_EQ(second.wait_for(milliseconds(30)), std::future_status::timeout);
  stop_.go_on();
  ASSERT_TRUE(first.get().ok());
  ASSERT_TRUE(second.get().ok());
  EXPECT_EQ(storage::read_manifest(path())->vid, bank->database->metrics().last_vid);
}

// Nobody waits for that one: the log's size has asked for it.
TEST_F(Checkpoint, OneThatTheLogWishesForMeanwhileIsTakenToo) {
  constexpr uint64_t kLogBytes = 16 << 10;
  Bank::open({.path = path()});
  auto bank = open_bank({.checkpoint_log_bytes = kLogBytes});
  bump(bank.get(), 1);
  stop_.stop();
  auto first = checkpoint(bank.get());
  stop_.wait_until_stopped();
  const uint64_t before = bank->database->metrics().log_bytes;
  while (bank->database->metrics().log_bytes < before + 2 * kLogBytes) bump(bank.get(), 2);
  std::this_thread::sleep_for(milliseconds(50));  // for the wish to be heard
  EXPECT_EQ(bank->database->metrics().checkpoints_running, 1U);
  stop_.go_on();
  ASSERT_TRUE(first.get().ok());
  const base::Vid last = bank->database->metrics().last_vid;
  for (int i = 0; storage::read_manifest(path())->vid != last; ++i) {
    ASSERT_LT(i, 1'000) << "the wish is lost";
    std::this_thread::sleep_for(milliseconds(5));
  }
}

TEST_F(Checkpoint, WhatIsLoggedMeanwhileCountsTowardsTheNext) {
  constexpr uint64_t kLogBytes = 32 << 10;
  Bank::open({.path = path()});
  auto bank = open_bank({.checkpoint_log_bytes = kLogBytes});
  const auto log_more = [&](uint64_t bytes) {
    const uint64_t before = bank->database->metrics().log_bytes;
    while (bank->database->metrics().log_bytes < before + bytes) bump(bank.get(), 2);
  };
  bump(bank.get(), 1);
  stop_.stop();
  auto first = checkpoint(bank.get());
  stop_.wait_until_stopped();
  log_more(kLogBytes * 3 / 4);
  stop_.go_on();
  ASSERT_TRUE(first.get().ok());
  const base::Vid covered = storage::read_manifest(path())->vid;
  log_more(kLogBytes / 2);
  for (int i = 0; storage::read_manifest(path())->vid == covered; ++i) {
    ASSERT_LT(i, 1'000) << "what came while the first one was written is forgotten";
    std::this_thread::sleep_for(milliseconds(5));
  }
}

// A disk that takes long for it would hold up queries and calls.
TEST_F(Checkpoint, DoesNotWaitForALogFileThatIsBeingMade) {
  Bank::open({.path = path()})->fill(10);
  std::atomic<bool> held{true};
  DatabaseOptions with{.path = path(), .log_file_bytes = 8 << 10};
  with.faults.before_step = [&held](FileStep) -> base::Result<void> {
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    // relaxed: nothing is read on the strength of it.
    while (std::string_view(name) == "oltp-log-files" && held.load(std::memory_order_relaxed)) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return {};
  };
  auto bank = Bank::open(with);
  for (int32_t id = 0; id < 3; ++id) bump(bank.get(), id);
  auto done = checkpoint(bank.get());
  const bool in_time = done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  if (in_time) {
    EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 3);
  }
  // relaxed: see above.
  held.store(false, std::memory_order_relaxed);
  EXPECT_TRUE(done.get().ok());
  EXPECT_EQ(storage::read_manifest(path())->vid, bank->database->metrics().last_vid);
  EXPECT_EQ(bumps_after_a_crash(std::move(bank)), 3);
}

TEST_F(Checkpoint, OneThatDdlHasEndedEndsNoLaterOne) {
  Bank::open({.path = path()});
  auto bank = open_bank();
  bump(bank.get(), 1);
  stop_.stop();
  auto ended = checkpoint(bank.get());
  stop_.wait_until_stopped();
  auto ddl = std::async(std::launch::async, [&] {
    return bank->database->execute_ddl("CREATE UNIQUE INDEX other ON account (version, id)");
  });
  // Where it comes later, nothing is ended, and nothing is shown.
  std::this_thread::sleep_for(milliseconds(50));
  stop_.go_on();
  EXPECT_TRUE(ddl.get().ok());
  EXPECT_TRUE(ended.get().ok());
  bump(bank.get(), 1);
  auto later = checkpoint(bank.get());
  ASSERT_EQ(later.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_TRUE(later.get().ok());
  EXPECT_EQ(storage::read_manifest(path())->vid, bank->database->metrics().last_vid);
}

// Without a log only a save has it.
TEST_F(Checkpoint, HasTheDdlThatCameSinceTheLastOneOrWhileItWasWritten) {
  Bank::open({.path = path()});
  {
    auto bank = open_bank({.log = LogMode::kNone});
    ASSERT_TRUE(bank->database->checkpoint().ok());
    ASSERT_TRUE(bank->database->execute_ddl("CREATE TABLE since (a INT PRIMARY KEY)").ok());
    stop_.stop();
    auto done = checkpoint(bank.get());
    stop_.wait_until_stopped();
    ASSERT_TRUE(bank->database->execute_ddl("CREATE TABLE meanwhile (a INT PRIMARY KEY)").ok());
    stop_.go_on();
    ASSERT_TRUE(done.get().ok());
    EXPECT_EQ(storage::read_manifest(path())->ddl.size(), 2U) << "the account's and since's";
    ASSERT_TRUE(bank->database->checkpoint().ok());
    static_cast<void>(bank->database->discard());
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT count(*) FROM since"), 0);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM meanwhile"), 0);
}

// It goes on, and has it.
TEST_F(Checkpoint, IsNotEndedByDdlThatOnlyAdds) {
  Bank::open({.path = path()});
  {
    auto bank = open_bank();
    bump(bank.get(), 1);
    stop_.stop();
    auto done = checkpoint(bank.get());
    stop_.wait_until_stopped();
    ASSERT_TRUE(bank->database
                    ->execute_ddl("CREATE TABLE meanwhile (a INT PRIMARY KEY);"
                                  "CREATE INDEX v ON account (version)")
                    .ok());
    const base::Vid before = storage::read_manifest(path())->vid;
    EXPECT_EQ(storage::read_manifest(path())->ddl.size(), 3U);
    stop_.go_on();
    ASSERT_TRUE(done.get().ok());
    EXPECT_GT(storage::read_manifest(path())->vid, before);
    EXPECT_EQ(storage::read_manifest(path())->ddl.size(), 3U);
    EXPECT_EQ(storage::read_manifest(path())->tables.size(), 2U);
    EXPECT_EQ(bank->database->metrics().checkpoint_ns.count(), 1U);
    // What has it is whole: nothing is to be saved.
    const uint64_t saves = bank->database->metrics().checkpoints;
    ASSERT_TRUE(bank->database->checkpoint().ok());
    EXPECT_EQ(bank->database->metrics().checkpoints, saves);
    bump(bank.get(), 1);
    ASSERT_TRUE(bank->database->checkpoint().ok());
    EXPECT_EQ(storage::read_manifest(path())->ddl.size(), 3U);
    static_cast<void>(bank->database->discard());
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT count(*) FROM meanwhile"), 0);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 2);
}

// What it was cut with may have gone meanwhile.
TEST_F(Checkpoint, IsNotEndedByViewsThatComeAndGo) {
  Bank::open({.path = path()});
  const std::string replaced = "CREATE OR REPLACE VIEW stays AS SELECT id FROM account";
  {
    auto bank = open_bank();
    ASSERT_TRUE(bank->database
                    ->execute_ddl("CREATE VIEW goes AS SELECT 1 AS id;"
                                  "CREATE VIEW stays AS SELECT id FROM goes")
                    .ok());
    bump(bank.get(), 1);
    stop_.stop();
    auto done = checkpoint(bank.get());
    stop_.wait_until_stopped();
    const base::Vid before = storage::read_manifest(path())->vid;
    ASSERT_TRUE(bank->database->execute_ddl(replaced + "; DROP VIEW goes").ok());
    EXPECT_EQ(storage::read_manifest(path())->vid, before);
    EXPECT_EQ(storage::read_manifest(path())->ddl, (std::vector<std::string>{kBankDdl, replaced}));
    stop_.go_on();
    ASSERT_TRUE(done.get().ok());
    EXPECT_GT(storage::read_manifest(path())->vid, before);
    EXPECT_EQ(storage::read_manifest(path())->ddl, (std::vector<std::string>{kBankDdl, replaced}));
    static_cast<void>(bank->database->discard());
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT count(*) FROM stays"), 1'000);
}

// What it was cut without is in no manifest, nor in the log: it must not have calls go on.
TEST_F(Checkpoint, IsEndedByDdlThatTheManifestCouldNotGet) {
  Bank::open({.path = path()});
  std::atomic<bool> fails{false};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (fails && step == FileStep::kRename && !CheckpointStop::is_writer()) {
      return base::Error(ErrorCode::kIo, "the test's disk");
    }
    return stop_.hook()(step);
  };
  auto bank = Bank::open(with);
  bank->fill(10);
  bump(bank.get(), 1);
  stop_.stop();
  auto ended = checkpoint(bank.get());
  stop_.wait_until_stopped();
  fails = true;
  auto ddl = std::async(std::launch::async, [&] {
    return bank->database->execute_ddl("CREATE TABLE other (a INT PRIMARY KEY)");
  });
  // Where it comes later, nothing is ended, and nothing is shown.
  std::this_thread::sleep_for(milliseconds(50));
  stop_.go_on();
  EXPECT_EQ(ddl.get().code(), ErrorCode::kIo);
  while (!bank->database->call(bank->bump, {.id = 1, .balance = {}}).get().ok()) {
  }
  EXPECT_EQ(storage::read_manifest(path())->ddl.size(), 2U);
  EXPECT_TRUE(ended.get().ok());
  EXPECT_EQ(bumps_after_a_crash(std::move(bank)), 2);
}

TEST_F(Checkpoint, IsEndedByDdlLoadAndSaveWhichAnswerWhoWaitsForIt) {
  for (const std::string what : {"DDL", "load", "save"}) {
    SCOPED_TRACE(what);
    std::filesystem::remove_all(path());
    // At a rate at which it would take hours.
    auto bank = open_bank({.checkpoint_bytes_per_second = 1});
    bump(bank.get(), 1);
    auto done = checkpoint(bank.get());
    while (bank->database->metrics().checkpoint_bytes == 0) std::this_thread::yield();
    bump(bank.get(), 2);
    if (what == "DDL") {
      ASSERT_TRUE(
          bank->database->execute_ddl("CREATE UNIQUE INDEX v ON account (version, id)").ok());
    } else if (what == "load") {
      ASSERT_TRUE(load_one(bank.get(), 5'000).ok());
    } else {
      ASSERT_TRUE(bank->database->save().ok());
    }
    const auto answered = done.get();
    EXPECT_TRUE(answered.ok()) << answered.error().to_string();
    EXPECT_EQ(bank->database->metrics().checkpoint_ns.count(), 0U);
    EXPECT_EQ(storage::read_manifest(path())->vid, bank->database->metrics().last_vid);
    ASSERT_TRUE(bank->database->close().ok());
  }
}

TEST_F(Checkpoint, WhatTheLogHasBeyondItIsCounted) {
  Bank::open({.path = path()});
  auto bank = open_bank();
  for (int i = 0; i < 10; ++i) bump(bank.get(), 1);
  const auto uncovered = [&] { return bank->database->metrics().log_uncovered_bytes; };
  const uint64_t of_ten = uncovered();
  EXPECT_GT(of_ten, 0U);
  ASSERT_TRUE(bank->database->checkpoint().ok());
  EXPECT_EQ(uncovered(), 0U);
  bump(bank.get(), 1);
  const uint64_t of_one = uncovered();
  EXPECT_GT(of_one, 0U);
  EXPECT_LT(of_one, of_ten);
  static_cast<void>(bank->database->discard());
  bank.reset();
  bank = open_bank();
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 11);
  EXPECT_GT(uncovered(), 0U) << "what was replayed is in no checkpoint yet";
  ASSERT_TRUE(bank->database->save().ok());
  EXPECT_EQ(uncovered(), 0U);
}

TEST_F(Checkpoint, IsEndedByCloseAndDiscard) {
  Bank::open({.path = path()});
  for (const bool closes : {true, false}) {
    auto bank = open_bank({.checkpoint_bytes_per_second = 1});
    bump(bank.get(), 1);
    auto done = checkpoint(bank.get());
    while (bank->database->metrics().checkpoint_bytes == 0) std::this_thread::yield();
    bump(bank.get(), 2);
    if (closes) {
      ASSERT_TRUE(bank->database->close().ok());
    } else {
      static_cast<void>(bank->database->discard());
    }
    EXPECT_EQ(done.get().code(), ErrorCode::kClosed);
    bank.reset();
    bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
    EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), closes ? 2 : 4);
    ASSERT_TRUE(bank->database->close().ok());
  }
}

TEST_F(Checkpoint, ThatFailsLeavesTheOneBeforeAndCanBeTriedAgain) {
  Bank::open({.path = path()});
  for (const FileStep step : {FileStep::kWrite, FileStep::kRename}) {
    SCOPED_TRACE(static_cast<int>(step));
    auto bank = open_bank();
    const base::Vid before = storage::read_manifest(path())->vid;
    bump(bank.get(), 1);
    stop_.refuse(step);
    const auto failed = bank->database->checkpoint();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.code(), ErrorCode::kNoSpace);
    EXPECT_EQ(storage::read_manifest(path())->vid, before);
    stop_.refuse({});
    bump(bank.get(), 2);
    const auto again = bank->database->checkpoint();
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    EXPECT_EQ(storage::read_manifest(path())->vid, bank->database->metrics().last_vid);
    EXPECT_EQ(bumps_after_a_crash(std::move(bank)), 2);
    std::filesystem::remove_all(path());
    Bank::open({.path = path()});
  }
}

// A sync that failed is never retried as if nothing had happened: no checkpoint succeeds from then
// on. Transactions go on, the log has them, and who opens the database anew can save it again.
TEST_F(Checkpoint, WhoseSyncFailsIsTheLastAndTheLogHasAll) {
  for (const FileStep step : {FileStep::kSync, FileStep::kSyncDirectory}) {
    SCOPED_TRACE(static_cast<int>(step));
    Bank::open({.path = path()});
    auto bank = open_bank();
    bump(bank.get(), 1);
    stop_.refuse(step);
    EXPECT_EQ(bank->database->checkpoint().code(), ErrorCode::kNoSpace);
    EXPECT_EQ(bank->database->metrics().checkpoints_failed, 1U);
    stop_.refuse({});
    bump(bank.get(), 2);
    EXPECT_EQ(bank->database->checkpoint().ok(), step == FileStep::kSyncDirectory);
    EXPECT_EQ(bank->database->metrics().checkpoints_failed, step == FileStep::kSync ? 2U : 1U);
    bump(bank.get(), 3);
    std::filesystem::copy(path(), path("crashed"));
    EXPECT_EQ(bumps_after_a_crash(std::move(bank)), 3);
    bank = Bank::open({.path = path("crashed"), .mode = OpenMode::kOpen});
    EXPECT_TRUE(bank->database->checkpoint().ok());
    EXPECT_EQ(bank->database->metrics().recovered_transactions, step == FileStep::kSync ? 3U : 1U);
    EXPECT_GT(bank->database->metrics().recovery_ns, 0U);
    bank.reset();
    std::filesystem::remove_all(path());
    std::filesystem::remove_all(path("crashed"));
  }
}

TEST_F(Checkpoint, WhereNothingChangedDropsTheLogFilesThatStayed) {
  std::atomic<bool> refuses{false};
  DatabaseOptions with{.path = path(), .log_file_bytes = 8 << 10};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kRemove || !refuses) return {};
    return base::Error(ErrorCode::kIo, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  bank->fill(10);
  for (int32_t i = 0; i < 20; ++i) bump(bank.get(), 1);
  refuses = true;
  ASSERT_TRUE(bank->database->checkpoint().ok());
  EXPECT_GT(bank->database->metrics().log_files, 1U);
  refuses = false;
  const uint64_t taken = bank->database->metrics().checkpoints;
  ASSERT_TRUE(bank->database->checkpoint().ok());
  EXPECT_EQ(bank->database->metrics().checkpoints, taken);
  EXPECT_EQ(bank->database->metrics().log_files, 1U);
}

TEST_F(Checkpoint, KeepsToItsRate) {
  constexpr uint64_t kBytesPerSecond = 128 << 10;
  auto bank = open_bank({.checkpoint_bytes_per_second = kBytesPerSecond});
  for (int32_t id = 0; id < 500; ++id) bump(bank.get(), id);
  ASSERT_TRUE(bank->database->checkpoint().ok());
  const Metrics metrics = bank->database->metrics();
  ASSERT_GT(metrics.checkpoint_bytes, 2'000U);
  const double seconds = static_cast<double>(metrics.checkpoint_ns.sum()) * 1e-9;
  EXPECT_GE(seconds, static_cast<double>(metrics.checkpoint_bytes) / kBytesPerSecond);
}

TEST_F(Checkpoint, WritesWhatHasChangedOfManyTablesAndCountsItByPages) {
  Bank::open({.path = path()});
  auto bank = open_bank();
  constexpr uint64_t kTables = 100;
  std::string script;
  for (uint64_t i = 0; i < kTables; ++i) {
    script += "CREATE TABLE t" + std::to_string(i) + " (id INT PRIMARY KEY);";
  }
  ASSERT_TRUE(bank->database->execute_ddl(script).ok());
  bump(bank.get(), 1);
  const uint64_t before = bank->database->metrics().checkpoint_bytes;
  ASSERT_TRUE(bank->database->checkpoint().ok());
  const uint64_t written = bank->database->metrics().checkpoint_bytes - before;
  EXPECT_GT(written, 2 * storage::kFilePageBytes);  // a column and a directory
  EXPECT_LT(written, kTables / 4 * storage::kFilePageBytes);
  EXPECT_EQ(written % storage::kFilePageBytes, 0U);
  EXPECT_EQ(bumps_after_a_crash(std::move(bank)), 1);
  bank = open_bank();
  EXPECT_NE(bank->database->catalog().find_table("t99"), nullptr);
}

TEST_F(Checkpoint, IsTakenAfterATimeInWhichSomethingChanged) {
  auto bank = open_bank({.checkpoint_interval_ns = 5'000'000});
  const auto wait_for_last_vid = [&] {
    for (int i = 0; storage::read_manifest(path())->vid != bank->database->metrics().last_vid;
         ++i) {
      ASSERT_LT(i, 2'000);
      std::this_thread::sleep_for(milliseconds(5));
    }
  };
  bump(bank.get(), 1);
  ASSERT_NO_FATAL_FAILURE(wait_for_last_vid());
  bump(bank.get(), 2);
  ASSERT_NO_FATAL_FAILURE(wait_for_last_vid());
  while (bank->database->metrics().checkpoints_running != 0) std::this_thread::yield();
  const uint64_t taken = bank->database->metrics().checkpoints;
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(bank->database->metrics().checkpoints, taken);
}

}  // namespace
}  // namespace diptych::dispatcher
