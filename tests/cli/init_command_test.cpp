// The command init where another one was killed before it.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace diptych::cli
