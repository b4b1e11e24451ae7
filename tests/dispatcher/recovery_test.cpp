// A database that was not closed: what was acknowledged is there, or it is said why not.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alignment.h"
#include "dispatcher/command_log/log_file.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

struct NoteArguments {
  int32_t id = 0;
  base::Text text;
  base::Nullable<base::Varchar<500>> other;
};
BOOST_DESCRIBE_STRUCT(NoteArguments, (), (id, text, other))

struct Note {
  int32_t id = 0;
  base::Text text;
  base::Nullable<base::Varchar<500>> other;
  base::Timestamp written;
  int64_t draw = 0;
};
BOOST_DESCRIBE_STRUCT(Note, (), (id, text, other, written, draw))

constexpr const char* kNoteDdl =
    "CREATE TABLE note (id INT NOT NULL PRIMARY KEY, text TEXT NOT NULL, other VARCHAR(500), "
    "written TIMESTAMP NOT NULL, draw BIGINT NOT NULL)";

base::Result<ProcedureRef<NoteArguments, oltp::Nothing>> register_note(Database* database) {
  auto notes = database->bind_table<Note>("note");
  if (!notes) return notes.error();
  return database->register_procedure<NoteArguments, oltp::Nothing>(
      "note",
      [table = *notes](Transaction& txn,
                       const NoteArguments& arguments) -> base::Result<oltp::Nothing> {
        auto row = txn.insert(table, Note{arguments.id, arguments.text, arguments.other, txn.now(),
                                          static_cast<int64_t>(txn.random() >> 1)});
        if (!row) return row.error();
        return oltp::Nothing{};
      });
}

class Recovered : public DirectoryFixture {
 protected:
  // As a crash would: the log is what is left.
  static void crash(std::unique_ptr<Bank> bank) { static_cast<void>(bank->database->discard()); }

  std::unique_ptr<Bank> reopen() { return Bank::open({.path = path(), .mode = OpenMode::kOpen}); }

  // A bank of 10 accounts, of which account 3 was bumped so often since it was saved.
  void make_crashed(int bumps, const DatabaseOptions& options) {
    Bank::open(options)->fill(10);
    auto bank = Bank::open(options);
    for (int i = 0; i < bumps; ++i) bump(bank.get());
    crash(std::move(bank));
  }
  void make_crashed(int bumps) { make_crashed(bumps, {.path = path()}); }

  static void bump(Bank* bank) {
    auto done = bank->database->call(bank->bump, {.id = 3, .balance = {}}).get();
    ASSERT_TRUE(done.ok()) << done.error().to_string();
  }

  // As the bank's, and `also` first, each time.
  template <class Also>
  static auto register_bump(Database* database, Bank::ById by_id, Also also) {
    return database->register_procedure<AccountArguments, oltp::Nothing>(
        "bump",
        [by_id, also](Transaction& txn,
                      const AccountArguments& order) -> base::Result<oltp::Nothing> {
          also();
          auto row = txn.get_for_update<&Account::version>(by_id, order.id);
          if (!row) return row.error();
          txn.update(*row, set<&Account::version>(row->values + 1));
          return oltp::Nothing{};
        });
  }

  std::vector<std::string> log_files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (entry.path().extension() == ".dtl") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
};

TEST_F(Recovered, WhatWasAcknowledgedIsThereAndACleanCloseLeavesNoLog) {
  make_crashed(7);
  {
    auto bank = reopen();
    EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 7);
    EXPECT_EQ(bank->database->recover()->transactions, 7u);
    expect_equal_replicas(bank->database.get());
    bump(bank.get());
    ASSERT_TRUE(bank->database->close().ok());
  }
  EXPECT_TRUE(log_files().empty());
  EXPECT_EQ(*reopen()->number("SELECT version FROM account WHERE id = 3"), 8);
}

// What has committed is within the limit that held then.
TEST_F(Recovered, WhateverTheLimitOfOperationsIsNow) {
  make_crashed(7);
  auto bank = Bank::open({.path = path(), .operations_max = 1});
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 7);
  EXPECT_EQ(bank->database->call(bank->transfer, {.from = 1, .to = 2, .cents = 1}).get().code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(Recovered, AgainAndAgainWithoutASave) {
  make_crashed(2);
  for (int round = 0; round < 5; ++round) {
    auto bank = reopen();
    EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 2 + 3 * round);
    for (int i = 0; i < 3; ++i) bump(bank.get());
    crash(std::move(bank));
  }
  auto bank = reopen();
  EXPECT_EQ(bank->database->recover()->transactions, 17u);
  EXPECT_EQ(bank->database->metrics().last_vid.value, 18u);
}

// Each life writes less than is worth a checkpoint, and is killed.
TEST_F(Recovered, LivesThatCrashDoNotLetTheLogGrowWithoutBound) {
  const DatabaseOptions options{.path = path(), .checkpoint_log_bytes = 64 << 10};
  Bank::open(options)->fill(10);
  uint64_t bytes_max = 0;
  int bumps = 0;
  for (int life = 0; life < 12; ++life) {
    auto bank = Bank::open(options);
    EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), bumps);
    const RecoveryReport report = *bank->database->recover();
    bytes_max = std::max(bytes_max, report.log_bytes);
    // What was over the limit is gone before the next life, if this one does nothing at all.
    if (report.log_bytes > 64 << 10) {
      for (int i = 0; bank->database->metrics().checkpoints == 0; ++i) {
        ASSERT_LT(i, 10'000);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } else {
      for (int i = 0; i < 30; ++i) bump(bank.get());
      bumps += 30;
    }
    crash(std::move(bank));
  }
  // Frames are of 512 bytes or more here.
  EXPECT_GE(bumps, 5 * 30);
  EXPECT_LT(bytes_max, uint64_t{2} * (64 << 10));
}

TEST_F(Recovered, ADatabaseThatWasOnlyCreatedAndFilledIsWhole) {
  // In a child that dies, since one that open() made is gone when it is discarded.
  const pid_t child = ::fork();
  if (child == 0) {
    auto bank = Bank::open({.path = path()});
    bank->fill(10);
    bump(bank.get());
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  auto bank = reopen();
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 10);
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 1);
}

TEST_F(Recovered, NowRandomAndLongTextsAreAsTheyWere) {
  std::string before;
  const auto all_rows = [](Database* database) {
    auto result = database->query("SELECT * FROM note ORDER BY id");
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    std::string text;
    for (const auto& row : result->rows) {
      for (const base::Value& value : row) text += base::to_string(value) + "|";
    }
    return text;
  };
  {
    auto database = *Database::open({.path = path()});
    ASSERT_TRUE(database->execute_ddl(kNoteDdl).ok());
    ASSERT_TRUE(database->close().ok());
  }
  {
    auto database = *Database::open({.path = path()});
    const auto note = *register_note(database.get());
    for (int32_t id = 0; id < 50; ++id) {
      const std::string text(static_cast<size_t>(id * 20), static_cast<char>('a' + id % 26));
      NoteArguments arguments{id, base::Text(text), {}};
      const std::string other = "other " + std::to_string(id);
      if (id % 3 != 0) arguments.other = base::Varchar<500>(other);
      ASSERT_TRUE(database->call(note, arguments).get().ok());
    }
    before = all_rows(database.get());
    static_cast<void>(database->discard());
  }
  auto database = *Database::open({.path = path()});
  ASSERT_TRUE(register_note(database.get()).ok());
  EXPECT_EQ(all_rows(database.get()), before);
  expect_equal_replicas(database.get());
}

TEST_F(Recovered, AMissingProcedureIsNamedAndTheLogStays) {
  make_crashed(3);
  {
    auto database = *Database::open({.path = path()});
    const auto refused = database->query("SELECT count(*) FROM account");
    ASSERT_EQ(refused.code(), ErrorCode::kNotFound);
    EXPECT_THAT(refused.error().message, HasSubstr("procedure \"bump\""));
    EXPECT_THAT(refused.error().message, HasSubstr("3 transactions"));
    const auto calls_refused = [&] {
      return database->metrics().calls_refused[static_cast<size_t>(ErrorCode::kNotFound)];
    };
    EXPECT_EQ(database->call_by_name("bump", {}).code(), ErrorCode::kNotFound);
    EXPECT_EQ(calls_refused(), 1U);
    EXPECT_EQ(database->row_count(base::TableId(0)).code(), ErrorCode::kNotFound);
    EXPECT_EQ(database->execute_ddl("CREATE TABLE t (a INT PRIMARY KEY)").code(),
              ErrorCode::kNotFound);
    EXPECT_EQ(database->save().code(), ErrorCode::kNotFound);
    EXPECT_EQ(database->checkpoint().code(), ErrorCode::kNotFound);
    ASSERT_TRUE(database->close().ok());
  }
  EXPECT_EQ(*reopen()->number("SELECT version FROM account WHERE id = 3"), 3);
}

TEST_F(Recovered, AProcedureThatTakesOtherArgumentsIsNamed) {
  make_crashed(3);
  auto database = *Database::open({.path = path()});
  ASSERT_TRUE((database->register_procedure<TransferArguments, oltp::Nothing>(
      "bump", [](Transaction&, const TransferArguments&) -> base::Result<oltp::Nothing> {
        return oltp::Nothing{};
      })));
  const auto refused = database->query("SELECT 1");
  ASSERT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("procedure \"bump\", which takes other"));
}

TEST_F(Recovered, AProcedureOfAnotherVersionIsNamed) {
  const auto open_with_version = [&](uint64_t version) {
    auto database = *Database::open({.path = path()});
    if (database->catalog().find_table("account") == nullptr) {
      EXPECT_TRUE(database->execute_ddl(kBankDdl).ok());
    }
    const auto accounts = *database->bind_table<Account>("account");
    const auto open_account = *database->register_procedure<AccountArguments, oltp::Nothing>(
        "open_account",
        [accounts](Transaction& txn, const AccountArguments& order) -> base::Result<oltp::Nothing> {
          auto row = txn.insert(accounts, Account{order.id, order.balance, 0});
          if (!row) return row.error();
          return oltp::Nothing{};
        },
        {.version = version});
    return std::pair(std::move(database), open_account);
  };
  ASSERT_TRUE(open_with_version(4).first->close().ok());
  {
    const auto [database, open_account] = open_with_version(4);
    ASSERT_TRUE(database->call(open_account, {.id = 1, .balance = {5}}).get().ok());
    static_cast<void>(database->discard());
  }
  {
    const auto [database, open_account] = open_with_version(5);
    const auto refused = database->query("SELECT 1");
    ASSERT_EQ(refused.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message,
                HasSubstr("version 4 of procedure \"open_account\", which is version 5 now"));
  }
  const auto [database, open_account] = open_with_version(4);
  EXPECT_EQ(database->query("SELECT 1 FROM account")->rows.size(), 1u);
}

TEST_F(Recovered, AProcedureThatDoesSomethingElseEndsTheReplayForGood) {
  make_crashed(3);
  {
    auto database = *Database::open({.path = path()});
    ASSERT_TRUE((database->register_procedure<AccountArguments, oltp::Nothing>(
        "bump", [](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
          return oltp::Nothing{};
        })));
    for (int i = 0; i < 2; ++i) {
      const auto refused = database->query("SELECT 1");
      ASSERT_EQ(refused.code(), ErrorCode::kCorrupt);
      EXPECT_THAT(refused.error().message, HasSubstr("procedure \"bump\", which committed VID 2"));
      EXPECT_THAT(refused.error().message, HasSubstr(log_files().front()));
    }
  }
  EXPECT_EQ(*reopen()->number("SELECT version FROM account WHERE id = 3"), 3);
}

// The first calls were replayed before the one that does something else.
TEST_F(Recovered, AReplayThatFailsIsNotSavedByTheCheckpointInterval) {
  make_crashed(3);
  {
    auto bank = reopen();
    ASSERT_TRUE(bank->database->call(bank->transfer, {.from = 1, .to = 2, .cents = 5}).get().ok());
    bump(bank.get());
    crash(std::move(bank));
  }
  {
    auto database = *Database::open({.path = path(), .checkpoint_interval_ns = 1'000'000});
    const auto by_id = *database->bind_index<&Account::id>("account_pkey");
    ASSERT_TRUE(register_bump(database.get(), by_id, [] {}).ok());
    ASSERT_TRUE((database->register_procedure<TransferArguments, TransferReply>(
        "transfer", [](Transaction&, const TransferArguments&) -> base::Result<TransferReply> {
          return TransferReply{};
        })));
    EXPECT_EQ(database->query("SELECT 1").code(), ErrorCode::kCorrupt);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // many intervals
    EXPECT_EQ(database->metrics().checkpoints, 0u);
    static_cast<void>(database->discard());
  }
  auto bank = reopen();
  const auto found = bank->number("SELECT version FROM account WHERE id = 3");
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  EXPECT_EQ(*found, 4);
  EXPECT_EQ(*bank->number("SELECT balance FROM account WHERE id = 2"), 10'005);
}

// It waits for room behind each batch, which nobody makes once the database is closed.
TEST_F(Recovered, CloseEndsAReplayAndTheLogStays) {
  constexpr int kBumps = 300;
  make_crashed(kBumps);
  std::atomic<bool> closes{false};
  std::atomic<bool> replays{false};
  auto database = *Database::open({.path = path(), .pending_update_bytes_max = 1});
  const auto by_id = *database->bind_index<&Account::id>("account_pkey");
  const auto slowly = [&] {
    replays = true;
    while (!closes) std::this_thread::yield();
    // All together take longer than close() does to say that it comes.
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  };
  ASSERT_TRUE(register_bump(database.get(), by_id, slowly).ok());
  auto recovered = std::async(std::launch::async, [&] { return database->recover(); });
  while (!replays) std::this_thread::yield();
  auto closed = std::async(std::launch::async, [&] {
    closes = true;
    return database->close();
  });
  // Else it waits for good: nothing but the process's end helps.
  if (recovered.wait_for(std::chrono::seconds(60)) != std::future_status::ready) std::abort();
  EXPECT_EQ(recovered.get().code(), ErrorCode::kClosed);
  EXPECT_TRUE(closed.get().ok());
  database.reset();
  auto bank = reopen();
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), kBumps);
  EXPECT_EQ(bank->database->recover()->transactions, uint64_t{kBumps});
}

TEST_F(Recovered, LoadsAndDdlAmongCallsAreThere) {
  make_crashed(1);
  {
    auto bank = reopen();
    bump(bank.get());
    ASSERT_TRUE(bank->database
                    ->execute_ddl("CREATE TABLE t (a INT PRIMARY KEY);"
                                  "CREATE INDEX by_version ON account (version)")
                    .ok());
    bump(bank.get());
    std::vector<Account> rows = {{100, {5}, 0}, {101, {6}, 0}};
    bool given = false;
    ASSERT_TRUE(bank->database
                    ->load(bank->accounts.table,
                           [&]() -> RowBatch {
                             if (std::exchange(given, true)) return {};
                             return {reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
                           })
                    .ok());
    bump(bank.get());
    crash(std::move(bank));
  }
  auto bank = reopen();
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 4);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 12);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM t"), 0);
  EXPECT_EQ(bank->database->catalog().find_table("account")->indexes.size(), 2u);
  expect_equal_replicas(bank->database.get());
}

TEST_F(Recovered, ManySmallFilesAndCheckpointsBetween) {
  const DatabaseOptions options{
      .path = path(), .log_file_bytes = 16 << 10, .checkpoint_log_bytes = 0};
  Bank::open(options)->fill(10);
  int bumps = 0;
  for (int round = 0; round < 4; ++round) {
    auto bank = Bank::open(options);
    for (int i = 0; i < 100; ++i, ++bumps) bump(bank.get());
    if (round % 2 == 1) {
      ASSERT_TRUE(bank->database->checkpoint().ok());
      EXPECT_LE(log_files().size(), 2u);
      for (int i = 0; i < 40; ++i, ++bumps) bump(bank.get());
    }
    EXPECT_GT(bank->database->metrics().log_files, 1u);
    crash(std::move(bank));
  }
  auto bank = Bank::open(options);
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), bumps);
  EXPECT_EQ(bank->database->recover()->transactions, 40u);
  expect_equal_replicas(bank->database.get());
}

TEST_F(Recovered, TheLogsSizeBringsACheckpoint) {
  const DatabaseOptions options{
      .path = path(), .log_file_bytes = 16 << 10, .checkpoint_log_bytes = 64 << 10};
  auto bank = Bank::open(options);
  bank->fill(10);
  const auto written = std::filesystem::last_write_time(path() + "/manifest.json");
  for (int i = 0; i < 400; ++i) bump(bank.get());
  // A checkpoint may lag behind the calls on a busy machine; the last one covers nearly all.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto wait_while = [&](const auto& condition) {
    while (condition() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto is_as_filled = [&] {
    return std::filesystem::last_write_time(path() + "/manifest.json") == written;
  };
  wait_while(is_as_filled);
  EXPECT_FALSE(is_as_filled());
  wait_while([&] { return log_files().size() >= 14; });
  EXPECT_LT(log_files().size(), 14u);
}

TEST_F(Recovered, ATornTailIsCutAndSaid) {
  make_crashed(5);
  const std::string file = log_files().front();
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  // Behind the last frame, behind which there are zeroes.
  const size_t end = base::round_up(bytes.find_last_not_of('\0') + 1, kLogSectorBytes);
  bytes.replace(end, 700, std::string(700, 'x'));
  std::ofstream(file, std::ios::binary) << bytes;
  ::testing::internal::CaptureStderr();
  auto bank = reopen();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr(file + ": byte " + std::to_string(end)));
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 5);
  EXPECT_THAT(bank->database->recover()->torn_tail, HasSubstr(file));
  bump(bank.get());
  crash(std::move(bank));
  EXPECT_EQ(*reopen()->number("SELECT version FROM account WHERE id = 3"), 6);
}

// Of one sector, it cannot have been torn.
TEST_F(Recovered, ADamagedLastFrameOfOneSectorStopsTheOpening) {
  make_crashed(5);
  const std::string file = log_files().front();
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const size_t last = bytes.find_last_not_of('\0');
  bytes[last] = static_cast<char>(bytes[last] ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;
  const auto opened = Database::open({.path = path()});
  ASSERT_EQ(opened.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(
      opened.error().message,
      HasSubstr(fmt::format("{}: byte {}", file, last / kLogSectorBytes * kLogSectorBytes)));
}

TEST_F(Recovered, TheLogOfAnotherDatabaseStopsTheOpening) {
  make_crashed(5);
  Bank::open({.path = path("other")})->fill(10);
  std::filesystem::copy(log_files().front(), path("other"));
  const auto opened = Database::open({.path = path("other")});
  ASSERT_EQ(opened.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(opened.error().message, HasSubstr(path("other")));
  EXPECT_THAT(opened.error().message, HasSubstr("the log of another database"));
}

TEST_F(Recovered, DamageInTheMiddleStopsTheOpening) {
  make_crashed(5);
  const std::string file = log_files().front();
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(kLogHeaderBytes + 40);
  stream.put('x');
  stream.close();
  const auto opened = Database::open({.path = path()});
  ASSERT_EQ(opened.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(opened.error().message, HasSubstr(file + ": byte 4096"));
  EXPECT_THAT(opened.error().message, HasSubstr("restore"));
}

TEST_F(Recovered, WithoutALogACrashLosesWhatWasNotSaved) {
  make_crashed(5, {.path = path(), .log = LogMode::kNone});
  EXPECT_TRUE(log_files().empty());
  EXPECT_EQ(*reopen()->number("SELECT version FROM account WHERE id = 3"), 0);
}

// Several workers, conflicts, and another number of workers afterwards.
TEST_F(Recovered, ConcurrentTransfersOfSeveralWorkers) {
  DatabaseOptions options{.path = path()};
  Bank::open(options)->fill(20);
  std::string before;
  const auto rows = [](Bank* bank) {
    std::string text;
    auto result = bank->database->query("SELECT * FROM account ORDER BY id");
    for (const auto& row : result->rows) {
      for (const base::Value& value : row) text += base::to_string(value) + "|";
    }
    return text;
  };
  for (const uint32_t workers : {4U, 1U, 2U}) {
    options.placement.oltp_workers = workers;
    auto bank = Bank::open(options);
    if (!before.empty()) {
      EXPECT_EQ(rows(bank.get()), before);
      expect_equal_replicas(bank->database.get());
    }
    std::vector<std::thread> callers;
    for (int32_t c = 0; c < 8; ++c) {
      callers.emplace_back([&, c] {
        for (int32_t i = 0; i < 60; ++i) {
          auto done = bank->database
                          ->call(bank->transfer,
                                 {.from = (c + i) % 20, .to = (c * 3 + i * 7 + 1) % 20, .cents = 1})
                          .get();
          EXPECT_TRUE(done.ok()) << done.error().to_string();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    before = rows(bank.get());
    crash(std::move(bank));
  }
  auto bank = Bank::open(options);
  EXPECT_EQ(rows(bank.get()), before);
  EXPECT_EQ(*bank->number("SELECT sum(balance) FROM account"), 20 * 10'000);
  expect_equal_replicas(bank->database.get());
}

}  // namespace
}  // namespace diptych::dispatcher
