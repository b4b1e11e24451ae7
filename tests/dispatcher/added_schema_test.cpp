// DDL that only adds, which the manifest alone gets: saved state and log stay as they are. And what
// remains of a schema that comes and goes.

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Mark {
  int32_t id = 0;
  int32_t kind = 0;
};
BOOST_DESCRIBE_STRUCT(Mark, (), (id, kind))

constexpr const char* kMarkDdl = "CREATE TABLE mark (id INT PRIMARY KEY, kind INT NOT NULL)";

class AddedSchema : public DirectoryFixture {
 protected:
  DatabaseOptions options(LogMode mode = LogMode::kCommand) const {
    return {.path = path(), .log = mode};
  }
  static void ddl(Database* database, const std::string& script) {
    auto done = database->execute_ddl(script);
    ASSERT_TRUE(done.ok()) << done.error().to_string();
  }
  static void bump(Bank* bank, int32_t id) {
    ASSERT_TRUE(bank->database->call(bank->bump, {id, {}}).get().ok());
  }
  storage::Manifest manifest() const { return *storage::read_manifest(path()); }
  // In a procedure of its own: sets a mark, or takes it away.
  static ProcedureRef<Mark, oltp::Nothing> marker(Database* database) {
    const auto table = *database->bind_table<Mark>("mark");
    const auto by_id = *database->bind_index<&Mark::id>("mark_pkey");
    return *database->register_procedure<Mark, oltp::Nothing>(
        "mark", [=](Transaction& txn, const Mark& mark) -> base::Result<oltp::Nothing> {
          if (mark.kind != 0) {
            auto row = txn.insert(table, mark);
            if (!row) return row.error();
            return oltp::Nothing{};
          }
          auto row = txn.get_for_update<&Mark::kind>(by_id, mark.id);
          if (!row) return row.error();
          txn.erase(*row);
          return oltp::Nothing{};
        });
  }
};

TEST_F(AddedSchema, IsInTheManifestWhoseStateStaysAndInWhatTheLogMakesOfIt) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical}) {
    SCOPED_TRACE(to_string(mode));
    std::filesystem::remove_all(path());
    Bank::open(options(mode));  // discard() would take a new one away
    {
      auto bank = Bank::open(options(mode));
      bank->fill(100);
      for (int32_t id = 0; id < 20; ++id) bump(bank.get(), id);
      const base::Vid saved = manifest().vid;
      EXPECT_LT(saved, base::Vid(bank->database->metrics().last_vid));
      ddl(bank->database.get(), std::string(kMarkDdl) +
                                    "; CREATE UNIQUE INDEX by_kind ON mark (kind, id);"
                                    "CREATE INDEX by_version ON account (version)");
      EXPECT_EQ(manifest().vid, saved);
      EXPECT_EQ(manifest().ddl.size(), 4U);
      const auto mark = marker(bank->database.get());
      for (int32_t id = 0; id < 10; ++id) {
        bump(bank.get(), id);
        ASSERT_TRUE(bank->database->call(mark, {id, 7}).get().ok());
      }
      EXPECT_EQ(*bank->number("SELECT count(*) FROM mark"), 10);
      expect_equal_replicas(bank->database.get());
      ASSERT_TRUE(bank->database->discard().ok());  // as a crash
    }
    for (int opening = 0; opening < 2; ++opening) {
      auto bank = Bank::open(options(mode));
      const auto mark = marker(bank->database.get());
      EXPECT_EQ(*bank->number("SELECT sum(kind) FROM mark"), 70);
      EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 30);
      EXPECT_TRUE((bank->database->bind_index<&Account::version>("by_version").ok()));
      EXPECT_EQ(bank->database->call(mark, {3, 7}).get().code(), ErrorCode::kAlreadyExists);
      expect_equal_replicas(bank->database.get());
      ASSERT_TRUE(bank->database->rebuild_primary().ok());
      expect_equal_replicas(bank->database.get());
    }
  }
}

// What a unique index would have refused on the way was there before it: its replay is not to meet
// it.
TEST_F(AddedSchema, AnIndexThatMayRefuseARowOfBeforeIsSavedWithTheRows) {
  struct Case {
    const char* index;
    bool adds;
  };
  const Case cases[] = {
      {"CREATE UNIQUE INDEX by_kind ON mark (kind)", false},
      {"CREATE INDEX by_note ON note (text)", false},
      {"CREATE INDEX by_short ON note (short)", true},
      {"CREATE INDEX by_long ON note (short, long)", false},
      {"CREATE TABLE more (id INT PRIMARY KEY, text TEXT NOT NULL); CREATE UNIQUE INDEX by_text ON "
       "more (text)",
       true},
      {"CREATE TABLE more (id INT PRIMARY KEY); DROP TABLE note", false},
      {"CREATE TABLE more (id INT PRIMARY KEY); TRUNCATE note", false},
      {"CREATE TABLE IF NOT EXISTS mark (id INT PRIMARY KEY)", true},
      {"CREATE VIEW kinds AS SELECT kind FROM mark; CREATE OR REPLACE VIEW kinds AS SELECT kind "
       "FROM "
       "mark; DROP VIEW kinds",
       true},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.index);
    std::filesystem::remove_all(path());
    Bank::open(options());  // as above
    {
      auto bank = Bank::open(options());
      ddl(bank->database.get(), std::string(kMarkDdl) +
                                    "; CREATE TABLE note (id INT PRIMARY KEY, text TEXT NOT NULL,"
                                    " short VARCHAR(100), long VARCHAR(100))");
      const auto mark = marker(bank->database.get());
      const base::Vid saved = manifest().vid;
      for (const Mark& each_mark : {Mark{1, 5}, Mark{2, 5}, Mark{1, 0}, Mark{3, 6}}) {
        ASSERT_TRUE(bank->database->call(mark, each_mark).get().ok());
      }
      ASSERT_EQ(manifest().vid, saved);
      ddl(bank->database.get(), each.index);
      EXPECT_EQ(manifest().vid == saved, each.adds);
      ASSERT_TRUE(bank->database->discard().ok());  // as a crash
    }
    auto bank = Bank::open(options());
    marker(bank->database.get());
    EXPECT_EQ(*bank->number("SELECT sum(kind) FROM mark"), 11);
    expect_equal_replicas(bank->database.get());
  }
}

TEST_F(AddedSchema, IsRefusedToCallsUntilTheManifestHasIt) {
  std::atomic<bool> fails{false};
  DatabaseOptions with = options();
  with.faults.before_step = refuse_while(fails, storage::FileStep::kRename);
  Bank::open(options());  // as above
  {
    auto bank = Bank::open(with);
    bank->fill(10);
    bump(bank.get(), 1);
    const base::Vid saved = manifest().vid;
    fails = true;
    const auto refused = bank->database->execute_ddl(kMarkDdl);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("could not be saved"));
    EXPECT_FALSE(bank->database->call(bank->bump, {1, {}}).get().ok());
    fails = false;
    // What the one before lacks, this one cannot add.
    ddl(bank->database.get(), "CREATE INDEX by_version ON account (version)");
    EXPECT_GT(manifest().vid, saved);
    EXPECT_EQ(manifest().ddl.size(), 3U);
    bump(bank.get(), 1);
    ASSERT_TRUE(bank->database->discard().ok());  // as a crash
  }
  auto bank = Bank::open(options());
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 2);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM mark"), 0);
}

// A schema that comes and goes leaves an id for each table, and nothing of its indexes.
TEST_F(AddedSchema, ThatHasGoneLeavesLittle) {
  const auto indexed = [](int i) {
    return fmt::format(
        "CREATE TABLE staged (id INT PRIMARY KEY, {} INT NOT NULL, parent INT NOT NULL,"
        " FOREIGN KEY (parent) REFERENCES account (id));"
        "CREATE INDEX by_parent ON staged (parent); CREATE UNIQUE INDEX by_{} ON staged ({});",
        std::string(50, 'x'), i, std::string(50, 'x'));
  };
  constexpr int kTables = 60;
  auto bank = Bank::open(options());
  bank->fill(100);
  ASSERT_TRUE(bank->database->save().ok());
  const uint64_t before = std::filesystem::file_size(path() + "/manifest.json");
  for (int i = 0; i < kTables; ++i) {
    ddl(bank->database.get(), indexed(i) + "DROP INDEX by_parent;");
    ddl(bank->database.get(),
        fmt::format("DROP INDEX by_{};"
                    "CREATE INDEX of_version ON account (version); DROP INDEX of_version;"
                    "DROP TABLE staged",
                    i));
  }
  std::vector<std::string> expected(kTables + 1);
  expected[0] = kBankDdl;
  EXPECT_EQ(manifest().ddl, expected);
  EXPECT_LT(std::filesystem::file_size(path() + "/manifest.json"),
            before + kTables * storage::kDroppedTableBytes);
  // Nor anything of what the catalogs' readers see.
  EXPECT_EQ(bank->database->catalog().table_count(), kTables + 1U);
  ddl(bank->database.get(), indexed(0));
  EXPECT_EQ(bank->database->catalog().find_table("staged")->id, base::TableId(kTables + 1));
  ASSERT_TRUE(bank->database->close().ok());
  bank = Bank::open(options());
  EXPECT_EQ(bank->database->catalog().find_table("staged")->id, base::TableId(kTables + 1));
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 100);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM staged"), 0);
  expect_equal_replicas(bank->database.get());
}

// The foreign key was declared while another index than today's was its parent's key.
TEST_F(AddedSchema, AnIndexThatAForeignKeyNeededStaysInTheManifestWithItsDrop) {
  {
    auto bank = Bank::open(options());
    ddl(bank->database.get(),
        "CREATE TABLE owner (id INT PRIMARY KEY, code INT NOT NULL);"
        "CREATE UNIQUE INDEX \"first \"\"code\" ON owner (code);"
        "CREATE TABLE card (id INT PRIMARY KEY, code INT REFERENCES owner (code));"
        "CREATE UNIQUE INDEX second_code ON owner (code);"
        "DROP INDEX \"first \"\"code\"");
    EXPECT_EQ(manifest().ddl.size(), 6U);
    ASSERT_TRUE(bank->database->close().ok());
  }
  auto bank = Bank::open(options());
  EXPECT_FALSE(bank->database->catalog().has_index("first \"code"));
  ddl(bank->database.get(), "DROP TABLE card, owner");
  EXPECT_THAT(manifest().ddl, ElementsAre(kBankDdl, "", ""));
}

// Of format 2: dropped tables have their statements, and an empty directory.
TEST_F(AddedSchema, AManifestOfAnOlderProgramIsRead) {
  {
    auto bank = Bank::open(options());
    bank->fill(50);
    ddl(bank->database.get(), kMarkDdl);
    ASSERT_TRUE(bank->database->call(marker(bank->database.get()), {1, 2}).get().ok());
    ASSERT_TRUE(bank->database->close().ok());
  }
  storage::Manifest older = manifest();
  older.format = 2;
  older.tables[1].rows = 1;
  older.ddl.insert(older.ddl.end(), {"CREATE INDEX by_kind ON mark (kind)", "DROP TABLE mark"});
  ASSERT_TRUE(storage::write_manifest(path(), older).ok());
  for (int opening = 0; opening < 2; ++opening) {
    auto bank = Bank::open(options());
    EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 50);
    EXPECT_EQ(bank->database->query("SELECT * FROM mark").error().sqlstate(), "42P01");
    expect_equal_replicas(bank->database.get());
    ddl(bank->database.get(), "CREATE INDEX i ON account (version); DROP INDEX i");
    ASSERT_TRUE(bank->database->close().ok());
    EXPECT_EQ(manifest().format, 4U);
    EXPECT_THAT(manifest().ddl, ElementsAre(kBankDdl, ""));
    EXPECT_EQ(manifest().tables[1].name, "");
  }
}

}  // namespace
}  // namespace diptych::dispatcher
