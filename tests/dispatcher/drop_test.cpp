// DROP TABLE, DROP INDEX and TRUNCATE beside calls, queries, snapshots, crashes and failing disks:
// what is dropped is nowhere any more, and all else is as it was.

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/backup.h"
#include "dispatcher/database_inspection.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

class Drop : public DirectoryFixture {
 protected:
  DatabaseOptions options(LogMode mode = LogMode::kCommand) const {
    return {.path = path(), .log = mode};
  }
  static void ddl(Bank* bank, const std::string& script) {
    auto done = bank->database->execute_ddl(script);
    ASSERT_TRUE(done.ok()) << done.error().to_string();
  }
  static std::string refusal(Bank* bank, const std::string& script) {
    auto done = bank->database->execute_ddl(script);
    if (done) return "done";
    return std::string(done.error().sqlstate()) + " " + done.error().message;
  }
  static int64_t accounts(Bank* bank) {
    const auto counted = bank->number("SELECT count(*) FROM account");
    EXPECT_TRUE(counted.ok()) << counted.error().to_string();
    return counted ? *counted : -1;
  }
  static base::Result<void> open_account(Bank* bank, int32_t id) {
    auto done = bank->database->call(bank->open_account, {id, {100}}).get();
    return done ? base::Result<void>() : done.error();
  }
};

TEST_F(Drop, ATableIsGoneForQueriesCallsAndLaterOpenings) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical, LogMode::kNone}) {
    SCOPED_TRACE(to_string(mode));
    std::filesystem::remove_all(path());
    Bank::open(options(mode));  // discard() would take a new one away
    {
      auto bank = Bank::open(options(mode));
      bank->fill(100);
      ddl(bank.get(), "CREATE TABLE other (id INT PRIMARY KEY)");
      ASSERT_TRUE(open_account(bank.get(), 1000).ok());
      ASSERT_TRUE(bank->database->call(bank->bump, {1, {}}).get().ok());  // that may wait
      ddl(bank.get(), "DROP TABLE account");
      EXPECT_EQ(bank->number("SELECT count(*) FROM account").error().sqlstate(), "42P01");
      EXPECT_EQ(*bank->number("SELECT count(*) FROM other"), 0);
      EXPECT_EQ(*bank->number("SELECT count(*) FROM information_schema.tables "
                              "WHERE table_schema = 'public' AND table_name = 'account'"),
                0);
      const auto refused = open_account(bank.get(), 1001);
      ASSERT_EQ(refused.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(refused.error().message, HasSubstr("table \"account\", which was dropped"));
      const auto moved = bank->database->call(bank->transfer, {1, 2, 5}).get();
      ASSERT_EQ(moved.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(moved.error().message, HasSubstr("index \"account_pkey\", which was dropped"));
      const auto loaded =
          bank->database->load(bank->accounts.table, []() -> RowBatch { return {}; });
      EXPECT_EQ(loaded.code(), ErrorCode::kInvalidArgument);
      EXPECT_FALSE(bank->database->bind_table<Account>("account").ok());
      expect_equal_replicas(bank->database.get());
      if (mode == LogMode::kNone) {
        ASSERT_TRUE(bank->database->close().ok());
      } else {
        ASSERT_TRUE(bank->database->discard().ok());  // as a crash
      }
    }
    auto database = *Database::open(options(mode));
    EXPECT_EQ(database->query("SELECT * FROM account").error().sqlstate(), "42P01");
    EXPECT_TRUE(database->query("SELECT * FROM other").ok());
  }
}

TEST_F(Drop, ATableOfTheSameNameIsANewOne) {
  Bank::open(options());
  for (int opening = 0; opening < 3; ++opening) {
    auto bank = Bank::open(options());
    EXPECT_EQ(accounts(bank.get()), opening == 0 ? 0 : 2);
    ASSERT_TRUE(open_account(bank.get(), 7000).ok());
    ddl(bank.get(), "DROP TABLE account; CREATE TABLE account (name TEXT PRIMARY KEY)");
    EXPECT_EQ(accounts(bank.get()), 0);
    EXPECT_EQ(bank->number("SELECT balance FROM account").error().sqlstate(), "42703");
    EXPECT_EQ(open_account(bank.get(), 1).code(), ErrorCode::kInvalidArgument);
    ddl(bank.get(), std::string("DROP TABLE account; ") + kBankDdl);
    // The procedure is bound to the table of before.
    EXPECT_EQ(open_account(bank.get(), 1).code(), ErrorCode::kInvalidArgument);
    const auto now = *bank->database->bind_table<Account>("account");
    EXPECT_NE(now.table, bank->accounts.table);
    bank->accounts = now;
    bank->fill(2);
    expect_equal_replicas(bank->database.get());
    if (opening != 1) continue;
    ASSERT_TRUE(bank->database->discard().ok());  // as a crash
  }
}

TEST_F(Drop, NamesAndKeysAreLookedAtBeforeAnythingGoes) {
  auto bank = Bank::open(options());
  bank->fill(10);
  ddl(bank.get(),
      "CREATE TABLE owner (id INT PRIMARY KEY, code INT NOT NULL, tag INT NOT NULL UNIQUE);"
      "CREATE UNIQUE INDEX owner_code ON owner (code);"
      "CREATE TABLE card (id INT PRIMARY KEY, owner INT NOT NULL,"
      "  FOREIGN KEY (owner) REFERENCES owner (code))");
  EXPECT_THAT(
      refusal(bank.get(), "DROP TABLE owner"),
      HasSubstr("table \"owner\" cannot be dropped: table \"card\" has a foreign key to it"));
  EXPECT_THAT(refusal(bank.get(), "DROP TABLE account, owner"), HasSubstr("2BP01"));
  EXPECT_THAT(refusal(bank.get(), "DROP INDEX owner_code"), HasSubstr("table \"card\""));
  EXPECT_THAT(refusal(bank.get(), "DROP INDEX owner_pkey"), HasSubstr("it is a key of table"));
  EXPECT_THAT(refusal(bank.get(), "DROP INDEX owner_tag_key"), HasSubstr("it is a key of table"));
  EXPECT_THAT(refusal(bank.get(), "DROP TABLE account, nothing"), HasSubstr("42P01"));
  EXPECT_THAT(refusal(bank.get(), "DROP TABLE acount"), HasSubstr("did you mean \"account\"?"));
  EXPECT_THAT(refusal(bank.get(), "DROP INDEX nothing"), HasSubstr("42704"));
  EXPECT_THAT(refusal(bank.get(), "TRUNCATE nothing"), HasSubstr("42P01"));
  EXPECT_EQ(accounts(bank.get()), 10);
  // What goes together needs nobody.
  ddl(bank.get(), "DROP TABLE owner, card; DROP TABLE IF EXISTS owner, card");
  ddl(bank.get(),
      "CREATE TABLE IF NOT EXISTS account (x INT PRIMARY KEY);"
      "CREATE INDEX IF NOT EXISTS by_version ON account (version);"
      "CREATE INDEX IF NOT EXISTS by_version ON account (balance)");
  EXPECT_EQ(accounts(bank.get()), 10);
  ddl(bank.get(), "DROP INDEX IF EXISTS by_version, by_balance");
  EXPECT_THAT(refusal(bank.get(), "DROP INDEX by_version"), HasSubstr("42704"));
  ASSERT_TRUE(bank->database->close().ok());
  EXPECT_EQ(accounts(Bank::open(options()).get()), 10);
}

TEST_F(Drop, AnIndexIsNoLongerKeptOrFound) {
  auto bank = Bank::open(options());
  bank->fill(3);
  ddl(bank.get(), "CREATE UNIQUE INDEX by_version ON account (version, id)");
  const auto by_version =
      *bank->database->bind_index<&Account::version, &Account::id>("by_version");
  const auto find = *bank->database->register_procedure<AccountArguments, oltp::Nothing>(
      "find",
      [by_version](Transaction& txn, const AccountArguments& order) -> base::Result<oltp::Nothing> {
        auto row = txn.get<&Account::balance>(by_version, int64_t{0}, order.id);
        if (!row) return row.error();
        return oltp::Nothing{};
      });
  ASSERT_TRUE(bank->database->call(find, {1, {}}).get().ok());
  ASSERT_TRUE(bank->database->call(bank->bump, {2, {}}).get().ok());
  ddl(bank.get(), "DROP INDEX by_version");
  const auto expect_refused = [&] {
    const auto refused = bank->database->call(find, {1, {}}).get();
    ASSERT_EQ(refused.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("index \"by_version\", which was dropped"));
  };
  expect_refused();
  ASSERT_TRUE(bank->database->call(bank->bump, {1, {}}).get().ok());
  ddl(bank.get(), "CREATE INDEX by_version ON account USING hash (version)");
  expect_equal_replicas(bank->database.get());
  ASSERT_TRUE(bank->database->rebuild_primary().ok());
  expect_refused();
  expect_equal_replicas(bank->database.get());
}

// What was acknowledged before it does not come again, and what comes later does.
TEST_F(Drop, ATruncatedTableIsEmptyAndGoesOn) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical}) {
    SCOPED_TRACE(to_string(mode));
    std::filesystem::remove_all(path());
    Bank::open(options(mode));  // as above
    {
      auto bank = Bank::open(options(mode));
      bank->fill(5000);
      for (int32_t id = 6000; id < 6050; ++id) ASSERT_TRUE(open_account(bank.get(), id).ok());
      ddl(bank.get(), "TRUNCATE TABLE account");
      EXPECT_EQ(accounts(bank.get()), 0);
      EXPECT_EQ(bank->database->call(bank->bump, {1, {}}).get().code(), ErrorCode::kNotFound);
      expect_equal_replicas(bank->database.get());
      for (const int32_t id : {1, 6001, 9}) ASSERT_TRUE(open_account(bank.get(), id).ok());
      EXPECT_EQ(accounts(bank.get()), 3);
      ASSERT_TRUE(bank->database->discard().ok());  // as a crash
    }
    auto bank = Bank::open(options(mode));
    EXPECT_EQ(accounts(bank.get()), 3);
    EXPECT_EQ(bank->database->recover()->transactions, 3u);
    bank->fill(1);
    EXPECT_EQ(*bank->number("SELECT sum(id) FROM account"), 6011);
    expect_equal_replicas(bank->database.get());
  }
}

TEST_F(Drop, MemoryAndSpaceComeBack) {
  struct Note {
    int32_t id = 0;
    base::Text text;
  };
  constexpr int32_t kNotes = 20'000;
  auto database = *Database::open({.path = path(), .block_rows = 1024});
  const auto fill = [&](base::TableId table) {
    const std::string text(400, 'n');
    std::vector<Note> notes;
    for (int32_t id = 0; id < kNotes; ++id) notes.push_back({id, base::Text(text)});
    bool given = false;
    ASSERT_TRUE(
        database
            ->load(table,
                   [&]() -> RowBatch {
                     if (std::exchange(given, true)) return {};
                     return {reinterpret_cast<const std::byte*>(notes.data()), notes.size()};
                   })
            .ok());
  };
  const std::string create = "CREATE TABLE note (id INT PRIMARY KEY, text TEXT NOT NULL);";
  ASSERT_TRUE(database->execute_ddl(create).ok());
  uint64_t bytes_at_first = 0;
  uint64_t strings_at_first = 0;
  for (int round = 0; round < 6; ++round) {
    ASSERT_NO_FATAL_FAILURE(fill(database->catalog().find_table("note")->id));
    const Metrics full = database->metrics();
    ASSERT_TRUE(
        database->execute_ddl(round % 2 == 0 ? "TRUNCATE note" : "DROP TABLE note;" + create).ok());
    const Metrics empty = database->metrics();
    EXPECT_LT(empty.memory.indexes, full.memory.indexes);
    if (round == 0) strings_at_first = full.memory.row_strings;
    EXPECT_LE(full.memory.row_strings, strings_at_first + strings_at_first / 4);
    const uint64_t file_bytes = std::filesystem::file_size(path() + "/blocks.dtb");
    if (round == 1) bytes_at_first = file_bytes;
    if (round > 1) {
      EXPECT_LE(file_bytes, bytes_at_first);
    }
  }
}

TEST_F(Drop, BackupsAndInspectionsHaveWhatIsThere) {
  {
    auto bank = Bank::open(options());
    ddl(bank.get(),
        "CREATE TABLE first (id INT PRIMARY KEY); CREATE TABLE last (id INT PRIMARY KEY)");
    bank->fill(20);
    ddl(bank.get(), "DROP TABLE first; CREATE INDEX by_version ON account (version)");
    ASSERT_TRUE(open_account(bank.get(), 50).ok());
    ASSERT_TRUE(bank->database->backup(path("copy")).ok());
    ASSERT_TRUE(bank->database->close().ok());
  }
  const auto inspected = inspect_database(path(), Verify::kYes, [](double) {});
  ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
  std::vector<std::string> names;
  for (const TableInspection& table : inspected->tables) names.push_back(table.name);
  EXPECT_THAT(names, ::testing::ElementsAre("account", "last"));
  ASSERT_TRUE(restore_database(path("copy"), path("again")).ok());
  auto bank = Bank::open({.path = path("again")});
  EXPECT_EQ(accounts(bank.get()), 21);
  EXPECT_EQ(bank->number("SELECT * FROM first").error().sqlstate(), "42P01");
  expect_equal_replicas(bank->database.get());
}

// A long query goes on with the rows of its snapshot, which are given back behind it.
using DropConcurrent = Drop;

TEST_F(DropConcurrent, SnapshotsShowWhatWasThere) {
  constexpr int32_t kFilled = 3000;
  for (const std::string statement : {"TRUNCATE account", "DROP TABLE account"}) {
    SCOPED_TRACE(statement);
    auto bank = Bank::open({.partitions = 2, .long_query_ns = 1'000'000});
    bank->fill(kFilled);
    auto pairs = *bank->database->start_query(
        "SELECT count(*) FROM account a, account b WHERE a.version + b.version >= 0");
    while (bank->database->metrics().snapshots == 0 && !pairs.wait_for(1'000'000)) {
    }
    ddl(bank.get(), statement);
    const auto counted = pairs.get();
    ASSERT_TRUE(counted.ok()) << counted.error().to_string();
    EXPECT_EQ(base::to_string(counted->rows[0][0]), fmt::format("{}", kFilled * kFilled));
    if (statement == "TRUNCATE account") {
      EXPECT_EQ(accounts(bank.get()), 0);
      bank->fill(5);
      EXPECT_EQ(accounts(bank.get()), 5);
    }
    EXPECT_EQ(*bank->number("SELECT 1"), 1);
    expect_equal_replicas(bank->database.get());
  }
}

// Then neither log nor manifest have what is in memory: nobody writes until they do.
TEST_F(Drop, CallsWaitForASaveThatFailed) {
  std::atomic<bool> fails{false};
  DatabaseOptions with = options();
  with.faults.before_step = refuse_while(fails, storage::FileStep::kRename);
  Bank::open(options());  // as above
  {
    auto bank = Bank::open(with);
    bank->fill(10);
    fails = true;
    EXPECT_THAT(refusal(bank.get(), "TRUNCATE account"), HasSubstr("could not be saved"));
    EXPECT_EQ(accounts(bank.get()), 0);
    EXPECT_FALSE(open_account(bank.get(), 1).ok());
    static_cast<void>(bank->database->discard());
  }
  fails = false;
  EXPECT_EQ(accounts(Bank::open(options()).get()), 10);
}

}  // namespace
}  // namespace diptych::dispatcher
