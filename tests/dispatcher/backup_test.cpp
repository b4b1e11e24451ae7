// Backups: what was there at one VID is there again, whatever went on meanwhile; what is not whole
// is not taken for whole.

#include "dispatcher/backup.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "dispatcher/command_log/log_reader.h"
#include "dispatcher/database_inspection.h"
#include "dispatcher/log_inspection.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using base::Vid;
using storage::FileStep;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

base::Result<void> go_on(double) {
  return {};
}

class Backup : public DirectoryFixture {
 protected:
  static void bump(Bank* bank, int32_t id = 3) {
    auto done = bank->database->call(bank->bump, {.id = id, .balance = {}}).get();
    ASSERT_TRUE(done.ok()) << done.error().to_string();
  }

  // 10 accounts saved as VID 1, and so many bumps of account 3 in the log.
  void make_crashed(int bumps, LogMode mode = LogMode::kCommand) {
    Bank::open({.path = path(), .log = mode})->fill(10);
    auto bank = Bank::open({.path = path(), .log = mode, .log_file_bytes = 8 << 10});
    for (int i = 0; i < bumps; ++i) bump(bank.get());
    static_cast<void>(bank->database->discard());
  }

  int64_t version_in(const std::string& database, const std::string& account = "3") {
    auto bank = Bank::open({.path = database, .mode = OpenMode::kOpen});
    if (bank == nullptr) return -1;
    expect_equal_replicas(bank->database.get());
    const auto found = bank->number("SELECT version FROM account WHERE id = " + account);
    EXPECT_TRUE(found.ok()) << found.error().to_string();
    static_cast<void>(bank->database->discard());
    return found ? *found : -1;
  }

  static std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(Backup, IsRestoredAsOfAnyVersionThatItHas) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical}) {
    fs::remove_all(path());
    fs::remove_all(path("backup"));
    make_crashed(30, mode);
    const auto backup = backup_database(path(), path("backup"), go_on);
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    EXPECT_EQ(backup->first, Vid(1));
    EXPECT_EQ(backup->last, Vid(31));
    for (const uint64_t vid : {1U, 2U, 17U, 30U, 31U}) {
      fs::remove_all(path("restored"));
      const auto restored = restore_database(path("backup"), path("restored"), Vid(vid), go_on);
      ASSERT_TRUE(restored.ok()) << restored.error().to_string();
      EXPECT_EQ(restored->transactions, vid - 1);
      EXPECT_EQ(version_in(path("restored")), static_cast<int64_t>(vid) - 1);
      // It goes on from there, and keeps that.
      {
        auto bank = Bank::open({.path = path("restored"), .log = mode});
        bump(bank.get());
        EXPECT_EQ(bank->database->metrics().last_vid, Vid(vid + 1));
        static_cast<void>(bank->database->discard());
      }
      EXPECT_EQ(version_in(path("restored")), static_cast<int64_t>(vid));
    }
    EXPECT_EQ(version_in(path()), 30) << "the source is as it was";
  }
}

TEST_F(Backup, WhatIsRestoredMissesTheNewestFileOfItsLog) {
  make_crashed(100);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), std::nullopt, go_on));
  const auto log = scan_log(path("restored"), Vid(1), 0);
  ASSERT_TRUE(log.ok() && log->files.size() > 1);
  fs::remove(log->files.back().path);
  const auto opened = Database::open({.path = path("restored"), .mode = OpenMode::kOpen});
  EXPECT_EQ(opened.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(opened.error().message, HasSubstr("log-"));
}

TEST_F(Backup, NobodyHasToHearOfItsProgress) {
  make_crashed(3);
  const auto backup = backup_database(path(), path("backup"));
  ASSERT_TRUE(backup.ok()) << backup.error().to_string();
  const auto restored = restore_database(path("backup"), path("restored"));
  ASSERT_TRUE(restored.ok()) << restored.error().to_string();
  EXPECT_EQ(version_in(path("restored")), 3);
}

TEST_F(Backup, KeepsTheDatabasesIdAndFilesHaveTheSizeThatTheirHeadersSay) {
  make_crashed(30);
  const uint64_t id = storage::read_manifest(path())->id;
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), Vid(17), go_on));
  for (const std::string& copy : {path("backup"), path("restored")}) {
    EXPECT_EQ(storage::read_manifest(copy)->id, id);
    const auto contents = scan_log(copy, Vid(1), id);
    ASSERT_TRUE(contents.ok()) << contents.error().to_string();
    ASSERT_FALSE(contents->files.empty());
    for (const LogFileFound& file : contents->files) {
      EXPECT_EQ(file.header.database_id, id);
      EXPECT_EQ(file.header.file_bytes, file.file_bytes);
    }
  }
}

TEST_F(Backup, AVersionThatItDoesNotHaveIsRefusedWithThoseThatItHas) {
  make_crashed(5);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  for (const uint64_t vid : {0U, 7U}) {
    const auto refused = restore_database(path("backup"), path("restored"), Vid(vid), go_on);
    ASSERT_EQ(refused.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("versions 1 to 6"));
    EXPECT_FALSE(fs::exists(path("restored")));
  }
}

TEST_F(Backup, DirectoriesThatAreNotEmptyAreRefusedAndStay) {
  make_crashed(5);
  fs::create_directory(path("full"));
  std::ofstream(path("full") + "/letter") << "mine";
  const auto backup = backup_database(path(), path("full"), go_on);
  ASSERT_EQ(backup.code(), ErrorCode::kAlreadyExists);
  EXPECT_THAT(backup.error().message, HasSubstr("letter"));
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  EXPECT_EQ(backup_database(path(), path("backup"), go_on).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(restore_database(path("backup"), path("full"), {}, go_on).code(),
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(restore_database(path("full"), path("new"), {}, go_on).code(), ErrorCode::kNotFound);
  EXPECT_EQ(backup_database(path(), path("no") + "/backup", go_on).code(), ErrorCode::kNotFound);
  EXPECT_THAT(names_in(path("full")), ::testing::ElementsAre("letter"));
  fs::create_directory(path("empty"));
  EXPECT_TRUE(restore_database(path("backup"), path("empty"), {}, go_on));
  EXPECT_EQ(version_in(path("empty")), 5);
}

TEST_F(Backup, InTheDatabasesOwnDirectoryIsRefused) {
  make_crashed(5);
  fs::create_directory_symlink(path(), path("link"));
  for (const std::string& inside : {path() + "/in", path() + "/./in/", path("link") + "/in"}) {
    const auto refused = backup_database(path(), inside, go_on);
    ASSERT_FALSE(refused.ok()) << inside;
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument) << inside;
    EXPECT_THAT(refused.error().message, HasSubstr("the database's own directory"));
  }
  auto bank = Bank::open({.path = path()});
  const auto refused = bank->database->backup(path() + "/in");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(path() + "/in"));
  EXPECT_TRUE(bank->database->backup(path() + "-beside"));
  fs::remove_all(path() + "-beside");
}

TEST_F(Backup, OneThatAnotherIsFillingIsRefusedAndStays) {
  make_crashed(5);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  for (const bool found : {false, true}) {
    if (found) fs::create_directory(path("both"));
    auto first = DirectoryInMaking::begin(path("both"), "/first");
    ASSERT_TRUE(first) << first.error().to_string();
    const auto second = restore_database(path("backup"), path("both"), {}, go_on);
    EXPECT_EQ(second.code(), ErrorCode::kAlreadyExists);
    EXPECT_THAT(second.error().message, HasSubstr(path("both")));
    EXPECT_EQ(backup_database(path(), path("both"), go_on).code(), ErrorCode::kAlreadyExists);
    EXPECT_THAT(names_in(path("both")), ::testing::ElementsAre("first"));
    EXPECT_FALSE(Database::open({.path = path("both")}));
  }
}

TEST_F(Backup, OneThatIsGivenUpLeavesOtherFiles) {
  make_crashed(5);
  for (const bool found : {false, true}) {
    const std::string directory = path(found ? "found" : "new");
    if (found) fs::create_directory(directory);
    const auto failed = backup_database(path(), directory, [&](double) {
      std::ofstream(directory + "/notes") << "mine";
      return base::Result<void>(base::Error(ErrorCode::kCancelled, "enough"));
    });
    EXPECT_EQ(failed.code(), ErrorCode::kCancelled);
    EXPECT_THAT(names_in(directory), ::testing::ElementsAre("notes"));
  }
}

TEST_F(Backup, OfTwoIntoOneDirectoryAtOnceOneIsWhole) {
  make_crashed(5);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  for (int round = 0; round < 20; ++round) {
    const std::string name = "round" + std::to_string(round);
    if (round % 2 != 0) fs::create_directory(path(name));
    std::atomic<int> ready{0};
    const auto restore = [&] {
      for (++ready; ready != 2;) std::this_thread::yield();
      return restore_database(path("backup"), path(name), {}, go_on).ok();
    };
    auto other = std::async(std::launch::async, restore);
    const bool here = restore();
    ASSERT_EQ((here ? 1 : 0) + (other.get() ? 1 : 0), 1) << round;
    ASSERT_EQ(version_in(path(name)), 5);
  }
}

TEST_F(Backup, IsNotOpenedAsADatabase) {
  make_crashed(5);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  const auto opened = Database::open({.path = path("backup")});
  ASSERT_EQ(opened.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(opened.error().message, HasSubstr("diptych restore"));
  EXPECT_EQ(backup_database(path("backup"), path("again"), go_on).code(),
            ErrorCode::kInvalidArgument);
}

// Whatever is missing of what a backup writes, it is not taken for one.
TEST_F(Backup, OneThatWasInterruptedOrDamagedIsRecognised) {
  make_crashed(5);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  const auto restore = [&] {
    fs::remove_all(path("restored"));
    return restore_database(path("damaged"), path("restored"), {}, go_on);
  };
  const auto damage = [&](const auto& how) {
    fs::remove_all(path("damaged"));
    fs::copy(path("backup"), path("damaged"));
    how();
    const auto restored = restore();
    EXPECT_FALSE(restored.ok());
    EXPECT_FALSE(fs::exists(path("restored")));
    return restored.ok() ? base::Error(ErrorCode::kClosed) : restored.error();
  };
  const auto interrupted = damage([&] {
    fs::rename(path("damaged") + "/backup.json", path("damaged") + "/backup.incomplete");
  });
  EXPECT_EQ(interrupted.code, ErrorCode::kCorrupt);
  EXPECT_THAT(interrupted.message, HasSubstr("interrupted"));
  for (const std::string& name : names_in(path("backup"))) {
    if (name == "lock") continue;
    const auto missing = damage([&] { fs::remove(path("damaged") + "/" + name); });
    EXPECT_THAT(missing.message, HasSubstr(path("damaged"))) << name;
    // A byte in the middle of what is written.
    std::string bytes;
    {
      std::ifstream in(path("backup") + "/" + name, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    const auto manifest = storage::read_manifest(path("backup"));
    const size_t at =
        name == "blocks.dtb" ? manifest->tables[0].directory.offset() : bytes.size() - 100;
    bytes[bytes.size() < 200 ? 20 : at] ^= 1;
    EXPECT_NE(damage([&] {
                std::ofstream(path("damaged") + "/" + name, std::ios::binary) << bytes;
              }).code,
              ErrorCode::kClosed)
        << name;
  }
}

TEST_F(Backup, ADiskThatIsFullIsSaidAndNothingIsLeft) {
  make_crashed(5);
  ASSERT_TRUE(backup_database(path(), path("backup"), go_on));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 2048;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto backup = backup_database(path(), path("second"), go_on);
  const auto restored = restore_database(path("backup"), path("restored"), {}, go_on);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, previous);
  EXPECT_EQ(backup.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(backup.error().message, HasSubstr(path("second")));
  EXPECT_EQ(restored.code(), ErrorCode::kNoSpace);
  EXPECT_FALSE(fs::exists(path("second")));
  EXPECT_FALSE(fs::exists(path("restored")));
}

TEST_F(Backup, OfADatabaseWhoseProceduresAreNotThereYet) {
  make_crashed(5);
  {
    auto database = *Database::open({.path = path()});
    const auto backup = database->backup(path("backup"));
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    EXPECT_EQ(backup->last, Vid(6));
  }
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), {}, go_on));
  EXPECT_EQ(version_in(path("restored")), 5);
}

TEST_F(Backup, OfADatabaseThatWasReplayedAndWentOn) {
  make_crashed(5);
  {
    auto bank = Bank::open({.path = path()});
    bump(bank.get());
    const auto backup = bank->database->backup(path("backup"));
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    EXPECT_EQ(backup->first, Vid(1));
    EXPECT_EQ(backup->last, Vid(7));
    const Metrics metrics = bank->database->metrics();
    EXPECT_EQ(metrics.backups, 1u);
    EXPECT_GT(metrics.backup_ns, 0u);
    EXPECT_EQ(metrics.recovered_transactions, 5u);
    bump(bank.get());
  }
  for (const uint64_t vid : {3U, 6U, 7U}) {
    fs::remove_all(path("restored"));
    ASSERT_TRUE(restore_database(path("backup"), path("restored"), Vid(vid), go_on));
    EXPECT_EQ(version_in(path("restored")), static_cast<int64_t>(vid) - 1);
  }
}

TEST_F(Backup, OfADamagedDatabaseIsRefusedWithTheFile) {
  make_crashed(5);
  const auto manifest = storage::read_manifest(path());
  {
    std::fstream blocks(path() + "/blocks.dtb", std::ios::binary | std::ios::in | std::ios::out);
    blocks.seekp(static_cast<std::streamoff>(manifest->tables[0].directory.offset()));
    blocks.put('x');
  }
  const auto backup = backup_database(path(), path("backup"), go_on);
  ASSERT_EQ(backup.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(backup.error().message, HasSubstr(path() + "/blocks.dtb"));
  EXPECT_FALSE(fs::exists(path("backup")));
}

TEST_F(Backup, WithoutALogItHasWhatIsInMemory) {
  {
    auto bank = Bank::open({.path = path(), .log = LogMode::kNone});
    bank->fill(10);
    bump(bank.get());
    const auto backup = bank->database->backup(path("backup"));
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    EXPECT_EQ(backup->first, backup->last);
  }
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), {}, go_on));
  EXPECT_EQ(version_in(path("restored")), 1);
  auto in_memory = Bank::open({});
  EXPECT_EQ(in_memory->database->backup(path("other")).code(), ErrorCode::kUnsupported);
}

TEST_F(Backup, WithoutALogOneThatWaitsForAReplayHasWhatWasReplayed) {
  make_crashed(5);
  {
    std::atomic<bool> opened{false};
    std::promise<void> replays;
    DatabaseOptions options{.path = path(), .log = LogMode::kNone};
    options.faults.before_step = [&](FileStep) -> base::Result<void> {
      // seq_cst: the test's own. The first step is the replay's, which settles the log.
      if (opened.exchange(false, std::memory_order_seq_cst)) {
        replays.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the backup waits by then
      }
      return {};
    };
    auto bank = Bank::open(options);
    opened = true;
    std::thread first([&] { bump(bank.get()); });
    ASSERT_EQ(replays.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    const auto backup = bank->database->backup(path("backup"));
    first.join();
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    EXPECT_GE(backup->last, Vid(6));
    static_cast<void>(bank->database->discard());
  }
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), {}, go_on));
  EXPECT_GE(version_in(path("restored")), 5);
}

// A table that no save has yet: what comes after it in the log may need it.
TEST_F(Backup, OneThatBeginsWhileCallsAreRefusedEndsBeforeWhatIsNotSaved) {
  std::atomic<bool> full{false};
  DatabaseOptions options{.path = path()};
  options.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (full && step == FileStep::kRename)
      return base::Error(ErrorCode::kNoSpace, "the disk is full");
    return {};
  };
  auto bank = Bank::open(options);
  bank->fill(10);
  bump(bank.get());
  full = true;
  const auto created =
      bank->database->execute_ddl("CREATE TABLE later (id BIGINT NOT NULL PRIMARY KEY)");
  EXPECT_EQ(created.code(), ErrorCode::kNoSpace);
  const Vid before = bank->database->metrics().last_vid;
  auto backup = std::async(std::launch::async, [&] {
    return bank->database->backup(path("backup"), {.bytes_per_second = 1024});
  });
  while (!fs::exists(path("backup") + "/blocks.dtb")) std::this_thread::yield();
  full = false;
  ASSERT_TRUE(bank->database->checkpoint());
  bump(bank.get());
  const auto done = backup.get();
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_EQ(done->last, before);
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), {}, go_on));
  EXPECT_EQ(version_in(path("restored")), 1);
}

// Of the next one, that is no end.
TEST_F(Backup, OneThatDdlCameDuringRepeatedlyEndsBeforeTheFirst) {
  Bank::open({.path = path()})->fill(10);
  auto bank = Bank::open({.path = path()});
  bump(bank.get());
  const Vid before = bank->database->metrics().last_vid;
  auto backup = std::async(std::launch::async, [&] {
    return bank->database->backup(path("backup"), {.bytes_per_second = 1024});
  });
  while (!fs::exists(path("backup") + "/blocks.dtb")) std::this_thread::yield();
  for (const std::string table : {"first", "second"}) {
    const std::string ddl = "CREATE TABLE " + table + " (id BIGINT NOT NULL PRIMARY KEY)";
    ASSERT_TRUE(bank->database->execute_ddl(ddl));
    bump(bank.get());
  }
  const auto done = backup.get();
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_EQ(done->last, before);
  ASSERT_TRUE(restore_database(path("backup"), path("restored"), {}, go_on));
  EXPECT_EQ(version_in(path("restored")), 1);
  const auto next = bank->database->backup(path("next"));
  ASSERT_TRUE(next.ok()) << next.error().to_string();
  EXPECT_EQ(next->last, bank->database->metrics().last_vid);
  ASSERT_TRUE(restore_database(path("next"), path("of next"), {}, go_on));
  EXPECT_EQ(version_in(path("of next")), 3);
}

// What is acknowledged before the call is in it; transfers, which are whole at any VID, keep the
// sum. Checkpoints, DDL and loads go on, and drop, overwrite and skip what they like.
class BackupWhileRunning : public Backup, public ::testing::WithParamInterface<LogMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, BackupWhileRunning,
                         ::testing::Values(LogMode::kCommand, LogMode::kPhysical));

TEST_P(BackupWhileRunning, IsAStateThatWas) {
  DatabaseOptions options{.path = path(), .log = GetParam(), .log_file_bytes = 16 << 10};
  options.placement.oltp_workers = 2;
  auto bank = Bank::open(options);
  bank->fill(20);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> bumps{0};
  std::vector<std::thread> threads;
  for (int32_t c = 0; c < 2; ++c) {
    threads.emplace_back([&, c] {
      for (int32_t i = 0; !stop; ++i) {
        const TransferArguments order{(c + i) % 20, (c * 3 + i * 7 + 1) % 20, 1};
        EXPECT_TRUE(bank->database->call(bank->transfer, order).get().ok());
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      bump(bank.get());
      ++bumps;
    }
  });
  threads.emplace_back([&] {
    std::mt19937_64 random(3);
    for (int32_t i = 0; !stop; ++i) {
      const uint64_t what = random() % 4;
      if (what < 2) {
        EXPECT_TRUE(bank->database->checkpoint().ok());
      }
      if (what == 2) {
        EXPECT_TRUE(bank->database->execute_ddl("CREATE TABLE t" + std::to_string(i) +
                                                " (a INT NOT NULL PRIMARY KEY)"));
      }
      if (what == 3) {
        const std::vector<Account> rows = {{1000 + i, {0}, 0}};
        bool given = false;
        EXPECT_TRUE(bank->database->load(bank->accounts.table, [&]() -> RowBatch {
          if (std::exchange(given, true)) return {};
          return {reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
        }));
      }
    }
  });
  for (int round = 0; round < 4; ++round) {
    const int64_t before = bumps;
    const auto backup = bank->database->backup(path("backup"));
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    const auto log = inspect_log(path("backup"));
    ASSERT_TRUE(log.ok()) << log.error().to_string();
    EXPECT_EQ(log->last, backup->last);
    ASSERT_TRUE(restore_database(path("backup"), path("restored"), {}, go_on));
    {
      auto restored = Bank::open({.path = path("restored"), .mode = OpenMode::kOpen});
      EXPECT_EQ(*restored->number("SELECT sum(balance) FROM account"), 20 * 10'000);
      EXPECT_GE(*restored->number("SELECT version FROM account WHERE id = 3"), before);
      EXPECT_EQ(restored->database->metrics().last_vid, backup->last);
      expect_equal_replicas(restored->database.get());
    }
    fs::remove_all(path("backup"));
    fs::remove_all(path("restored"));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

double seconds_of(const std::function<void()>& body) {
  const uint64_t start_ns = base::steady_ns();
  body();
  return static_cast<double>(base::steady_ns() - start_ns) / 1e9;
}

TEST_F(Backup, KeepsToItsRateAsItCopiesAndReadsAgain) {
  auto bank = Bank::open({.path = path(), .log = LogMode::kNone});
  bank->fill(10);
  const auto first = bank->database->backup(path("first"));
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  ASSERT_GT(first->bytes, 100u);
  const double seconds = seconds_of([&] {
    const auto slow =
        bank->database->backup(path("slow"), {.bytes_per_second = first->bytes * 5 / 2});
    EXPECT_TRUE(slow.ok()) << slow.error().to_string();
  });
  EXPECT_GE(seconds, 0.79);  // twice the bytes
  ASSERT_TRUE(restore_database(path("slow"), path("restored"), {}, go_on));
  EXPECT_EQ(version_in(path("restored")), 0);
}

TEST_F(Backup, CloseEndsOneThatWaitsForItsRate) {
  auto bank = Bank::open({.path = path()});
  bank->fill(10);
  const double seconds = seconds_of([&] {
    std::thread waits([&] {
      const auto backup = bank->database->backup(path("backup"), {.bytes_per_second = 1});
      EXPECT_EQ(backup.code(), ErrorCode::kClosed);
      EXPECT_FALSE(fs::exists(path("backup")));
    });
    while (!fs::exists(path("backup"))) std::this_thread::yield();
    EXPECT_TRUE(bank->database->close().ok());
    waits.join();
  });
  EXPECT_LT(seconds, 60);  // the bytes take longer
}

TEST_F(Backup, CloseEndsOneThatWaitsForTheRateOfItsCheckpoint) {
  auto bank = Bank::open({.path = path(), .log = LogMode::kNone, .checkpoint_bytes_per_second = 1});
  bank->fill(10);
  const double seconds = seconds_of([&] {
    std::thread waits([&] {
      EXPECT_EQ(bank->database->backup(path("backup")).code(), ErrorCode::kClosed);
      EXPECT_FALSE(fs::exists(path("backup")));
    });
    while (bank->database->metrics().checkpoint_bytes == 0) std::this_thread::yield();
    EXPECT_TRUE(bank->database->close().ok());
    waits.join();
  });
  EXPECT_LT(seconds, 60);  // the bytes take longer
}

TEST_F(Backup, CloseEndsOneThatRuns) {
  auto bank = Bank::open({.path = path()});
  bank->fill(10);
  std::thread backups([&] {
    for (int i = 0;; ++i) {
      const auto backup = bank->database->backup(path("backup" + std::to_string(i)));
      if (backup) continue;
      EXPECT_EQ(backup.code(), ErrorCode::kClosed);
      EXPECT_FALSE(fs::exists(path("backup" + std::to_string(i))));
      return;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(bank->database->close().ok());
  backups.join();
}

}  // namespace
}  // namespace diptych::dispatcher
