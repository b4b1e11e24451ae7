// The command init where another one was killed before it, or something else is in its way.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dispatcher/database.h"
#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using testing::HasSubstr;

// As an init that was killed leaves it: a database, and nothing in it yet.
TEST(InitCommand, TakesADatabaseWithoutTablesForNone) {
  const ScratchFolder folder;
  const std::string shop = folder.path("shop");
  auto begun = dispatcher::Database::open({.path = shop, .mode = dispatcher::OpenMode::kCreate});
  ASSERT_TRUE(begun) << begun.error().to_string();
  const std::vector<std::string> command = {
      "init",         shop,
      "--schema",     folder.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY)"),
      "--block-rows", "1024"};
  const Outcome refused = run(command);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("in use"));
  ASSERT_TRUE((*begun)->close());
  const Outcome made = run(command);
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(run({"load", shop, "t", folder.file("t.csv", "a\n1\n")}).code, 0);
  const Outcome again = run(command);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("already exists"));
  EXPECT_THAT(run({"query", shop, "--format", "csv", "-c", "SELECT a FROM t"}).out,
              HasSubstr("a\n1\n"));
  EXPECT_THAT(run({"inspect", shop}).out, HasSubstr("blocks of 1024 rows"));
}

TEST(InitCommand, ADirectoryIsNoSchema) {
  const ScratchFolder folder;
  const std::string here = folder.path(".");
  const Outcome refused = run({"init", folder.path("shop"), "--schema", here});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("\"" + here + "\" is a directory\n"));
}

// Statements that make the manifest larger than a file may be here.
TEST(InitCommand, OfWhatCannotBeSavedNothingIsMade) {
  const ScratchFolder folder;
  const std::string shop = folder.path("shop");
  std::string statements;
  for (const char* const name : {"u", "v"}) {
    statements += "CREATE TABLE " + std::string(name) + " (x INT PRIMARY KEY /*" +
                  std::string(900'000, 'a') + "*/);\n";
  }
  const std::string script = folder.file("shop.sql", statements);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit tight{1'500'000, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Outcome failed = run({"init", shop, "--schema", script});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("no space left: nothing was made: "));
  EXPECT_THAT(failed.err, testing::Not(HasSubstr("it is done")));
  EXPECT_NE(::access(shop.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace diptych::cli
