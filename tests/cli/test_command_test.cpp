// diptych test from outside: what passes, what fails and how it is told.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using testing::HasSubstr;

class TestRuns : public testing::Test {
 protected:
  // The outcome of a script whose table t has the rows (1, 10.50, 'x') and (2, NULL, NULL).
  Outcome run_script(const std::string& records) {
    const std::string path = folder_.path("script.slt");
    std::ofstream(path) << "statement ok\nCREATE TABLE t (a INT NOT NULL PRIMARY KEY, "
                           "b DECIMAL(6,2), c VARCHAR(5))\n\nstatement ok\n"
                           "INSERT INTO t VALUES (1, 10.5, 'x'), (2, NULL, NULL)\n\n"
                        << records;
    return run({"test", path, "--threads", "1"});
  }

  const ScratchFolder folder_;
};

TEST_F(TestRuns, PassingRecordsAreCounted) {
  const Outcome outcome = run_script(
      "query ITT\nSELECT * FROM t ORDER BY a\n----\n1\t10.50\tx\n2\tNULL\tNULL\n\n"
      "query I\nSELECT a FROM t ORDER BY a\n----\n"
      "2 values hashing to 6ddb4095eb719e2a9f0a3f95677d24e0\n\n"
      "statement error column.*zz\nSELECT zz FROM t\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out, "1 file, 5 records, 0 failed\n");
}

// As sqlite's own files fill their tables; u and v have hidden keys.
TEST_F(TestRuns, AnInsertTakesAQuerysRows) {
  const Outcome outcome = run_script(
      "statement ok\nCREATE TABLE u (x DOUBLE PRECISION, y TEXT, d DATE, p BOOLEAN)\n\n"
      "statement ok\nCREATE TABLE v (x DOUBLE PRECISION, y TEXT, d DATE, p BOOLEAN)\n\n"
      "statement ok\nINSERT INTO u SELECT b, c, date '2024-02-29', a > 1 FROM t\n\n"
      "statement ok\nINSERT INTO v SELECT * FROM u\n\n"
      "statement ok\nINSERT INTO v (y, x) WITH w AS (SELECT 'it''s' AS y) SELECT y, 1 FROM w\n\n"
      "statement error no such table\nINSERT INTO v SELECT * FROM nowhere\n\n"
      "statement error row 1: 2 values for 4 columns\nINSERT INTO v SELECT x, y FROM u\n\n"
      "query TTTT rowsort\nSELECT * FROM v\n----\n"
      "1\tit's\tNULL\tNULL\n10.5\tx\t2024-02-29\tfalse\nNULL\tNULL\t2024-02-29\ttrue\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

// What no query sees of the key that the runner adds.
TEST_F(TestRuns, TablesWithoutAKeyHaveTheColumnsOfTheirStatement) {
  const Outcome outcome = run_script(
      "statement ok\nCREATE TABLE u (x INT, y INT)\n\n"
      "statement ok\nCREATE TABLE v (x INT, z INT)\n\n"
      "statement ok\nINSERT INTO u VALUES (1, 10), (1, 10), (2, 20)\n\n"
      "statement ok\nINSERT INTO v VALUES (0, 0), (2, 20)\n\n"
      "query III\nSELECT * FROM u NATURAL JOIN v\n----\n2\t20\t20\n\n"
      "query II rowsort\nSELECT * FROM u UNION SELECT * FROM v\n----\n0\t0\n1\t10\n2\t20\n\n"
      "query II\nTABLE u EXCEPT TABLE v\n----\n1\t10\n\n"
      "query II rowsort\nSELECT DISTINCT u.* FROM u\n----\n1\t10\n2\t20\n\n"
      "query I\nSELECT count(*) FROM u WHERE (x, y) IN (SELECT * FROM v)\n----\n1\n\n"
      "statement error has 2 columns, but 3 names\nSELECT * FROM u AS w(a, b, c)\n\n"
      "query III rowsort\nSELECT * FROM (u JOIN v USING (x)) AS w(a, b, c)\n----\n2\t20\t20\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

// As DuckDB's own files have it: whatever a value's type, the letter is I.
TEST_F(TestRuns, ValuesAreComparedInEitherFormat) {
  const Outcome outcome = run_script(
      "statement ok\nINSERT INTO t VALUES (1 + 2, 7 / 2.0, lower('ABC'))\n\n"
      "query IIII rowsort\nSELECT a, b, c, a > 1 FROM t\n----\n"
      "1\t10.5\tx\t0\n2\tNULL\tNULL\t1\n3\t3.5\t<REGEX>:a.*\t1\n\n"
      "query I\nSELECT sqrt(2.0)\n----\n1.41421\n\n"
      "query I\nSELECT 1.5\n----\n1\n\n"
      "query TR\nSELECT a > 1, b FROM t WHERE a = 1\n----\nfalse\t10.500\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(TestRuns, AFailureIsToldWithItsPlaceAndBothResults) {
  const Outcome outcome = run_script("query I\nSELECT a FROM t ORDER BY a DESC\n----\n1\n2\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("script.slt:7:\n"));
  EXPECT_THAT(outcome.out, HasSubstr("expected:\n    1\n    2\n  actual:\n    2\n    1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("1 file, 3 records, 1 failed"));
}

TEST_F(TestRuns, EachKindOfFailureIsOne) {
  const std::pair<const char*, const char*> failing[] = {
      {"query I\nSELECT a FROM t\n----\n1 values hashing to 0\n", "expected 1 values hashing to 0"},
      {"query II\nSELECT a FROM t\n----\n1\n2\n", "expected 2 columns (II)"},
      {"query I\nSELECT zz FROM t\n----\n", "error: "},
      {"statement ok\nSELECT zz FROM t\n", "error: "},
      {"statement error\nSELECT a FROM t\n", "expected an error, and there was none"},
      {"statement error other\nSELECT zz FROM t\n", "expected an error with: other"},
      {"statement error [\nSELECT zz FROM t\n", "the regular expression is wrong"},
      {"statement ok\nINSERT INTO t VALUES (1, 2, 'x')\n", "error: already exists"},
      {"statement ok\nINSERT INTO t (a, zz) VALUES (1, 2)\n", "has no column \"zz\""},
      {"statement ok\nINSERT INTO t (a, a) VALUES (3, 4)\n", "column \"a\" is named twice"},
      {"statement ok\nINSERT INTO t (a) VALUES (3, 2)\n", "row 1: 2 values for 1 columns"},
      {"load t nowhere.csv\n", "nowhere.csv"},
      {"statement count 2\nINSERT INTO t (a) VALUES (3)\n", "expected 2 rows\n  actual: 1"},
      {"statement count 1\nSELECT a FROM t\n", "expected 1 rows\n  actual: 2"},
      {"statement error NO SUCH\nSELECT zz FROM t\n", "expected an error with: NO SUCH"},
      {"query I\nSELECT b FROM t WHERE a = 1\n----\n10.4\n", "actual:\n    10"},
      {"query I\nSELECT a = 1 FROM t WHERE a = 1\n----\n0\n", "actual:\n    1"},
      {"statement ok\nINSERT INTO t VALUES (1 + zz)\n", "(line 1, column 27: \"zz\")"},
      {"statement ok\nDELETE FROM t\n", "DELETE is not supported"},
      {"statement ok\nDROP SEQUENCE t\n", "DROP of other things than tables"},
      {"query I nosort one\nSELECT 1 FROM t WHERE a = 1\n\n"
       "query I nosort one\nSELECT 2 FROM t WHERE a = 1\n",
       "with the label one"},
  };
  for (const auto& [record, why] : failing) {
    const Outcome outcome = run_script(record);
    EXPECT_EQ(outcome.code, 1) << record;
    EXPECT_THAT(outcome.out, HasSubstr(" 1 failed")) << record;
    EXPECT_THAT(outcome.out, HasSubstr(why)) << record;
  }
}

TEST_F(TestRuns, WhatIsAboutAnotherEngineIsSkippedAndSaid) {
  const Outcome outcome = run_script(
      "require icu\n\nmode output_result\n\n"
      "statement count 2\nINSERT INTO t (a) SELECT a + 2 FROM t\n\n"
      "statement count 4\nSELECT a FROM t\n\n"
      "statement error (?i)NO SUCH COLUMN\nSELECT zz FROM t\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("script.slt:7: skipped: require icu\n"));
  EXPECT_THAT(outcome.out, HasSubstr("script.slt:9: skipped: mode output_result\n"));
  EXPECT_THAT(outcome.out, HasSubstr("1 file, 5 records, 0 failed, 2 skipped\n"));
}

TEST_F(TestRuns, RecordsBehindAModeSkipAreCountedAlthoughItHasNoEnd) {
  const Outcome outcome =
      run_script("mode skip\n\nquery I\nSELECT 1\n----\n2\n\nstatement ok\nSELECT 1\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("skipped: query I\n"));
  EXPECT_THAT(outcome.out, HasSubstr("0 failed, 2 skipped\n"));
}

TEST_F(TestRuns, NoRegularExpressionTakesTheStackOrALongTime) {
  const std::string sql = "\nSELECT '" + std::string(60, 'a') + "'::int\n\n";
  const Outcome outcome = run_script("statement error " + std::string(200'000, '(') + sql +
                                     "statement error (a*)*(a*)*c$" + sql +
                                     "statement error (a|b)+.*whole number\nSELECT 'a'::int\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("the regular expression is wrong: missing )"));
  EXPECT_THAT(outcome.out, HasSubstr("expected an error with: (a*)*(a*)*c$"));
  EXPECT_THAT(outcome.out, HasSubstr("1 file, 5 records, 2 failed"));
}

TEST_F(TestRuns, ATableWithoutAKeyGetsOneThatIsNotSeen) {
  const Outcome outcome = run_script(
      "statement ok\nCREATE TABLE u (a INT, b VARCHAR(3))\n\n"
      "statement ok\nINSERT INTO u VALUES (1, 'x'), (1, 'x')\n\n"
      "statement ok\nINSERT INTO u (b) VALUES (NULL)\n\n"
      "query IT rowsort\nSELECT * FROM u\n----\n1\tx\n1\tx\nNULL\tNULL\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

TEST_F(TestRuns, RowsComeFromCsvFilesBesideTheScript) {
  std::ofstream(folder_.path("rows.csv")) << "a,c\n5,five\n6,\n";
  const Outcome outcome = run_script(
      "load t rows.csv\n\nquery IT\nSELECT a, c FROM t WHERE a > 2 ORDER BY a\n----\n"
      "5\tfive\n6\tNULL\n");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

TEST_F(TestRuns, EachFileHasADatabaseOfItsOwnAndABrokenOneStopsNoOther) {
  const std::string fine = folder_.path("fine.slt");
  std::ofstream(fine) << "statement ok\nCREATE TABLE t (a INT NOT NULL PRIMARY KEY)\n";
  const std::string broken = folder_.path("broken.slt");
  std::ofstream(broken) << "\nnonsense\n";
  EXPECT_EQ(run({"test", fine, fine}).out, "2 files, 2 records, 0 failed\n");
  const Outcome outcome = run({"test", broken, fine});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("broken.slt: line 2: unknown record"));
  EXPECT_EQ(outcome.out, "2 files, 1 record, 0 failed, 1 file could not be run\n");
  EXPECT_EQ(run({"test"}).code, 2);
  EXPECT_EQ(run({"test", folder_.path("absent.slt")}).code, 2);
}

}  // namespace
}  // namespace diptych::cli
