// The command ddl, as a shell runs it.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class DdlCommandTest : public testing::Test {
 protected:
  DdlCommandTest() {
    const std::string schema =
        folder_.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    EXPECT_EQ(run({"init", shop_, "--schema", schema}).code, 0);
    EXPECT_EQ(run({"load", shop_, "t", folder_.file("t.csv", "a,b\n1,7\n2,7\n")}).code, 0);
  }
  Outcome ddl(std::vector<std::string> arguments, const Streams& streams = {}) const {
    arguments.insert(arguments.begin(), {"ddl", shop_});
    return run(arguments, streams);
  }
  std::string answer(const std::string& sql) const {
    return run({"query", shop_, "--format", "csv", "-c", sql}).out;
  }

  ScratchFolder folder_;
  std::string shop_ = folder_.path("shop");
};

TEST_F(DdlCommandTest, TablesAndIndexesAreAddedAndStay) {
  const Outcome made = ddl({"-c",
                            "CREATE TABLE u (x INT PRIMARY KEY, y INT NOT NULL UNIQUE);"
                            "CREATE INDEX by_b ON t (b); CREATE INDEX by_y ON u (y)"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out,
            "created index by_b on t\ncreated table u\ncreated index u_y_key on u\ncreated index "
            "by_y on u\n");
  EXPECT_EQ(run({"load", shop_, "u", folder_.file("u.csv", "x,y\n7,1\n")}).code, 0);
  EXPECT_EQ(answer("SELECT count(*) AS n FROM t JOIN u ON b = x"), "n\n2\n");
  EXPECT_THAT(ddl({"-c", "CREATE INDEX by_b ON t (b)"}).err, HasSubstr("by_b"));
}

TEST_F(DdlCommandTest, AnIndexThatCouldHaveNoRowIsRefused) {
  std::string columns;
  std::string names;
  for (char name = 'a'; name <= 'h'; ++name) {
    columns += std::string(", ") + name + " VARCHAR(32) NOT NULL";
    names += std::string(name == 'a' ? "" : ", ") + name;
  }
  ASSERT_EQ(ddl({"-c", "CREATE TABLE k (id BIGINT PRIMARY KEY" + columns + ")"}).code, 0);
  const Outcome refused = ddl({"-c", "CREATE INDEX k8 ON k (" + names + ")"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("index \"k8\" of table \"k\" could have no row: its shortest "
                                     "key has 264 bytes, and 256 are possible"));
  const Outcome key =
      ddl({"-c", "CREATE TABLE l (id BIGINT" + columns + ", PRIMARY KEY (" + names + "))"});
  EXPECT_EQ(key.code, 1);
  EXPECT_THAT(key.err, HasSubstr("index \"l_pkey\" of table \"l\" could have no row"));
  EXPECT_EQ(ddl({"-c", "CREATE INDEX k7 ON k (a, b, c, d, e, f, g, id)"}).code, 0);  // 239
  const std::string row = folder_.file("k.csv", "id,a,b,c,d,e,f,g,h\n1,a,b,c,d,e,f,g,h\n");
  EXPECT_EQ(run({"load", shop_, "k", row}).code, 0);
}

TEST_F(DdlCommandTest, AFileAndStandardInputAreScripts) {
  const Outcome from_file =
      ddl({"-f", folder_.file("u.sql", "CREATE TABLE u (x INT PRIMARY KEY)")});
  EXPECT_EQ(from_file.out, "created table u\n");
  const Outcome from_input =
      ddl({"--file", "-"},
          {.input = "CREATE TABLE v (x INT PRIMARY KEY)", .output_path = "", .error_path = ""});
  EXPECT_EQ(from_input.out, "created table v\n");
  EXPECT_EQ(ddl({"-c", "-- nothing"}).out, "there was nothing to do\n");
}

TEST_F(DdlCommandTest, ViewsAreSaidAndStay) {
  const std::string schema = folder_.file(
      "views.sql", "CREATE TABLE t (a INT PRIMARY KEY); CREATE VIEW v AS SELECT a FROM t");
  EXPECT_THAT(run({"init", folder_.path("other"), "--schema", schema}).out,
              HasSubstr("with 1 table and 1 view\n"));
  EXPECT_EQ(ddl({"-c", "CREATE VIEW sums AS SELECT b, sum(a) AS total FROM t GROUP BY b"}).out,
            "created view sums\n");
  EXPECT_EQ(answer("SELECT b, total FROM sums"), "b,total\n7,3\n");
  EXPECT_EQ(ddl({"-c",
                 "CREATE OR REPLACE VIEW sums AS SELECT b, min(a)::BIGINT AS total FROM t GROUP "
                 "BY b; CREATE VIEW seven AS SELECT total FROM sums WHERE b = 7"})
                .out,
            "replaced view sums\ncreated view seven\n");
  EXPECT_EQ(answer("SELECT total FROM seven"), "total\n1\n");
  EXPECT_THAT(ddl({"-c", "DROP TABLE t"}).err, HasSubstr("view \"sums\" uses it"));
  EXPECT_THAT(run({"query", shop_, "-c", "CREATE VIEW v AS SELECT 1"}).err,
              HasSubstr("diptych ddl"));
  EXPECT_EQ(ddl({"-c", "DROP VIEW seven"}).out, "dropped view seven\n");
  EXPECT_EQ(ddl({"-c", "DROP VIEW sums; DROP TABLE t; DROP VIEW IF EXISTS sums"}).out,
            "dropped table t\ndropped view sums\n");
}

TEST_F(DdlCommandTest, WhatIsDroppedOrEmptiedStaysSo) {
  EXPECT_EQ(ddl({"-c", "CREATE INDEX by_b ON t (b); CREATE TABLE u (x INT PRIMARY KEY)"}).code, 0);
  EXPECT_EQ(answer("SELECT count(*) > 0 AS n FROM t"), "n\ntrue\n");
  EXPECT_EQ(ddl({"-c", "TRUNCATE t"}).out, "emptied what was to be truncated\n");
  EXPECT_EQ(answer("SELECT count(*) AS n FROM t"), "n\n0\n");
  EXPECT_EQ(ddl({"-c", "DROP INDEX by_b; DROP TABLE u; CREATE TABLE u (y TEXT PRIMARY KEY)"}).out,
            "dropped index by_b on t\ndropped table u\ncreated table u\n");
  EXPECT_EQ(answer("SELECT y FROM u"), "y\n");
  EXPECT_EQ(ddl({"-c", "DROP TABLE IF EXISTS v; CREATE TABLE IF NOT EXISTS u (z INT)"}).out,
            "there was nothing to do\n");
  EXPECT_EQ(ddl({"-c", "DROP TABLE t"}).out, "dropped table t\n");
  EXPECT_THAT(run({"query", shop_, "-c", "SELECT 1 FROM t"}).err, HasSubstr("42P01"));
}

TEST_F(DdlCommandTest, AnErrorNamesItsStatementAndWhatWasMadeBefore) {
  const Outcome failed = ddl({"-c",
                              "CREATE TABLE u (x INT PRIMARY KEY); CREATE INDEX by_c ON t (c);"
                              "CREATE TABLE v (x INT PRIMARY KEY)"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_THAT(failed.err, HasSubstr("diptych: 42703: "));
  EXPECT_THAT(failed.err, HasSubstr("-c: statement 2 (CREATE INDEX by_c ON t (c))"));
  EXPECT_THAT(failed.err, HasSubstr("Before it, and saved:\ncreated table u\n"));
  EXPECT_EQ(answer("SELECT count(*) AS n FROM u"), "n\n0\n");
  const Outcome unique = ddl({"-c", "CREATE UNIQUE INDEX by_b ON t (b)"});
  EXPECT_EQ(unique.code, 1);
  EXPECT_THAT(unique.err, Not(HasSubstr("Before it")));
}

// Statements that make the manifest larger than a file may be here.
TEST_F(DdlCommandTest, NothingIsKeptOfWhatCouldNotBeSaved) {
  std::string statements;
  for (const char* const name : {"u", "v", "w"}) {
    statements += "CREATE TABLE " + std::string(name) + " (x INT PRIMARY KEY /*" +
                  std::string(900'000, 'a') + "*/);\n";
  }
  const std::string script = folder_.file("u.sql", statements);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit tight{1'500'000, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Outcome failed = ddl({"-f", script});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_THAT(failed.err, HasSubstr("no space left: "));
  EXPECT_THAT(failed.err, HasSubstr("nothing was done: the database could not be saved"));
  EXPECT_THAT(failed.err, Not(HasSubstr("it is done")));
  EXPECT_THAT(failed.err, Not(HasSubstr("save()")));
  EXPECT_THAT(failed.err, Not(HasSubstr("closing"))) << "a save that is told of is the last one";
  EXPECT_EQ(ddl({"-c", "CREATE TABLE u (x INT PRIMARY KEY)"}).out, "created table u\n");
}

TEST_F(DdlCommandTest, ALongNameIsRefusedAndStandsForNoOther) {
  const std::string longest(63, 'n');
  ASSERT_EQ(ddl({"-c", "CREATE TABLE " + longest + " (a INT PRIMARY KEY, b INT)"}).code, 0);
  const Outcome made = ddl({"-c", "CREATE TABLE " + longest + "x (a INT PRIMARY KEY)"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err, HasSubstr("42622: "));
  EXPECT_THAT(made.err, HasSubstr("line 1, column 14"));
  const Outcome queried = run({"query", shop_, "-c", "SELECT a FROM " + longest + "x"});
  EXPECT_EQ(queried.code, 1);
  EXPECT_THAT(queried.err, HasSubstr("42622: "));
  const std::string csv = folder_.file("rows.csv", "a,b\n1,2\n");
  EXPECT_EQ(run({"load", shop_, longest, csv}).code, 0);
  EXPECT_EQ(run({"load", shop_, longest + "x", csv}).code, 1);
}

TEST_F(DdlCommandTest, AScriptIsNeededAndOnlyOne) {
  EXPECT_EQ(ddl({}).code, 2);
  EXPECT_EQ(ddl({"-c", "", "-f", folder_.file("u.sql", "")}).code, 2);
  EXPECT_EQ(ddl({"-f", folder_.path("no.sql")}).code, 2);
  EXPECT_THAT(ddl({"--help"}).out, HasSubstr("Examples:\n  diptych ddl "));
}

TEST_F(DdlCommandTest, AQueryThatIsDdlIsToldOfIt) {
  for (const char* const sql : {"CREATE TABLE u (x INT PRIMARY KEY)", "CREATE INDEX i ON t (b)"}) {
    const Outcome refused = run({"query", shop_, "-c", sql});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("0A000"));
    EXPECT_THAT(refused.err, HasSubstr("diptych ddl"));
  }
}

}  // namespace
}  // namespace diptych::cli
