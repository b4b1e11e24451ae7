// What the soak finds in a database, beside what its callers were told and had asked for.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <boost/describe.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crash/workload.h"
#include "tests/temporary_directory.h"

namespace diptych::crash {
namespace {

using dispatcher::Database;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct SmallRow {
  int32_t a = 0;
  base::Nullable<base::Varchar<20>> b;
};
BOOST_DESCRIBE_STRUCT(SmallRow, (), (a, b))

struct BatchRow {
  int32_t batch = 0;
  int32_t number = 0;
  base::Varchar<40> text;
};
BOOST_DESCRIBE_STRUCT(BatchRow, (), (batch, number, text))

constexpr int32_t kRows = 2000;  // of a batch, and of a table

class SoakCheck : public testing::Test {
 protected:
  SoakCheck() : workload_(make_soak(directory_.path() + "/backup")) {
    dispatcher::DatabaseOptions options = workload_->options();
    options.path = directory_.path() + "/db";
    auto made = Database::open(options);
    EXPECT_TRUE(made && workload_->create(made->get()) && (*made)->close());
    made->reset();
    auto opened = Database::open(options);
    EXPECT_TRUE(opened && workload_->attach(opened->get()) && (*opened)->recover());
    database_ = std::move(*opened);
    first_ = static_cast<int64_t>(database_->catalog().table_count());
  }

  template <typename Row>
  void load(const std::string& table, const std::vector<Row>& rows) {
    bool given = false;
    ASSERT_TRUE(database_->load(
        database_->catalog().find_table(table)->id, [&]() -> base::Result<dispatcher::RowBatch> {
          if (std::exchange(given, true)) return dispatcher::RowBatch{};
          return dispatcher::RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
        }));
  }

  void load_batch(int32_t batch) {
    std::vector<BatchRow> rows;
    for (int32_t number = 0; number < kRows; ++number) rows.push_back({batch, number, {"loaded"}});
    load("loaded", rows);
  }

  void create_table(int64_t number) {
    ASSERT_TRUE(database_->execute_ddl(
        fmt::format("CREATE TABLE t{0} (a INT NOT NULL PRIMARY KEY, b VARCHAR(20))", number)));
  }
  void create_index(int64_t number) {
    ASSERT_TRUE(database_->execute_ddl(fmt::format("CREATE INDEX t{0}_b ON t{0} (b, a)", number)));
  }
  void load_table(int64_t number) {
    std::vector<SmallRow> rows;
    for (int32_t a = 0; a < kRows; ++a) rows.push_back({a, base::Varchar<20>("made")});
    load(fmt::format("t{}", number), rows);
  }
  void make_table(int64_t number) {
    create_table(number);
    create_index(number);
    load_table(number);
  }

  // Was told of what was done up to `newest`, and had asked for it up to `asked`.
  static void tell(Told* told, SoakThing what, int64_t newest, int64_t asked) {
    told->newest.at(what) = newest;
    told->asked.at(what) = asked;
  }

  std::vector<std::string> lost(const Told& told) {
    Findings findings;
    EXPECT_TRUE(workload_->check(told, &findings));
    EXPECT_EQ(findings.half_done, 0U);
    EXPECT_EQ(findings.lost, findings.words.size());
    return findings.words;
  }

  test::TemporaryDirectory directory_;
  const std::unique_ptr<Workload> workload_;
  std::unique_ptr<Database> database_;
  int64_t first_ = 0;  // of the tables to be made
};

TEST_F(SoakCheck, ADropThatWasNotAnsweredMayHaveBeenDoneHoweverManyTablesFollow) {
  for (int64_t i = 0; i < 9; ++i) make_table(first_ + i);
  Told told;
  told.newest.at(kSoakTables) = first_ + 8;
  tell(&told, kSoakDrops, 0, first_);
  EXPECT_THAT(lost(told), IsEmpty());
  // A later life asks for nothing, and the drop is as little sure as before.
  EXPECT_THAT(lost(Told{}), IsEmpty());
  ASSERT_TRUE(database_->execute_ddl(fmt::format("DROP TABLE t{}", first_)));
  EXPECT_THAT(lost(Told{}), IsEmpty());
}

TEST_F(SoakCheck, ADropThatWasAnsweredIsLostWhereItsTableIsThere) {
  for (int64_t i = 0; i < 3; ++i) make_table(first_ + i);
  ASSERT_TRUE(database_->execute_ddl(fmt::format("DROP TABLE t{}", first_)));
  Told told;
  told.newest.at(kSoakTables) = first_ + 2;
  tell(&told, kSoakDrops, first_, first_);
  EXPECT_THAT(lost(told), IsEmpty());
  tell(&told, kSoakDrops, first_ + 1, first_ + 1);
  EXPECT_THAT(lost(told),
              ElementsAre(fmt::format("table t{} is there, and was dropped", first_ + 1)));
}

TEST_F(SoakCheck, ATableIsLostThatWasMadeAndNobodyAskedToDrop) {
  for (int64_t i = 0; i < 3; ++i) make_table(first_ + i);
  for (int64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(database_->execute_ddl(fmt::format("DROP TABLE t{}", first_ + i)));
  }
  Told told;
  told.newest.at(kSoakTables) = first_ + 2;
  tell(&told, kSoakDrops, 0, first_);
  EXPECT_THAT(lost(told), ElementsAre(fmt::format("table t{} is not there", first_ + 1)));
}

TEST_F(SoakCheck, ATableThatWasMadeHasItsIndexAndItsRows) {
  create_table(first_);
  load_table(first_);
  create_table(first_ + 1);
  create_index(first_ + 1);
  Told told;
  EXPECT_THAT(lost(told), IsEmpty());
  told.newest.at(kSoakTables) = first_ + 1;
  EXPECT_THAT(lost(told),
              ElementsAre(fmt::format("table t{} has 1 indexes and {} rows", first_, kRows),
                          fmt::format("table t{} has 2 indexes and 0 rows", first_ + 1)));
  create_index(first_);
  load_table(first_ + 1);
  EXPECT_THAT(lost(told), IsEmpty());
}

// As in a backup, which takes so long that many more are erased before its end.
TEST_F(SoakCheck, ErasuresThatWereNotAnsweredMayBeMany) {
  load_batch(5);
  Told told;
  told.newest.at(kSoakLoads) = 5;
  tell(&told, kSoakErasures, 1, 4);
  EXPECT_THAT(lost(told), IsEmpty());
}

TEST_F(SoakCheck, BatchesAreLostThatNobodyAskedToErase) {
  load_batch(5);
  Told told;
  told.newest.at(kSoakLoads) = 6;
  tell(&told, kSoakErasures, 3, 3);
  EXPECT_THAT(lost(told),
              ElementsAre(HasSubstr("batch 5 is the first, 3 was the last"), "batch 6 has 0 rows"));
}

TEST_F(SoakCheck, AnErasureThatWasAnsweredIsLostWhereItsBatchIsThere) {
  load_batch(5);
  Told told;
  told.newest.at(kSoakLoads) = 5;
  tell(&told, kSoakErasures, 5, 5);
  EXPECT_THAT(lost(told), ElementsAre(HasSubstr("batch 5 is there")));
}

// In a process of its own, since a life has no end.
TEST_F(SoakCheck, ALifeEndsWhatTheOneBeforeHadBegun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto live = [&] {
    for (int64_t i = 0; i < 7; ++i) make_table(first_ + i);
    create_table(first_ + 7);
    ASSERT_TRUE(database_->execute_ddl(fmt::format("DROP TABLE t{}", first_)));
    AckBoard board(directory_.path() + "/board", true);
    std::thread([&] {
      static_cast<void>(workload_->run_beside(kSoakTables, 1, &board));
      std::_Exit(2);
    }).detach();
    while (board.told().newest.at(kSoakDrops) < first_ + 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const Told told = board.told();
    EXPECT_EQ(told.newest.at(kSoakTables), first_ + 8);
    EXPECT_THAT(lost(told), IsEmpty());
    std::filesystem::remove_all(directory_.path());
    std::_Exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(live(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace diptych::crash
