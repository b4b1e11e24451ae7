// Memory that runs out at any allocation of a caller of DDL, and of the save that ends it: the
// database is what it was, or what was asked for, and opens, whether or not the process lives on.

#include <memory>
#include <new>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatcher/database.h"
#include "tests/failing_allocation.h"
#include "tests/storage/temporary_directory.h"

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

class OutOfMemory : public testing::TestWithParam<LogMode> {
 protected:
  std::unique_ptr<Database> open() const {
    auto opened = Database::open({.path = path_, .log = GetParam()});
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
      const test::FailingAllocation failing(number);
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
    if (GetParam() == LogMode::kNone) done = done && closed;
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
    const bool unsaved = GetParam() == LogMode::kNone && !ended.closed && tables == 0;
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

INSTANTIATE_TEST_SUITE_P(Logs, OutOfMemory, testing::Values(LogMode::kCommand, LogMode::kNone),
                         [](const auto& test) {
                           return test.param == LogMode::kNone ? "None" : "Command";
                         });

TEST_P(OutOfMemory, InDdlLeavesADatabaseThatOpens) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  uint64_t survived = 0;
  for (uint64_t number = 1;; number += 1 + number / 12) {
    SCOPED_TRACE(testing::Message() << "allocation " << number);
    const storage::test::TemporaryDirectory folder;
    path_ = folder.path() + "/bank";
    Ended ended;
    ASSERT_NO_FATAL_FAILURE(ask_in_a_process(number, &ended));
    ASSERT_NO_FATAL_FAILURE(expect_whole(ended));
    if (!ended.failed) break;
    survived += ended.alive ? 1 : 0;
  }
  EXPECT_GT(survived, 30U);
}

}  // namespace
}  // namespace diptych::dispatcher
