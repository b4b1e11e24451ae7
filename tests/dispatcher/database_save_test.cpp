// A database at a path: saved, reopened, and what happens when the disk does not play along.

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

// One column of every type, with and without nulls.
struct Everything {
  int32_t id = 0;
  base::Nullable<int32_t> small;
  base::Nullable<int64_t> big;
  base::Nullable<base::Decimal<12, 2>> money;
  base::Nullable<double> real;
  base::Nullable<bool> flag;
  base::Nullable<base::Date> day;
  base::Nullable<base::Timestamp> moment;
  base::Nullable<base::Char<5>> code;
  base::Nullable<base::Varchar<20>> name;
  base::Nullable<base::Varchar<500>> note;
  base::Text story;
};
BOOST_DESCRIBE_STRUCT(Everything, (),
                      (id, small, big, money, real, flag, day, moment, code, name, note, story))

constexpr const char* kEverythingDdl =
    "CREATE TABLE everything (id INT NOT NULL, small INT, big BIGINT, money DECIMAL(12,2), "
    "real DOUBLE PRECISION, flag BOOLEAN, day DATE, moment TIMESTAMP, code CHAR(5), "
    "name VARCHAR(20), note VARCHAR(500), story TEXT NOT NULL, PRIMARY KEY (id));"
    "CREATE INDEX everything_by_name ON everything (name, id);";

// The strings that row i's long cells point at.
struct Strings {
  std::vector<std::string> notes, stories;
  explicit Strings(int32_t rows) {
    for (int32_t i = 0; i < rows; ++i) {
      notes.push_back(std::string(static_cast<size_t>(i % 490), 'n') + std::to_string(i));
      stories.push_back(std::string(static_cast<size_t>(i % 3000), 's') + std::to_string(i));
    }
  }
};

Everything row_of(int32_t i, const Strings& strings) {
  Everything row;
  row.id = i;
  row.story = base::Text(strings.stories[static_cast<size_t>(i)]);
  if (i % 3 == 0) return row;  // all the rest is null
  row.small = i * 7;
  row.big = int64_t{i} << 33;
  row.money = base::Decimal<12, 2>{i * 101};
  row.real = i / 3.0;
  row.flag = i % 2 == 0;
  row.day = base::Date{i};
  row.moment = base::Timestamp{int64_t{i} * 1'000'003};
  row.code = base::Char<5>(std::to_string(i % 1'000));
  row.name = base::Varchar<20>("name " + std::to_string(i % 10));
  row.note = base::Varchar<500>(strings.notes[static_cast<size_t>(i)]);
  return row;
}

struct IdArguments {
  int32_t id = 0;
};

class Saved : public DirectoryFixture {
 protected:
  static constexpr int32_t kRows = 3'000;

  void load_everything(Database* database) {
    const Strings strings(kRows);
    std::vector<Everything> rows;
    for (int32_t i = 0; i < kRows; ++i) rows.push_back(row_of(i, strings));
    size_t given = 0;
    auto loaded =
        database->load(database->catalog().find_table("everything")->id, [&]() -> RowBatch {
          const size_t first = given;
          given = std::min<size_t>(given + 1'000, rows.size());
          return {reinterpret_cast<const std::byte*>(rows.data() + first), given - first};
        });
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  }

  // Deletes the rows whose id is divisible by five.
  void delete_fifths(Database* database) {
    auto index = *database->bind_index<&Everything::id>("everything_pkey");
    auto erase = *database->register_procedure<IdArguments, oltp::Nothing>(
        "erase",
        [index](Transaction& txn, const IdArguments& arguments) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Everything::id>(index, arguments.id);
          if (!row) return row.error();
          txn.erase(*row);
          return oltp::Nothing{};
        });
    for (int32_t id = 0; id < kRows; id += 5) {
      ASSERT_TRUE(database->call(erase, {id}).get().ok());
    }
  }

  static std::string all_rows(Database* database) {
    auto result = database->query("SELECT * FROM everything ORDER BY id");
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    if (!result) return "";
    std::string text;
    for (const auto& row : result->rows) {
      for (const base::Value& value : row) text += base::to_string(value) + "|";
      text += "\n";
    }
    return text;
  }
};

TEST_F(Saved, EveryTypeNullLongStringAndDeleteComesBack) {
  std::string before;
  base::Vid vid;
  {
    auto database = *Database::open({.path = path()});
    ASSERT_TRUE(database->execute_ddl(kEverythingDdl).ok());
    load_everything(database.get());
    delete_fifths(database.get());
    expect_equal_replicas(database.get());
    before = all_rows(database.get());
    vid = database->metrics().last_vid;
    auto closed = database->close();
    ASSERT_TRUE(closed.ok()) << closed.error().to_string();
  }
  auto database = *Database::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(all_rows(database.get()), before);
  EXPECT_EQ(database->metrics().last_vid, vid);
  EXPECT_EQ(database->metrics().replica_vid, vid);
  expect_equal_replicas(database.get());
}

TEST_F(Saved, AfterReopeningIndexesFindRowsAndRowIdsAreReusedProperly) {
  {
    auto database = *Database::open({.path = path()});
    ASSERT_TRUE(database->execute_ddl(kEverythingDdl).ok());
    load_everything(database.get());
    delete_fifths(database.get());
  }
  auto database = *Database::open({.path = path(), .mode = OpenMode::kOpen});
  auto table = *database->bind_table<Everything>("everything");
  auto by_name = *database->bind_index<&Everything::name, &Everything::id>("everything_by_name");
  auto count = *database->register_procedure<IdArguments, IdArguments>(
      "count", [by_name](Transaction& txn, const IdArguments&) -> base::Result<IdArguments> {
        const base::Nullable<base::Varchar<20>> name(base::Varchar<20>("name 7"));
        auto rows = txn.scan<&Everything::id>(
            by_name, prefix(by_name, name), {},
            [](const RowHandle&, int32_t) { return ScanStep::kContinue; });
        if (!rows) return rows.error();
        return IdArguments{static_cast<int32_t>(*rows)};
      });
  const auto expected = [] {
    int32_t rows = 0;
    for (int32_t i = 0; i < kRows; ++i) rows += i % 3 != 0 && i % 5 != 0 && i % 10 == 7 ? 1 : 0;
    return rows;
  }();
  EXPECT_EQ(database->call(count, {}).get()->id, expected);
  // Fills the freed RowIDs, and more.
  const Strings strings(kRows);
  auto insert = *database->register_procedure<IdArguments, oltp::Nothing>(
      "insert",
      [table, &strings](Transaction& txn,
                        const IdArguments& arguments) -> base::Result<oltp::Nothing> {
        Everything row = row_of(arguments.id % kRows, strings);
        row.id = arguments.id;
        auto inserted = txn.insert(table, row);
        if (!inserted) return inserted.error();
        return oltp::Nothing{};
      });
  for (int32_t id = 0; id < kRows; id += 5) {
    auto inserted = database->call(insert, {id}).get();
    ASSERT_TRUE(inserted.ok()) << inserted.error().to_string();
  }
  EXPECT_EQ(database->call(insert, {1}).get().code(), ErrorCode::kAlreadyExists);
  for (int32_t id = kRows; id < kRows + 500; ++id) {
    ASSERT_TRUE(database->call(insert, {id}).get().ok());
  }
  expect_equal_replicas(database.get());
  auto rows = database->query("SELECT count(*), count(DISTINCT id) FROM everything");
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(std::get<int64_t>(rows->rows[0][0]), kRows + 500);
  EXPECT_EQ(std::get<int64_t>(rows->rows[0][1]), kRows + 500);
}

TEST_F(Saved, ColumnGroupsComeBack) {
  {
    auto database = *Database::open({.path = path()});
    auto created = database->execute_ddl(
        "CREATE TABLE t (id INT PRIMARY KEY, a BIGINT, b BIGINT) WITH (column_groups = '(a) (b)')");
    ASSERT_TRUE(created.ok()) << created.error().to_string();
  }
  auto database = *Database::open({.path = path(), .mode = OpenMode::kOpen});
  const auto& groups = database->catalog().find_table("t")->column_groups;
  EXPECT_THAT(groups, ::testing::ElementsAre(std::vector{base::ColumnId(1)},
                                             std::vector{base::ColumnId(2)}));
  const auto index = database->execute_ddl("CREATE INDEX by_a ON t (a)");
  ASSERT_FALSE(index.ok());
  EXPECT_THAT(index.error().message, HasSubstr("cannot be in a column group"));
}

TEST_F(Saved, WhatCommittedAfterASaveAndBeforeCloseIsThere) {
  {
    auto bank = Bank::open({.path = path()});
    bank->fill(10);
    ASSERT_TRUE(bank->database->save().ok());
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 1);
}

TEST_F(Saved, CloseWritesNothingWhenNothingChanged) {
  Bank::open({.path = path()})->fill(10);
  const auto written = std::filesystem::last_write_time(path() + "/manifest.json");
  {
    auto bank = Bank::open({.path = path()});
    EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 10);
  }
  EXPECT_EQ(std::filesystem::last_write_time(path() + "/manifest.json"), written);
}

TEST_F(Saved, DdlAloneIsAChange) {
  { Bank::open({.path = path()}); }
  auto database = *Database::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_NE(database->catalog().find_table("account"), nullptr);
}

TEST_F(Saved, WithoutALogDiscardingKeepsWhatWasSavedLast) {
  Bank::open({.path = path()})->fill(10);
  {
    auto bank = Bank::open({.path = path(), .log = LogMode::kNone});
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
    static_cast<void>(bank->database->discard());
    EXPECT_EQ(bank->database->query("SELECT 1").code(), ErrorCode::kClosed);
    EXPECT_EQ(bank->database->close().code(), ErrorCode::kClosed);
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 0);
}

TEST_F(Saved, DiscardingADatabaseThatOpenMadeLeavesWhatWasThere) {
  ASSERT_TRUE(Bank::open({.path = path()})->database->discard().ok());
  EXPECT_FALSE(std::filesystem::exists(path()));

  std::filesystem::create_directory(path());
  auto bank = Bank::open({.path = path()});
  bank->fill(10);
  ASSERT_TRUE(bank->database->save().ok());
  static_cast<void>(bank->database->discard());
  EXPECT_TRUE(std::filesystem::is_empty(path()));
}

TEST_F(Saved, DiscardingADatabaseThatWasMadeGivesUpWhatItSavedToo) {
  for (const auto save : {&Database::save, &Database::checkpoint}) {
    auto bank = Bank::open({.path = path()});
    bank->fill(10);
    ASSERT_TRUE((bank->database.get()->*save)().ok());
    ASSERT_TRUE(bank->database->discard().ok());
    EXPECT_FALSE(std::filesystem::exists(path()));
  }
}

TEST_F(Saved, DiscardingADatabaseThatWasThereLeavesItAsACrashWould) {
  Bank::open({.path = path()})->fill(10);
  {
    auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
    ASSERT_TRUE(bank->database->discard().ok());
  }
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  ASSERT_NE(bank, nullptr);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
}

TEST_F(Saved, APathWithAZeroByteIsRefusedAndNotCutThere) {
  const std::string cut = path() + std::string(1, '\0') + "else";
  const auto opened = Database::open({.path = cut});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().to_string(),
            "invalid argument: the path has a 0 byte, behind \"" + path() + "\"");
  EXPECT_FALSE(std::filesystem::exists(path()));
  const auto bank = Bank::open({.path = path()});
  EXPECT_EQ(bank->database->backup(path("copy") + cut).code(), ErrorCode::kInvalidArgument);
}

// A limit on file sizes stands for a full disk: writes beyond it fail. In a child process, since
// the limit is the process's.
void expect_full_disk_to_be_survived(const std::string& path) {
  auto bank = Bank::open({.path = path});
  bank->fill(20'000);
  ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit tight = before;
  tight.rlim_cur = 4'096;
  ::setrlimit(RLIMIT_FSIZE, &tight);
  auto failed = bank->database->close();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(failed.error().message, HasSubstr(path));
  EXPECT_EQ(bank->database->query("SELECT 1").code(), ErrorCode::kClosed);
  ::setrlimit(RLIMIT_FSIZE, &before);
  auto retried = bank->database->close();
  EXPECT_TRUE(retried.ok()) << retried.error().to_string();
}

TEST_F(Saved, AFullDiskOnCloseKeepsTheOldStateAndCloseCanBeTriedAgain) {
  Bank::open({.path = path()})->fill(0);
  const pid_t child = ::fork();
  if (child == 0) {
    expect_full_disk_to_be_survived(path());
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 20'000);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
}

TEST_F(Saved, AFailedCloseIsReportedOnce) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto bank = Bank::open({.path = path()});
    bank->fill(20'000);
    static_cast<void>(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get());
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{4'096, 4'096};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    bool silent = !bank->database->close().ok();
    ::testing::internal::CaptureStderr();
    bank.reset();
    silent = silent && ::testing::internal::GetCapturedStderr().empty();
    ::_exit(silent ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Saved, AFullDiskWhileADatabaseIsMadeLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    auto failed = Database::open({.path = path()});
    const bool clear = failed.code() == ErrorCode::kNoSpace &&
                       failed.error().message.find(path()) != std::string::npos;
    ::_exit(clear ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Saved, AFullDiskThatStaysFullLosesNothingThatWasAcknowledged) {
  Bank::open({.path = path()})->fill(100);
  const pid_t child = ::fork();
  if (child == 0) {
    {
      auto bank = Bank::open({.path = path()});
      for (int32_t id = 0; id < 100; ++id) {
        static_cast<void>(bank->database->call(bank->bump, {.id = id, .balance = {}}).get());
      }
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit tight{64, 64};
      ::setrlimit(RLIMIT_FSIZE, &tight);
    }  // the destructor reports on standard error, and gives up
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 100);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 100);
  expect_equal_replicas(bank->database.get());
}

}  // namespace
}  // namespace diptych::dispatcher
