// Opening, and its errors; DDL, and its errors.

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

class DatabaseOpen : public DirectoryFixture {
 protected:
  base::Error open_error(const DatabaseOptions& options) {
    auto opened = Database::open(options);
    EXPECT_FALSE(opened.ok());
    return opened ? base::Error(ErrorCode::kClosed) : opened.error();
  }
};

TEST_F(DatabaseOpen, OpeningOneThatIsNotThereSaysSo) {
  const base::Error error = open_error({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, HasSubstr(path()));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(DatabaseOpen, OpeningAnEmptyDirectorySaysThatItHoldsNoDatabase) {
  std::filesystem::create_directory(path());
  EXPECT_EQ(open_error({.path = path(), .mode = OpenMode::kOpen}).code, ErrorCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(path()));
}

TEST_F(DatabaseOpen, CreatingWhereOneExistsIsRefusedAndLeavesItIntact) {
  Bank::open({.path = path(), .mode = OpenMode::kCreate})->fill(3);
  EXPECT_EQ(open_error({.path = path(), .mode = OpenMode::kCreate}).code,
            ErrorCode::kAlreadyExists);
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 3);
}

TEST_F(DatabaseOpen, AMissingParentDirectoryIsNamed) {
  const base::Error error = open_error({.path = path("no/such"), .mode = OpenMode::kCreate});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("parent"));
}

TEST_F(DatabaseOpen, AFileIsNotADatabase) {
  std::ofstream(path()) << "text";
  const base::Error error = open_error({.path = path()});
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("is a file"));
}

TEST_F(DatabaseOpen, SomebodyElsesDirectoryIsRefusedUntouched) {
  std::filesystem::create_directory(path());
  std::ofstream(path("bank/thesis.txt")) << "text";
  const base::Error error = open_error({.path = path()});
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("thesis.txt"));
  EXPECT_FALSE(std::filesystem::exists(path("bank/lock")));
}

TEST_F(DatabaseOpen, BlocksWithoutAManifestAreSomebodysRowsAndStay) {
  Bank::open({.path = path()})->fill(3);
  std::filesystem::rename(path("bank/manifest.json"), path("manifest"));
  const auto bytes = std::filesystem::file_size(path("bank/blocks.dtb"));
  for (const OpenMode mode : {OpenMode::kOpen, OpenMode::kCreate, OpenMode::kOpenOrCreate}) {
    const base::Error error = open_error({.path = path(), .mode = mode});
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message, HasSubstr(path() + ": holds blocks but no manifest"));
  }
  EXPECT_EQ(std::filesystem::file_size(path("bank/blocks.dtb")), bytes);
  std::filesystem::rename(path("manifest"), path("bank/manifest.json"));
  EXPECT_EQ(*Bank::open({.path = path()})->number("SELECT count(*) FROM account"), 3);
}

// Of a creation that was cut off before its manifest.
TEST_F(DatabaseOpen, ABlockFileOfAHeaderAloneCountsAsEmpty) {
  Bank::open({.path = path()});
  std::filesystem::remove(path("bank/manifest.json"));
  std::filesystem::resize_file(path("bank/blocks.dtb"), 4096);
  EXPECT_NE(Bank::open({.path = path(), .mode = OpenMode::kCreate}), nullptr);
}

TEST_F(DatabaseOpen, APlaceWhereTheSystemAllowsNoDirectoryIsAnError) {
  const base::Error error = open_error({.path = "/proc/diptych-test"});
  EXPECT_THAT(error.message, HasSubstr("/proc/diptych-test"));
}

TEST_F(DatabaseOpen, OnlyOneMayHaveItOpen) {
  auto bank = Bank::open({.path = path()});
  EXPECT_EQ(open_error({.path = path()}).code, ErrorCode::kInUse);
  ASSERT_TRUE(bank->database->close().ok());
  EXPECT_TRUE(Database::open({.path = path()}).ok());
}

TEST_F(DatabaseOpen, OfTwoThatCreateAtOnceOneDoesAndNothingIsLost) {
  for (int round = 0; round < 40; ++round) {
    const std::string place = path() + std::to_string(round);
    std::array<std::unique_ptr<Database>, 2> databases;
    std::vector<std::thread> creators;
    for (auto& database : databases) {
      creators.emplace_back([&] {
        auto opened = Database::open({.path = place, .mode = OpenMode::kCreate});
        if (opened) database = std::move(*opened);
      });
    }
    for (std::thread& creator : creators) creator.join();
    ASSERT_NE(databases[0] == nullptr, databases[1] == nullptr);
    Database& created = databases[0] != nullptr ? *databases[0] : *databases[1];
    EXPECT_TRUE(created.execute_ddl("CREATE TABLE t (a INT PRIMARY KEY)"));
    EXPECT_TRUE(created.close());
    databases = {};
    auto again = Database::open({.path = place, .mode = OpenMode::kOpen});
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_NE((*again)->catalog().find_table("t"), nullptr);
  }
}

TEST_F(DatabaseOpen, ADamagedManifestIsReportedAndNothingIsWritten) {
  Bank::open({.path = path()})->fill(3);
  std::ofstream(path("bank/manifest.json")) << "{";
  const base::Error error = open_error({.path = path()});
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr("manifest.json"));
  EXPECT_EQ(std::filesystem::file_size(path("bank/manifest.json")), 1u);
}

// The log's first file is made by the first call.
TEST_F(DatabaseOpen, ARelativePathIsWhatItWasWhenItWasOpened) {
  Bank::open({.path = path()})->fill(3);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  auto bank = Bank::open({.path = "bank"});
  std::filesystem::current_path(before);
  const auto bumped = bank->database->call(bank->bump, {.id = 1, .balance = {}}).get();
  EXPECT_TRUE(bumped.ok()) << bumped.error().to_string();
  const auto saved = bank->database->checkpoint();
  EXPECT_TRUE(saved.ok()) << saved.error().to_string();
  EXPECT_TRUE(bank->database->call(bank->bump, {.id = 1, .balance = {}}).get().ok());
  static_cast<void>(bank->database->discard());
  bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 1"), 2);
}

TEST_F(DatabaseOpen, DiscardLeavesFilesThatAreNotTheDatabases) {
  namespace fs = std::filesystem;
  fs::create_directory(path());
  auto bank = Bank::open({.path = path()});
  bank->fill(3);
  ASSERT_TRUE(bank->database->backup(path("backup")));
  fs::rename(path("backup"), path() + "/backup");
  std::ofstream(path() + "/notes") << "mine";
  static_cast<void>(bank->database->discard());
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(path())) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"backup", "notes"}));
  EXPECT_TRUE(fs::exists(path() + "/backup/backup.json"));
}

TEST_F(DatabaseOpen, OptionsThatCannotWorkAreNamed) {
  EXPECT_THAT(open_error({.queue_requests = 0}).message, HasSubstr("queue_requests"));
  EXPECT_THAT(open_error({.batch_requests_max = 0}).message, HasSubstr("batch_requests_max"));
  EXPECT_THAT(open_error({.path = path(), .export_updates = false}).message,
              HasSubstr("export_updates"));
  EXPECT_EQ(open_error({.placement = {.oltp_cores = {100'000}}}).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(open_error({.placement = {.oltp_workers = 65}}).message,
              HasSubstr("placement.oltp_workers is 65: give at most 64"));
  EXPECT_THAT(open_error({.placement = {.olap_threads = 1025}}).message,
              HasSubstr("placement.olap_threads is 1025: give at most 1024"));
  EXPECT_THAT(open_error({.long_query_ns = 1, .long_queries_max = 1025}).message,
              HasSubstr("long_queries_max is 1025: give 1 to 1024"));
}

TEST_F(DatabaseOpen, DdlThatIsNotUtf8IsRefusedSinceItCouldNotBeSaved) {
  auto database = *Database::open({.path = path()});
  auto failed = database->execute_ddl(
      "CREATE TABLE a (x INT PRIMARY KEY);"
      "CREATE TABLE b (x INT PRIMARY KEY /* gr\xfc\xdf */)");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), ErrorCode::kSyntaxError);
  EXPECT_THAT(failed.error().message, HasSubstr("statement 2 (CREATE TABLE b"));
  EXPECT_THAT(failed.error().message, HasSubstr("offset 39 (0xfc) that is not UTF-8"));
  auto closed = database->close();
  EXPECT_TRUE(closed.ok()) << closed.error().to_string();
  EXPECT_NE((*Database::open({.path = path()}))->catalog().find_table("a"), nullptr);
}

TEST_F(DatabaseOpen, DdlOfMoreThanAManifestMayHaveIsRefusedSinceItCouldNotBeRead) {
  auto database = *Database::open({.path = path()});
  std::string script;
  for (int i = 1; i <= 12; ++i) {  // each of which takes six times its bytes there
    script += "CREATE TABLE t" + std::to_string(i) + " (x INT PRIMARY KEY /*" +
              std::string(1'000'000, '\x01') + "*/);";
  }
  auto failed = database->execute_ddl(script);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(failed.error().message, HasSubstr("statement 12 (CREATE TABLE t12"));
  EXPECT_THAT(failed.error().message, HasSubstr("may have 67108864"));
  auto closed = database->close();
  EXPECT_TRUE(closed.ok()) << closed.error().to_string();
  auto reopened = Database::open({.path = path()});
  ASSERT_TRUE(reopened.ok()) << reopened.error().to_string();
  EXPECT_NE((*reopened)->catalog().find_table("t11"), nullptr);
}

class Ddl : public ::testing::Test {
 protected:
  std::unique_ptr<Bank> bank_ = Bank::open({});
  Database& database() { return *bank_->database; }
};

TEST_F(Ddl, TheFirstStatementThatFailsIsNamedAndTheOnesBeforeItStay) {
  auto failed = database().execute_ddl(
      "CREATE TABLE a (x INT NOT NULL, PRIMARY KEY (x));\n"
      "CREATE TABLE a (x INT NOT NULL, PRIMARY KEY (x));\n"
      "CREATE TABLE b (x INT NOT NULL, PRIMARY KEY (x));");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), ErrorCode::kAlreadyExists);
  EXPECT_THAT(failed.error().message, HasSubstr("statement 2"));
  EXPECT_NE(database().catalog().find_table("a"), nullptr);
  EXPECT_EQ(database().catalog().find_table("b"), nullptr);
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM a"), 0);
}

TEST_F(Ddl, TextThatIsNoDdlIsAnError) {
  EXPECT_FALSE(database().execute_ddl("CREATE TABEL x").ok());
  EXPECT_FALSE(database().execute_ddl("SELECT 1").ok());
  EXPECT_TRUE(database().execute_ddl("").ok());
}

TEST_F(Ddl, AUniqueIndexThatRowsForbidChangesNothing) {
  bank_->fill(10);  // all have version 0
  auto failed = database().execute_ddl("CREATE UNIQUE INDEX by_version ON account (version)");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(database().catalog().find_table("account")->indexes.size(), 1u);
  auto done = database().call(bank_->open_account, {.id = 10, .balance = {5}}).get();
  EXPECT_TRUE(done.ok()) << done.error().to_string();
  ASSERT_TRUE(database().execute_ddl("CREATE INDEX by_version ON account (version)").ok());
  expect_equal_replicas(&database());
}

TEST_F(Ddl, AnIndexOnAFilledTableFindsItsRows) {
  bank_->fill(100);
  ASSERT_TRUE(database().execute_ddl("CREATE INDEX by_balance ON account (balance)").ok());
  auto index = database().bind_index<&Account::balance>("by_balance");
  ASSERT_TRUE(index.ok());
  auto count = database().register_procedure<AccountArguments, TransferReply>(
      "count_by_balance",
      [index = *index](Transaction& txn,
                       const AccountArguments& arguments) -> base::Result<TransferReply> {
        auto rows =
            txn.scan<&Account::id>(index, oltp::prefix(index, arguments.balance), {},
                                   [](const RowHandle&, int32_t) { return ScanStep::kContinue; });
        if (!rows) return rows.error();
        return TransferReply{static_cast<int64_t>(*rows)};
      });
  ASSERT_TRUE(count.ok());
  auto found = database().call(*count, {.id = 0, .balance = {10'000}}).get();
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  EXPECT_EQ(found->left_cents, 100);
}

TEST_F(Ddl, RunsWhileBothSidesRun) {
  bank_->fill(50);
  std::thread caller([&] {
    for (int i = 0; i < 300; ++i) {
      auto done =
          database().call(bank_->transfer, {.from = i % 50, .to = (i + 1) % 50, .cents = 1});
      EXPECT_TRUE(done.get().ok());
    }
  });
  std::thread querier([&] {
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(*bank_->number("SELECT sum(balance) FROM account"), 50 * 10'000);
    }
  });
  for (int i = 0; i < 10; ++i) {
    const std::string table = "t" + std::to_string(i);
    ASSERT_TRUE(database()
                    .execute_ddl("CREATE TABLE " + table +
                                 " (x INT NOT NULL, PRIMARY KEY (x));"
                                 "CREATE INDEX i" +
                                 table + " ON " + table + " (x)")
                    .ok());
    EXPECT_EQ(*bank_->number("SELECT count(*) FROM " + table), 0);
  }
  caller.join();
  querier.join();
  expect_equal_replicas(&database());
}

// Each catalog that was published stays until the database goes.
TEST(DatabaseDdl, ThatDoesNothingLeavesNoCatalogBehind) {
  const auto bank = Bank::open({});
  const base::Catalog* const before = &bank->database->catalog();
  EXPECT_FALSE(bank->database->execute_ddl(kBankDdl).ok());
  EXPECT_EQ(&bank->database->catalog(), before);
  ASSERT_TRUE(bank->database->execute_ddl("CREATE INDEX v ON account (version)").ok());
  EXPECT_NE(&bank->database->catalog(), before);
}

// What stays for references to it is small, however many statements come, each with its catalog.
TEST(DatabaseDdl, CatalogsShareTheTablesThatDdlDidNotChange) {
  const auto bank = Bank::open({});
  const base::Catalog& first = bank->database->catalog();
  ASSERT_TRUE(bank->database->execute_ddl("CREATE TABLE t (id INT PRIMARY KEY)").ok());
  const base::Catalog& second = bank->database->catalog();
  EXPECT_EQ(first.table_count(), 1U);
  EXPECT_EQ(second.find_table("account"), first.find_table("account"));
  ASSERT_TRUE(bank->database->execute_ddl("CREATE INDEX v ON account (version)").ok());
  const base::Catalog& third = bank->database->catalog();
  EXPECT_EQ(third.find_table("t"), second.find_table("t"));
  EXPECT_EQ(first.find_table("account")->indexes.size(), 1U);
  EXPECT_EQ(third.find_table("account")->indexes.size(), 2U);
}

}  // namespace
}  // namespace diptych::dispatcher
