// A physical log: what was acknowledged is there without any procedure; modes may change.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

struct Letter {
  int32_t id = 0;
  base::Text text;
  base::Nullable<base::Varchar<500>> other;
  base::Varchar<8> tag;
};
BOOST_DESCRIBE_STRUCT(Letter, (), (id, text, other, tag))

class PhysicalLog : public DirectoryFixture {
 protected:
  DatabaseOptions options(LogMode mode = LogMode::kPhysical) const {
    return {.path = path(), .log = mode, .log_file_bytes = 64 << 10};
  }
  static void bump(Bank* bank, int times) {
    for (int i = 0; i < times; ++i) {
      auto done = bank->database->call(bank->bump, {.id = 3, .balance = {}}).get();
      ASSERT_TRUE(done.ok()) << done.error().to_string();
    }
  }
  static std::string rows(Database* database, const std::string& sql) {
    auto result = database->query(sql);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    if (!result) return {};
    std::string text;
    for (const auto& row : result->rows) {
      for (const base::Value& value : row) text += base::to_string(value) + "|";
    }
    return text;
  }
};

TEST_F(PhysicalLog, IsReplayedWithoutProcedures) {
  Bank::open(options())->fill(10);
  {
    auto bank = Bank::open(options());
    bump(bank.get(), 7);
    static_cast<void>(bank->database->discard());
  }
  auto database = *Database::open(options());
  EXPECT_EQ(rows(database.get(), "SELECT version FROM account WHERE id = 3"), "7|");
  EXPECT_EQ(database->recover()->transactions, 7u);
  EXPECT_EQ(database->recover()->vid, database->metrics().last_vid);
  expect_equal_replicas(database.get());
}

TEST_F(PhysicalLog, ModesMayChangeFromOneOpeningToTheNext) {
  Bank::open(options())->fill(10);
  int bumps = 0;
  for (const LogMode mode : {LogMode::kPhysical, LogMode::kCommand, LogMode::kPhysical,
                             LogMode::kPhysical, LogMode::kCommand}) {
    auto bank = Bank::open(options(mode));
    bump(bank.get(), 5);
    bumps += 5;
    EXPECT_EQ(rows(bank->database.get(), "SELECT version FROM account WHERE id = 3"),
              fmt::format("{}|", bumps));
    static_cast<void>(bank->database->discard());
  }
  auto database = *Database::open(options());
  const auto refused = database->query("SELECT 1");
  ASSERT_EQ(refused.code(), ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("procedure \"bump\""));
}

TEST_F(PhysicalLog, TextsNullsKeysAndDeletesAreAsTheyWere) {
  const std::string all = "SELECT * FROM letter ORDER BY id";
  std::string before;
  {
    auto database = *Database::open(options());
    ASSERT_TRUE(database
                    ->execute_ddl("CREATE TABLE letter (id INT NOT NULL PRIMARY KEY, "
                                  "text TEXT NOT NULL, other VARCHAR(500), tag VARCHAR(8) NOT "
                                  "NULL); CREATE INDEX by_tag ON letter (tag)")
                    .ok());
    auto letters = *database->bind_table<Letter>("letter");
    auto by_id = *database->bind_index<&Letter::id>("letter_pkey");
    // Inserts letter `id`, changes the one before it and erases the one before that.
    auto write = *database->register_procedure<AccountArguments, oltp::Nothing>(
        "write",
        [=](Transaction& txn, const AccountArguments& order) -> base::Result<oltp::Nothing> {
          const std::string text(static_cast<size_t>(order.id * 8),
                                 static_cast<char>('a' + order.id % 26));
          Letter letter{order.id, base::Text(text), {}, std::string_view("new")};
          if (order.id % 3 != 0) letter.other = base::Varchar<500>(text);
          if (auto row = txn.insert(letters, letter); !row) return row.error();
          if (auto row = txn.get_for_update<&Letter::id>(by_id, order.id - 1)) {
            txn.update(*row, set<&Letter::text>(base::Text(text)),
                       set<&Letter::tag>(std::string_view(order.id % 2 == 0 ? "even" : "odd")));
          }
          if (auto row = txn.get_for_update<&Letter::id>(by_id, order.id - 2)) {
            if (order.id % 5 == 0) txn.erase(*row);
          }
          return oltp::Nothing{};
        });
    for (int32_t id = 1; id <= 60; ++id) {
      auto done = database->call(write, {.id = id, .balance = {}}).get();
      ASSERT_TRUE(done.ok()) << done.error().to_string();
    }
    before = rows(database.get(), all);
    std::filesystem::copy(path(), path("crashed"));
    static_cast<void>(database->discard());
  }
  auto database = *Database::open({.path = path("crashed"), .log = LogMode::kPhysical});
  EXPECT_EQ(rows(database.get(), all), before);
  expect_equal_replicas(database.get());
  EXPECT_EQ(database->recover()->transactions, 60u);
}

// Memory that only a very large batch has taken goes when it is written, and shows until then.
TEST_F(PhysicalLog, ALargeBatchIsWrittenAndItsMemoryGoes) {
  constexpr size_t kMiB = size_t{1} << 20;
  constexpr int32_t kLetters = 40;
  ASSERT_TRUE(Database::open(options()).ok());
  std::atomic<bool> disk_waits{false};
  DatabaseOptions held = options();
  held.faults.before_step = [&](storage::FileStep) -> base::Result<void> {
    while (disk_waits) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return {};
  };
  {
    auto database = *Database::open(held);
    ASSERT_TRUE(database
                    ->execute_ddl("CREATE TABLE letter (id INT NOT NULL PRIMARY KEY, text TEXT NOT "
                                  "NULL, other VARCHAR(500), tag VARCHAR(8) NOT NULL)")
                    .ok());
    auto letters = *database->bind_table<Letter>("letter");
    auto write = *database->register_procedure<AccountArguments, oltp::Nothing>(
        "write", [=](Transaction& txn, const AccountArguments&) -> base::Result<oltp::Nothing> {
          const std::string text(kMiB, 'x');
          for (int32_t id = 0; id < kLetters; ++id) {
            const Letter letter{id, base::Text(text), {}, std::string_view("large")};
            if (auto row = txn.insert(letters, letter); !row) return row.error();
          }
          return oltp::Nothing{};
        });
    const auto log_memory = [&] { return database->metrics().memory.log; };
    const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    disk_waits = true;
    auto done = database->call(write, {});
    while (log_memory() < kLetters * kMiB) {
      if (std::chrono::steady_clock::now() > give_up_at) break;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    EXPECT_GE(log_memory(), kLetters * kMiB);
    disk_waits = false;
    ASSERT_TRUE(done.get().ok());
    while (log_memory() > kMiB) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up_at);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    static_cast<void>(database->discard());
  }
  auto database = *Database::open(options());
  EXPECT_EQ(rows(database.get(), "SELECT count(*), sum(length(text)) FROM letter"),
            fmt::format("{}|{}|", kLetters, kLetters * kMiB));
}

TEST_F(PhysicalLog, SeveralWorkersBothIsolationLevels) {
  for (const uint32_t workers : {1U, 2U, 4U, 8U}) {
    for (const IsolationLevel isolation :
         {IsolationLevel::kSnapshot, IsolationLevel::kSerializable}) {
      SCOPED_TRACE(workers);
      std::filesystem::remove_all(path());
      DatabaseOptions with = options();
      with.placement.oltp_workers = workers;
      with.isolation = isolation;
      Bank::open(with)->fill(20);
      std::string before;
      {
        auto bank = Bank::open(with);
        std::vector<std::thread> callers;
        for (int32_t c = 0; c < 4; ++c) {
          callers.emplace_back([&, c] {
            for (int32_t i = 0; i < 30; ++i) {
              const TransferArguments order{(c + i) % 20, (c * 3 + i * 7 + 1) % 20, 1};
              EXPECT_TRUE(bank->database->call(bank->transfer, order).get().ok());
            }
          });
        }
        for (std::thread& caller : callers) caller.join();
        before = rows(bank->database.get(), "SELECT * FROM account ORDER BY id");
        static_cast<void>(bank->database->discard());
      }
      auto database = *Database::open(options());
      EXPECT_EQ(rows(database.get(), "SELECT * FROM account ORDER BY id"), before);
      EXPECT_EQ(rows(database.get(), "SELECT sum(balance) FROM account"), "2000.00|");
      expect_equal_replicas(database.get());
    }
  }
}

// Rows in sequence that a transaction updates alike are one record, from the commit to the replay.
TEST_F(PhysicalLog, RowsThatWereUpdatedAlikeTogether) {
  constexpr int32_t kAccounts = 700;
  Bank::open(options())->fill(kAccounts);
  uint64_t bytes = 0;
  {
    auto bank = Bank::open(options());
    auto stamp = *bank->database->register_procedure<AccountArguments, oltp::Nothing>(
        "stamp",
        [index = bank->by_id](Transaction& txn,
                              const AccountArguments& order) -> base::Result<oltp::Nothing> {
          for (int32_t id = 0; id < kAccounts; ++id) {
            auto row = txn.get_for_update<&Account::version>(index, id);
            if (!row) return row.error();
            txn.update(*row, set<&Account::version>(int64_t{id == 300 ? -1 : order.id}));
          }
          return oltp::Nothing{};
        });
    const uint64_t before = bank->database->metrics().log_bytes;
    ASSERT_TRUE(bank->database->call(stamp, {.id = 5, .balance = {}}).get().ok());
    bytes = bank->database->metrics().log_bytes - before;
    static_cast<void>(bank->database->discard());
  }
  EXPECT_LT(bytes, uint64_t{kAccounts} * 8) << "a record has 40 bytes";
  auto database = *Database::open(options());
  EXPECT_EQ(rows(database.get(),
                 "SELECT version, count(*), min(id), max(id) FROM account "
                 "GROUP BY version ORDER BY version"),
            "-1|1|300|300|5|699|0|699|");
  expect_equal_replicas(database.get());
}

TEST_F(PhysicalLog, WholeRowsOfARowStoreAreReplayedToo) {
  DatabaseOptions with = options();
  with.export_mode = ExportMode::kRows;
  Bank::open(with)->fill(10);
  {
    auto bank = Bank::open(with);
    bump(bank.get(), 7);
    static_cast<void>(bank->database->discard());
  }
  auto database = *Database::open(options());
  EXPECT_EQ(rows(database.get(), "SELECT sum(version), sum(balance) FROM account"), "7|1000.00|");
  expect_equal_replicas(database.get());
}

TEST_F(PhysicalLog, CheckpointsLoadsAndDdlAmongCalls) {
  DatabaseOptions with = options();
  with.log_file_bytes = 8 << 10;
  Bank::open(with)->fill(10);
  {
    auto bank = Bank::open(with);
    bump(bank.get(), 40);
    ASSERT_TRUE(bank->database->checkpoint().ok());
    bump(bank.get(), 40);
    ASSERT_TRUE(bank->database->execute_ddl("CREATE INDEX by_version ON account (version)").ok());
    bump(bank.get(), 10);
    ASSERT_TRUE(bank->database
                    ->load(bank->accounts.table,
                           [id = 100]() mutable -> RowBatch {
                             static Account row;
                             if (id == 150) return {};
                             row = {id++, {500}, 0};
                             return {reinterpret_cast<const std::byte*>(&row), 1};
                           })
                    .ok());
    bump(bank.get(), 3);
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 120, .balance = {}}).get().ok());
    static_cast<void>(bank->database->discard());
  }
  auto database = *Database::open(with);
  EXPECT_EQ(rows(database.get(), "SELECT version FROM account WHERE id IN (3, 120) ORDER BY id"),
            "93|1|");
  EXPECT_EQ(rows(database.get(), "SELECT count(*), sum(balance) FROM account"), "60|1250.00|");
  expect_equal_replicas(database.get());
}

}  // namespace
}  // namespace diptych::dispatcher
