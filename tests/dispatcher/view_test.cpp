// Views in a database: what CREATE, CREATE OR REPLACE and DROP VIEW have done is there after a
// close, a crash and a restore, in an order in which each can be made.

#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/backup.h"
#include "dispatcher/database_inspection.h"
#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class View : public DirectoryFixture {
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
  static std::vector<std::string> views(const base::Catalog& catalog) {
    std::vector<std::string> names;
    for (const base::Catalog::ViewPtr& view : catalog.views()) names.push_back(view->name);
    return names;
  }
  static void bump(Bank* bank, int32_t id) {
    ASSERT_TRUE(bank->database->call(bank->bump, {id, {}}).get().ok());
  }
  storage::Manifest manifest() const { return *storage::read_manifest(path()); }
};

constexpr const char* kRich = "CREATE VIEW rich AS SELECT id, version FROM account WHERE id >= 50";
constexpr const char* kCounted = "CREATE VIEW counted (n) AS SELECT count(*) FROM rich";

TEST_F(View, IsThereAfterACrashAndAClose) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical, LogMode::kNone}) {
    SCOPED_TRACE(to_string(mode));
    std::filesystem::remove_all(path());
    Bank::open(options(mode));  // discard() would take a new one away
    {
      auto bank = Bank::open(options(mode));
      bank->fill(100);
      ASSERT_TRUE(bank->database->save().ok());
      const base::Vid saved = manifest().vid;
      bump(bank.get(), 60);
      ddl(bank.get(), std::string(kRich) + ";" + kCounted);
      EXPECT_EQ(*bank->number("SELECT n FROM counted"), 50);
      bump(bank.get(), 60);
      EXPECT_EQ(*bank->number("SELECT version FROM rich WHERE id = 60"), 2);
      if (mode == LogMode::kNone) {
        ASSERT_TRUE(bank->database->close().ok());
      } else {
        EXPECT_EQ(manifest().vid, saved) << "no row was saved for it";
        ASSERT_TRUE(bank->database->discard().ok());  // as a crash
      }
    }
    EXPECT_THAT(manifest().ddl, ElementsAre(kBankDdl, kRich, kCounted));
    EXPECT_THAT(views(*catalog_of(path(), manifest())), ElementsAre("rich", "counted"));
    for (int opening = 0; opening < 2; ++opening) {
      auto bank = Bank::open(options(mode));
      EXPECT_THAT(views(bank->database->catalog()), ElementsAre("rich", "counted"));
      EXPECT_EQ(*bank->number("SELECT n FROM counted"), 50);
      EXPECT_EQ(*bank->number("SELECT version FROM rich WHERE id = 60"), 2);
      expect_equal_replicas(bank->database.get());
    }
  }
}

// The one that is replaced uses what came after those that use it.
TEST_F(View, OneThatIsReplacedStandsBehindWhatItUses) {
  const std::string late = "CREATE TABLE late (id INT PRIMARY KEY, version BIGINT)";
  const std::string middle = "CREATE VIEW middle AS SELECT id FROM late";
  const std::string replaced =
      "CREATE OR REPLACE VIEW rich AS SELECT l.id, l.version FROM late l JOIN middle USING (id)";
  Bank::open(options());  // as above
  {
    auto bank = Bank::open(options());
    bank->fill(100);
    ddl(bank.get(), std::string(kRich) + ";" + kCounted);
    ASSERT_TRUE(bank->database->save().ok());
    ddl(bank.get(), late);
    ddl(bank.get(), middle);
    ddl(bank.get(), "CREATE VIEW other AS SELECT 1 AS one");
    const base::Vid saved = manifest().vid;
    ddl(bank.get(), replaced);
    ddl(bank.get(), "DROP VIEW other");
    EXPECT_EQ(manifest().vid, saved);
    EXPECT_EQ(*bank->number("SELECT n FROM counted"), 0);
    EXPECT_THAT(refusal(bank.get(), "DROP TABLE late"), HasSubstr("view \"middle\" uses it"));
    ASSERT_TRUE(bank->database->discard().ok());  // as a crash
  }
  EXPECT_THAT(manifest().ddl, ElementsAre(kBankDdl, late, middle, replaced, kCounted));
  auto bank = Bank::open(options());
  EXPECT_THAT(views(bank->database->catalog()), ElementsAre("middle", "rich", "counted"));
  EXPECT_EQ(*bank->number("SELECT n FROM counted"), 0);
  // The table that it used before goes, with what may be saved of it.
  ddl(bank.get(), "DROP TABLE account");
  ASSERT_TRUE(bank->database->close().ok());
  EXPECT_THAT(manifest().ddl, ElementsAre("", late, middle, replaced, kCounted));
}

// Nothing is left of it, and a name can be a table's and a view's in turns.
TEST_F(View, OneThatHasGoneLeavesNothing) {
  auto bank = Bank::open(options());
  bank->fill(10);
  for (int i = 0; i < 20; ++i) {
    ddl(bank.get(), "CREATE OR REPLACE VIEW kept AS SELECT id FROM account");
    ddl(bank.get(), std::string(kRich) + ";" + kCounted);
    EXPECT_THAT(refusal(bank.get(), "DROP VIEW rich"), HasSubstr("2BP01"));
    ddl(bank.get(), "DROP VIEW rich, counted; CREATE TABLE rich (id INT PRIMARY KEY)");
    EXPECT_THAT(refusal(bank.get(), kRich), HasSubstr("42P07"));
    ddl(bank.get(), "DROP TABLE rich");
  }
  std::vector<std::string> expected(21);
  expected[0] = kBankDdl;
  std::vector<std::string> statements = manifest().ddl;
  EXPECT_EQ(std::erase(statements, "CREATE OR REPLACE VIEW kept AS SELECT id FROM account"), 1U);
  EXPECT_EQ(statements, expected);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM information_schema.views WHERE table_schema = "
                          "'public' AND view_definition IS NOT NULL"),
            1);
}

TEST_F(View, SystemTablesAndTheirNamesAreRefused) {
  auto bank = Bank::open({});
  EXPECT_EQ(refusal(bank.get(), "CREATE VIEW diptych_metrics AS SELECT 1"),
            "42939 statement 1 (CREATE VIEW diptych_metrics AS SELECT 1): the name "
            "\"diptych_metrics\" is reserved: it is a table of the system's");
  EXPECT_THAT(
      refusal(bank.get(), "CREATE VIEW m AS SELECT * FROM diptych_metrics"),
      HasSubstr("0A000 statement 1 (CREATE VIEW m AS SELECT * FROM diptych_metrics): a view "
                "of a system table is not supported yet (line 1, column 32"));
}

// What was done before stays, and its place is that of the script.
TEST_F(View, AScriptThatFailsKeepsWhatCameBefore) {
  auto bank = Bank::open(options());
  EXPECT_THAT(refusal(bank.get(), std::string(kRich) + ";\nCREATE VIEW v AS SELECT idd FROM rich"),
              HasSubstr("(line 2, column 25: \"idd\")"));
  EXPECT_THAT(views(bank->database->catalog()), ElementsAre("rich"));
  EXPECT_EQ(manifest().ddl.size(), 2U);
}

TEST_F(View, IsRefusedToCallsUntilTheManifestHasIt) {
  std::atomic<bool> fails{false};
  DatabaseOptions with = options();
  with.faults.before_step = refuse_while(fails, storage::FileStep::kRename);
  Bank::open(options());  // as above
  {
    auto bank = Bank::open(with);
    bank->fill(10);
    fails = true;
    EXPECT_THAT(refusal(bank.get(), kRich), HasSubstr("could not be saved"));
    fails = false;
    ASSERT_TRUE(bank->database->save().ok());
    bump(bank.get(), 1);
    ASSERT_TRUE(bank->database->discard().ok());  // as a crash
  }
  EXPECT_THAT(manifest().ddl, ElementsAre(kBankDdl, kRich));
}

TEST_F(View, IsInABackupAndInWhatIsRestoredOfIt) {
  Bank::open(options())->fill(100);
  {
    auto bank = Bank::open(options());
    for (int i = 0; i < 10; ++i) bump(bank.get(), 60);
    ddl(bank.get(), std::string(kRich) + ";" + kCounted);
    for (int i = 0; i < 10; ++i) bump(bank.get(), 60);
    const auto backup = bank->database->backup(path("backup"));
    ASSERT_TRUE(backup.ok()) << backup.error().to_string();
    ASSERT_TRUE(bank->database->close().ok());
  }
  const base::Vid last = manifest().vid;
  for (const uint64_t back : {0U, 5U}) {
    std::filesystem::remove_all(path("restored"));
    const auto restored =
        restore_database(path("backup"), path("restored"), base::Vid(last.value - back));
    ASSERT_TRUE(restored.ok()) << restored.error().to_string();
    auto bank = Bank::open({.path = path("restored"), .mode = OpenMode::kOpen});
    EXPECT_EQ(*bank->number("SELECT n FROM counted"), 50);
    EXPECT_EQ(*bank->number("SELECT version FROM rich WHERE id = 60"),
              static_cast<int64_t>(20 - back));
    EXPECT_THAT(views(bank->database->catalog()), ElementsAre("rich", "counted"));
  }
}

TEST_F(View, AManifestOfAnOlderProgramIsRead) {
  Bank::open(options())->fill(50);
  storage::Manifest older = manifest();
  older.format = 3;
  ASSERT_TRUE(storage::write_manifest(path(), older).ok());
  auto bank = Bank::open(options());
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 50);
  ddl(bank.get(), kRich);
  EXPECT_EQ(manifest().format, 4U);
}

}  // namespace
}  // namespace diptych::dispatcher
