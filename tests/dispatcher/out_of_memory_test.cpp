// Memory that runs out at any allocation of a caller of DDL, and of the save that ends it: the
// database is what it was, or what was asked for, and opens, whether or not the process lives on.

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dispatcher/bank_fixture.h"
#include "tests/failing_allocation.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {
namespace {

constexpr const char* kBefore = "CREATE TABLE before (id INT PRIMARY KEY, word VARCHAR(20))";
constexpr const char* kAsked =
    "CREATE TABLE asked (id INT PRIMARY KEY, word VARCHAR(20), amount DECIMAL(10,2));"
    "CREATE INDEX by_word ON asked USING btree (word);"
    "CREATE INDEX before_by_word ON before USING btree (word)";

struct Ended {
  bool alive = false;
  bool done = false;
  bool failed = false;  // an allocation has
  bool closed = false;  // and saved
};

struct Shortage {
  LogMode log;
  test::FailingAllocation::Lasts lasts;
};

class OutOfMemory : public testing::TestWithParam<Shortage> {
 protected:
  std::unique_ptr<Database> open() const {
    auto opened = Database::open({.path = path_, .log = GetParam().log});
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    return opened ? std::move(*opened) : nullptr;
  }

  // In a process of its own, which may end: 16, and what Ended says. Another code: it was wrong.
  int ask(uint64_t number) const {
    const auto database = open();
    if (database == nullptr || !database->execute_ddl(kBefore)) return 1;
    bool done = false;
    bool failed = false;
    {
      const test::FailingAllocation failing(number, GetParam().lasts);
      try {
        const auto created = database->execute_ddl(kAsked);
        done = created.ok();
        if (!done && created.code() != base::ErrorCode::kOutOfMemory) return 2;
      } catch (const std::bad_alloc&) {
      }
      failed = failing.has_failed();
    }
    // Without a log DDL is saved where the database is closed, and that may say that it could not.
    const bool closed = database->close().ok();
    if (GetParam().log == LogMode::kNone) done = done && closed;
    if (done && !closed) return 3;
    return 16 + (done ? 1 : 0) + (failed ? 2 : 0) + (closed ? 4 : 0);
  }

  void ask_in_a_process(uint64_t number, Ended* ended) const {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(ask(number));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ended->failed = true;
    ended->alive = WIFEXITED(status);
    if (!ended->alive) return;
    const int code = WEXITSTATUS(status);
    ASSERT_GE(code, 16) << "what it was told is wrong: " << code;
    ended->done = (code & 1) != 0;
    ended->failed = (code & 2) != 0;
    ended->closed = (code & 4) != 0;
  }

  // As it was asked for, or was before; as it was made, where it has no log and was not closed.
  void expect_whole(const Ended& ended) const {
    const auto database = open();
    ASSERT_NE(database, nullptr);
    const size_t tables = database->catalog().table_count();
    const bool unsaved = GetParam().log == LogMode::kNone && !ended.closed && tables == 0;
    ASSERT_TRUE(tables == 2 || (tables == 1 && !ended.done) || unsaved) << tables;
    for (const base::TableSchema& table : database->catalog().tables()) {
      const auto counted = database->query("SELECT count(*) FROM " + table.name);
      ASSERT_TRUE(counted.ok()) << counted.error().to_string();
    }
    const auto compared = database->compare_replicas();
    ASSERT_TRUE(compared.ok()) << compared.error().to_string();
    ASSERT_EQ(compared->differences, 0U);
    const auto created = database->execute_ddl("CREATE TABLE further (id INT PRIMARY KEY)");
    ASSERT_TRUE(created.ok()) << created.error().to_string();
    ASSERT_TRUE(database->close().ok());
  }

  std::string path_;
};

using Lasts = test::FailingAllocation::Lasts;
INSTANTIATE_TEST_SUITE_P(Logs, OutOfMemory,
                         testing::Values(Shortage{LogMode::kCommand, Lasts::kOnce},
                                         Shortage{LogMode::kCommand, Lasts::kOn},
                                         Shortage{LogMode::kNone, Lasts::kOnce}),
                         [](const auto& test) {
                           const bool logs = test.param.log != LogMode::kNone;
                           const bool once = test.param.lasts == Lasts::kOnce;
                           return std::string(logs ? "Command" : "None") + (once ? "Once" : "On");
                         });

TEST_P(OutOfMemory, InDdlLeavesADatabaseThatOpens) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  uint64_t survived = 0;
  for (uint64_t number = 1;; number += 1 + number / 12) {
    SCOPED_TRACE(testing::Message() << "allocation " << number);
    const diptych::test::TemporaryDirectory folder;
    path_ = folder.path() + "/bank";
    Ended ended;
    ASSERT_NO_FATAL_FAILURE(ask_in_a_process(number, &ended));
    ASSERT_NO_FATAL_FAILURE(expect_whole(ended));
    if (!ended.failed) break;
    survived += ended.alive ? 1 : 0;
  }
  EXPECT_GT(survived, GetParam().lasts == Lasts::kOnce ? 30U : 10U);
}

// Where a load fails that has perhaps committed, what is acknowledged later must be there after a
// crash, and the load as a whole or not at all.
class OutOfMemoryInALoad : public testing::TestWithParam<Lasts> {
 protected:
  static constexpr int32_t kLoaded = 50;
  static constexpr int32_t kPaid = 1000;  // the account of the calls

  std::unique_ptr<Bank> open() const { return Bank::open({.path = path_}); }

  static base::Result<void> pay(Bank* bank) {
    auto paid = bank->database->call(bank->bump, {.id = kPaid, .balance = {}}).get();
    if (!paid) return paid.error();
    return {};
  }

  // 16, 1: the load succeeded, 2: an allocation failed, 4: the call behind it was acknowledged.
  int ask(uint64_t number) const {
    const auto bank = open();
    if (bank == nullptr) return 1;
    const Account paid{kPaid, {0}, 0};
    if (!bank->database->call(bank->open_account, {.id = paid.id, .balance = {}}).get()) return 2;
    std::vector<Account> rows;
    for (int32_t id = 0; id < kLoaded; ++id) rows.push_back({id, {100}, 0});
    bool asked = false;
    const auto all = [&]() -> base::Result<oltp::RowBatch> {
      if (std::exchange(asked, true)) return oltp::RowBatch{};
      return oltp::RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    };
    bool done = false;
    bool failed = false;
    {
      const test::FailingAllocation failing(number, GetParam());
      const auto loaded = bank->database->load(bank->accounts.table, all);
      done = loaded.ok();
      if (!done && loaded.code() != base::ErrorCode::kOutOfMemory) return 3;
      failed = failing.has_failed();
    }
    return 16 + (done ? 1 : 0) + (failed ? 2 : 0) + (pay(bank.get()).ok() ? 4 : 0);
  }

  std::string path_;
};

INSTANTIATE_TEST_SUITE_P(Shortages, OutOfMemoryInALoad, testing::Values(Lasts::kOnce, Lasts::kOn),
                         [](const auto& test) {
                           return test.param == Lasts::kOnce ? "Once" : "On";
                         });

TEST_P(OutOfMemoryInALoad, NothingAcknowledgedIsLost) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  uint64_t refused = 0;
  for (uint64_t number = 1;; number += 1 + number / 12) {
    SCOPED_TRACE(testing::Message() << "allocation " << number);
    const diptych::test::TemporaryDirectory folder;
    path_ = folder.path() + "/bank";
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(ask(number));  // without closing
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool lives = WIFEXITED(status);
    const int code = lives ? WEXITSTATUS(status) : 16 + 2;
    ASSERT_GE(code, 16) << "what it was told is wrong: " << code;
    const auto bank = open();
    ASSERT_NE(bank, nullptr);
    const auto loaded =
        bank->number("SELECT count(*) FROM account WHERE id < " + std::to_string(kLoaded));
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    EXPECT_TRUE(*loaded == kLoaded || (*loaded == 0 && (code & 1) == 0)) << *loaded;
    const auto paid = bank->number("SELECT sum(version) FROM account");
    EXPECT_EQ(paid.ok() ? *paid : -1, (code & 4) != 0 ? 1 : 0);
    EXPECT_EQ(bank->database->compare_replicas()->differences, 0U);
    if (HasFailure() || (code & 2) == 0) break;
    refused += lives && (code & 1) == 0 ? 1 : 0;
  }
  EXPECT_GT(refused, 5U);
}

class OutOfMemoryInARebuild : public testing::TestWithParam<Lasts> {};

INSTANTIATE_TEST_SUITE_P(Shortages, OutOfMemoryInARebuild,
                         testing::Values(Lasts::kOnce, Lasts::kOn), [](const auto& test) {
                           return test.param == Lasts::kOnce ? "Once" : "On";
                         });

// 16, 1: the rebuild succeeded, 2: an allocation failed, 4: another one brought the primary back.
int rebuild(uint64_t number, Lasts lasts) {
  const auto bank = Bank::open({});
  bank->fill(50);
  base::Result<RebuildReport> rebuilt = base::ErrorCode::kOutOfMemory;
  bool failed = false;
  {
    const test::FailingAllocation failing(number, lasts);
    try {
      rebuilt = bank->database->rebuild_primary();
    } catch (const std::bad_alloc&) {
    }
    failed = failing.has_failed();
  }
  if (!rebuilt && rebuilt.code() != base::ErrorCode::kOutOfMemory) return 1;
  const auto bump = [&] {
    return bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok();
  };
  if (rebuilt.ok() != bump()) return 2;
  if (!rebuilt && !bank->database->rebuild_primary()) return 3;
  if (!bump() || bank->database->compare_replicas()->differences != 0) return 4;
  return 16 + (rebuilt ? 1 : 0) + (failed ? 2 : 0) + (rebuilt ? 0 : 4);
}

TEST_P(OutOfMemoryInARebuild, AnotherOneBringsThePrimaryBack) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  uint64_t brought_back = 0;
  for (uint64_t number = 1;; number += 1 + number / 12) {
    SCOPED_TRACE(testing::Message() << "allocation " << number);
    ASSERT_LT(number, 100'000U);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(rebuild(number, GetParam()));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) continue;
    const int code = WEXITSTATUS(status);
    ASSERT_GE(code, 16) << "it is wrong: " << code;
    if ((code & 2) == 0) break;
    brought_back += (code & 4) != 0 ? 1 : 0;
  }
  EXPECT_GT(brought_back, 5U);
}

}  // namespace
}  // namespace diptych::dispatcher
