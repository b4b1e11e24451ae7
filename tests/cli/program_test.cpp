// The program from outside: what it prints, and its exit codes.

#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSchema =
    "CREATE TABLE item (\n"
    "  i_id INT NOT NULL,\n"
    "  i_name VARCHAR(24) NOT NULL,\n"
    "  i_price DECIMAL(5,2),\n"
    "  i_since DATE,\n"
    "  PRIMARY KEY (i_id)\n"
    ");\n"
    "CREATE TABLE orders (o_id INT NOT NULL, PRIMARY KEY (o_id));\n";

void expect_outcome(const Outcome& outcome, int code) {
  EXPECT_EQ(outcome.code, code) << "out: " << outcome.out << "\nerr: " << outcome.err;
}

class Usage : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Usage, HelpHasExamplesAndIsFine) {
  std::vector<std::string> arguments = GetParam();
  arguments.push_back("--help");
  const Outcome outcome = run(arguments);
  expect_outcome(outcome, 0);
  const std::string subcommand = arguments.size() == 1 ? "" : arguments[0] + " ";
  EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  diptych " + subcommand));
  EXPECT_EQ(outcome.err, "");
}

TEST_P(Usage, AnUnknownOptionIsNamedAndExitsWithTwo) {
  std::vector<std::string> arguments = GetParam();
  arguments.push_back("--no-such-option");
  const Outcome outcome = run(arguments);
  expect_outcome(outcome, 2);
  EXPECT_NE(outcome.err, "");
}

INSTANTIATE_TEST_SUITE_P(
    EverySubcommand, Usage,
    testing::Values(std::vector<std::string>{}, std::vector<std::string>{"init"},
                    std::vector<std::string>{"load"}, std::vector<std::string>{"query"},
                    std::vector<std::string>{"call"}, std::vector<std::string>{"inspect"},
                    std::vector<std::string>{"verify"}, std::vector<std::string>{"checkpoint"},
                    std::vector<std::string>{"bench"}, std::vector<std::string>{"bench", "tpcc"},
                    std::vector<std::string>{"bench", "ch"},
                    std::vector<std::string>{"bench", "isolation"}));

class Program : public testing::Test {
 protected:
  ScratchFolder folder_;
  std::string shop_ = folder_.path("shop");

  void init() {
    expect_outcome(run({"init", shop_, "--schema", folder_.file("shop.sql", kSchema)}), 0);
  }
  Outcome load(const std::string& table, const std::string& csv) {
    return run({"load", shop_, table, folder_.file("rows.csv", csv)});
  }
  std::string count(const std::string& table) {
    return run({"query", shop_, "--format", "csv", "-c", "SELECT count(*) AS n FROM " + table}).out;
  }
};

TEST_F(Program, WrongCommandLinesExitWithTwoAndSayWhy) {
  const std::string schema = folder_.file("shop.sql", kSchema);
  const std::string absent = folder_.path("absent");
  const std::string here = folder_.path(".");
  const struct {
    std::vector<std::string> arguments;
    std::string said;
  } cases[] = {
      {{}, "subcommand"},
      {{"bench"}, "subcommand"},
      {{"qeury", "db"},
       "unknown subcommand \"qeury\"; there are init, ddl, load, query, call, inspect, test, "
       "verify, checkpoint, backup, restore, bench"},
      {{"bench", "tpcd"},
       "unknown subcommand \"tpcd\"; there are tpcc, ch, isolation, propagation, scan, "
       "queries, recovery, overload"},
      {{"init", shop_, "--schema", schema, "extra"}, "not expected: extra\n"},
      {{"init", shop_}, "--schema"},
      {{"init", shop_, "--schema", absent}, absent},
      {{"init", absent + "/a", "--schema", schema}, "there is no directory \"" + absent + "\""},
      {{"init", "", "--schema", schema}, "the path is empty\n"},
      {{"load", absent, "item", schema}, absent},
      {{"load", here, "item", absent}, absent},
      {{"query", absent, "-c", "SELECT 1"}, absent},
      {{"query", here, "-f", absent}, "there is no file \"" + absent + "\"\n"},
      {{"query", here, "-c", "SELECT 1", "--format", "xml"},
       "--format: \"xml\" is none of csv, json, table\n"},
      {{"query", here, "-c", "SELECT 1", "--threads", "0"}, "--threads"},
      {{"query", here, "-c", "  ; "}, "no SQL statement"},
      {{"call", absent, "--procedures", DIPTYCH_BANK, "transfer"}, absent},
      {{"call", here, "transfer"}, "--procedures"},
      {{"call", here, "--procedures", absent, "transfer"}, "there is no file \"" + absent + "\""},
      {{"call", here, "--procedures", DIPTYCH_BANK}, "give the NAME of a procedure, or --list"},
      {{"call", here, "--procedures", DIPTYCH_BANK, "--list", "transfer"}, "or --list"},
      {{"inspect", absent}, absent},
      {{"inspect"}, "PATH"},
      {{"inspect", here, "--json", absent + "/x.json"}, absent},
      {{"bench", "tpcc", "--warehouses", "none"}, "none"},
      {{"bench", "tpcc", "--seconds", "-1"}, "--seconds"},
      {{"bench", "tpcc", "--seconds", "nan"}, "\"nan\" is not a number from 0.001 to 604800"},
      {{"bench", "tpcc", "--seed", "18446744073709551616"}, "is not a whole number from 0 to"},
      {{"bench", "tpcc", "--seed", "-1"}, "is not a whole number from 0 to"},
      {{"bench", "tpcc", "--keep", absent + "/x"}, "there is no directory \"" + absent + "\""},
      {{"bench", "tpcc", "--oltp-cores", "0,99999"}, "99999"},
      {{"bench", "tpcc", "--json", "/proc/x"}, "cannot write \"/proc/x\""},
      {{"bench", "tpcc", "--json", here}, "is a directory"},
      {{"bench", "tpcc", "--json", absent, "--metrics", absent}, "name the same file"},
      {{"bench", "tpcc", "--json", ""}, "--json: the path is empty"},
      {{"bench", "tpcc", "--oltp-cores", "0-x"}, "a core number is expected at character 3"},
      {{"bench", "tpcc", "--json", absent + "/x.json"}, absent},
      {{"bench", "ch", "--transaction-clients", "0", "--query-clients", "0"}, "nothing would run"},
      {{"bench", "scan", "--path", absent}, "--path is for --cold"},
      {{"bench", "scan", "--memory", "64"}, "--memory is for --cold"},
      {{"bench", "tpcc", "--isolation", "chaos"}, "\"chaos\" is none of serializable, snapshot\n"},
      {{"bench", "ch", "--isolation", "chaos"}, "\"chaos\" is none of serializable, snapshot\n"},
      {{"bench", "isolation", "--html", absent + "/x.html"}, absent},
      {{"bench", "isolation", "--transaction-clients", "0", "--query-clients", "0"},
       "nothing would run"},
      {{"bench", "isolation", "--json", shop_, "--html", here + "/shop"}, "the same file"},
  };
  for (const auto& one : cases) {
    const Outcome outcome = run(one.arguments);
    SCOPED_TRACE(one.said);
    expect_outcome(outcome, 2);
    EXPECT_THAT(outcome.err, HasSubstr(one.said));
  }
}

TEST_F(Program, InitSaysWhatItMade) {
  const Outcome outcome = run({"init", shop_, "--schema", folder_.file("shop.sql", kSchema)});
  expect_outcome(outcome, 0);
  EXPECT_EQ(outcome.out, "created " + shop_ + " with 2 tables\n");
  EXPECT_TRUE(fs::is_directory(shop_));
}

TEST_F(Program, BlocksHaveTheRowsThatTheDatabaseWasMadeWith) {
  const std::string schema = folder_.file("shop.sql", kSchema);
  Outcome outcome = run({"init", shop_, "--schema", schema, "--block-rows", "1000"});
  expect_outcome(outcome, 2);
  outcome = run({"init", shop_, "--schema", schema, "--block-rows", "5000"});
  expect_outcome(outcome, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--block-rows: 5000 is not a power of two"));
  outcome = run({"init", shop_, "--schema", schema, "--block-rows", "1024"});
  expect_outcome(outcome, 0);
  std::string csv = "o_id\n";
  for (int i = 0; i < 20'000; ++i) csv += std::to_string(i) + "\n";
  outcome = run({"load", shop_, "orders", folder_.file("orders.csv", csv), "--memory", "1"});
  expect_outcome(outcome, 0);
  outcome = run({"inspect", shop_});
  expect_outcome(outcome, 0);
  EXPECT_THAT(outcome.out, HasSubstr("blocks of 1024 rows"));
  outcome = run({"query", shop_, "--memory", "1", "--format", "csv", "-c",
                 "SELECT count(*) AS n, max(o_id) AS m FROM orders"});
  expect_outcome(outcome, 0);
  EXPECT_EQ(outcome.out, "n,m\n20000,19999\n");
}

TEST_F(Program, AQueryEndsAtItsTimeoutAndMetricsAreWritten) {
  init();
  std::string csv = "o_id\n";
  for (int i = 0; i < 3'000; ++i) csv += std::to_string(i) + "\n";
  expect_outcome(load("orders", csv), 0);
  const std::string file = folder_.path("metrics.prom");
  Outcome outcome =
      run({"query", shop_, "--timeout", "50", "--metrics", file, "--format", "csv", "-c",
           "SELECT count(*) AS n FROM orders; SELECT count(*) FROM orders a, orders b, orders c "
           "WHERE a.o_id + b.o_id + c.o_id >= 0"});
  expect_outcome(outcome, 1);
  EXPECT_EQ(outcome.out, "n\n3000\n\n");
  EXPECT_THAT(outcome.err,
              HasSubstr("deadline exceeded: -c, statement 2: the query's time was over"));
  std::ifstream metrics(file);
  const std::string text{std::istreambuf_iterator<char>(metrics), {}};
  EXPECT_THAT(text, HasSubstr("\ndiptych_queries_completed_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndiptych_queries_failed_total{reason=\"deadline exceeded\"} "));
  outcome = run({"query", shop_, "--timeout", "0", "-c", "SELECT 1"});
  expect_outcome(outcome, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--timeout"));
}

TEST_F(Program, AQueryTakesParametersAsItsPlacesAskForThem) {
  init();
  expect_outcome(load("item",
                      "i_id,i_name,i_price,i_since\n"
                      "1,it's,2.50,2024-02-29\n2,NULL,,\n-3,c,0.01,2026-01-01\n"),
                 0);
  const auto ids = [&](const std::string& where, std::vector<std::string> values) {
    std::vector<std::string> arguments = {"query", shop_, "--format",
                                          "csv",   "-c",  "SELECT i_id FROM item WHERE " + where};
    for (const std::string& value : values) {
      arguments.push_back("--param");
      arguments.push_back(value);
    }
    return run(arguments);
  };
  EXPECT_EQ(ids("i_name = $1", {"it's"}).out, "i_id\n1\n");
  EXPECT_EQ(ids("i_id = $1", {"-3"}).out, "i_id\n-3\n");
  EXPECT_EQ(ids("i_price > $2 AND i_since >= $1", {"2024-01-01", "1.5"}).out, "i_id\n1\n");
  EXPECT_EQ(ids("i_name = $1", {"NULL"}).out, "i_id\n");
  EXPECT_EQ(ids("i_name IN ($1, 'c') LIMIT $2", {"NULL", "1"}).out, "i_id\n-3\n");
  Outcome outcome = ids("i_id = $2", {"1"});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("there is no parameter $2: 1 is given (line 1, column 36"));
  outcome = ids("i_id = $1", {"one"});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("\"one\" is not a whole number (line 1, column 36: \"$1\")"));
  outcome = run({"query", shop_, "--format", "csv", "--null", "none", "--param", "NULL", "-c",
                 "SELECT i_id FROM item WHERE i_name = $1; SELECT length($1) AS n"});
  expect_outcome(outcome, 0);
  EXPECT_EQ(outcome.out, "i_id\n2\n\nn\n4\n");
}

TEST_F(Program, StatementsOverAMemoryLimitFailAlone) {
  init();
  std::string csv = "o_id\n";
  for (int i = 0; i < 3'000; ++i) csv += std::to_string(i) + "\n";
  expect_outcome(load("orders", csv), 0);
  // Results of 3/4 of a MiB.
  const std::string rows =
      "SELECT a.o_id + 1::BIGINT, b.o_id FROM orders a, orders b WHERE b.o_id < 20;";
  const std::string more =
      "SELECT a.o_id + 2::BIGINT, b.o_id FROM orders a, orders b WHERE b.o_id < 20";
  Outcome outcome = run({"query", shop_, "--query-memory", "1", "-c", rows + more});
  expect_outcome(outcome, 0);
  outcome = run({"query", shop_, "--queries-memory", "1", "-c", rows + more});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("-c, statement 1: 60000 rows"));
  EXPECT_THAT(outcome.err, HasSubstr("out of memory: -c, statement 2: all queries, and results"));
  outcome = run({"query", shop_, "--query-memory", "0", "-c", "SELECT 1"});
  expect_outcome(outcome, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--query-memory"));
}

TEST_F(Program, InitLeavesADatabaseThatIsThereAlone) {
  init();
  expect_outcome(load("orders", "o_id\n1\n"), 0);
  const Outcome outcome = run({"init", shop_, "--schema", folder_.file("shop.sql", kSchema)});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("already exists"));
  EXPECT_EQ(count("orders"), "n\n1\n");
}

TEST_F(Program, ASchemaErrorLeavesNothingBehind) {
  const struct {
    std::string schema;
    std::string said;
  } cases[] = {
      {"CREATE TABLE t (a INT NOT NULL, PRIMARY KEY (b));", "\"b\""},
      {"CREATE TABLE t (a INT);", "PRIMARY KEY"},
      {"CREATE TABLE t (a NUMBER_OF_SORTS NOT NULL, PRIMARY KEY (a));", "number_of_sorts"},
      {std::string(kSchema) + "CREATE TABLE item (i INT NOT NULL, PRIMARY KEY (i));",
       "42P07: already exists: "},
      {"CREATE TABEL t (a INT);", "42601: syntax error: "},
      {"CREATE TABLE t (a INT PRIMARY KEY);\n\nCREATE TABLE u (\n  a FOO);", "(line 4, column 5: "},
      {"-- nothing\n", "there is no CREATE TABLE statement"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.said);
    const Outcome outcome = run({"init", shop_, "--schema", folder_.file("bad.sql", one.schema)});
    expect_outcome(outcome, 1);
    EXPECT_THAT(outcome.err, HasSubstr(one.said));
    EXPECT_FALSE(fs::exists(shop_));
  }
}

TEST_F(Program, WhatWasLoadedIsThereAfterwards) {
  init();
  const Outcome loaded = load("item",
                              "i_price,i_id,i_name,i_since\n"
                              "1.50,1,\"nut, hex\",2026-11-21\r\n"
                              ",2,\"\",\n");
  expect_outcome(loaded, 0);
  EXPECT_THAT(loaded.out, HasSubstr("loaded 2 rows into item in "));
  const Outcome queried = run({"query", shop_, "--format", "csv", "-c",
                               "SELECT i_id, i_name, i_price, i_since FROM item ORDER BY i_id"});
  expect_outcome(queried, 0);
  EXPECT_EQ(queried.out,
            "i_id,i_name,i_price,i_since\n"
            "1,\"nut, hex\",1.50,2026-11-21\n"
            "2,\"\",,\n");
}

TEST_F(Program, NothingIsLoadedIfAnyRowIsRejected) {
  init();
  std::string csv = "i_id,i_name,i_price\n";
  for (int i = 0; i < 1000; ++i) csv += std::to_string(i) + ",name,1\n";
  const Outcome outcome = load("item", csv + "1000,name,1.234\n,name,1\n1002,\"open,1\n");
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err,
              HasSubstr("line 1002, column i_price: \"1.234\" has 3 digits after the point"));
  EXPECT_THAT(outcome.err, HasSubstr("line 1003, column i_id: NULL"));
  EXPECT_THAT(outcome.err,
              HasSubstr("line 1004, column i_name: the quote that opens on line 1004"));
  EXPECT_THAT(outcome.err, HasSubstr("nothing was loaded: 3 of 1003 rows were rejected"));
  EXPECT_EQ(count("item"), "n\n0\n");
}

TEST_F(Program, NothingIsLoadedIfAKeyIsTaken) {
  init();
  expect_outcome(load("orders", "o_id\n1\n2\n"), 0);
  const Outcome outcome = load("orders", "o_id\n3\n\n2\n4\n");
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nothing was loaded: line 4: "));
  EXPECT_THAT(outcome.err, HasSubstr("key (2) of index \"orders_pkey\" is taken"));
  EXPECT_EQ(count("orders"), "n\n2\n");
}

TEST_F(Program, NothingIsLoadedIfTheRowsCannotBeSaved) {
  init();
  std::mt19937 random(1);
  std::string csv = "i_id,i_name\n";
  for (int i = 0; i < 100'000; ++i) {
    csv += std::to_string(i) + ",";
    for (int letter = 0; letter < 24; ++letter) csv += static_cast<char>('a' + random() % 26);
    csv += "\n";
  }
  const std::string file = folder_.file("rows.csv", csv);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit tight{1'500'000, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Outcome outcome = run({"load", shop_, "item", file});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no space left: "));
  EXPECT_THAT(outcome.err, HasSubstr("nothing was loaded: the rows were read, but the database"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("closing"))) << "a save that is told of is the last one";
  EXPECT_EQ(count("item"), "n\n0\n");
}

TEST_F(Program, AnUnknownTableIsNamedWithThoseThatThereAre) {
  init();
  const Outcome outcome = load("items", "i_id\n1\n");
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("there is no table \"items\""));
  EXPECT_THAT(outcome.err, HasSubstr("item, orders"));
}

TEST_F(Program, ADirectoryThatIsNoDatabaseIsRefused) {
  fs::create_directory(folder_.path("photos"));
  folder_.file("photos/a.jpg", "not a database");
  const Outcome outcome = run({"query", folder_.path("photos"), "-c", "SELECT 1"});
  expect_outcome(outcome, 1);
  EXPECT_TRUE(fs::exists(folder_.path("photos/a.jpg")));
  expect_outcome(
      run({"init", folder_.path("photos"), "--schema", folder_.file("shop.sql", kSchema)}), 1);
  EXPECT_TRUE(fs::exists(folder_.path("photos/a.jpg")));
}

TEST_F(Program, SqlErrorsHaveAPositionAndDoNotHoldUpOtherQueries) {
  init();
  const Outcome outcome =
      run({"query", shop_, "--format", "csv", "-c", "SELECT nothing FROM item", "-c",
           "SELECT count(*) AS n FROM item", "-c", "SELECT count(* FROM item"});
  expect_outcome(outcome, 1);
  EXPECT_EQ(outcome.out, "\nn\n0\n\n");
  EXPECT_THAT(outcome.err, HasSubstr("-c number 1: "));
  EXPECT_THAT(outcome.err, HasSubstr("line 1, column 8"));
  EXPECT_THAT(outcome.err, HasSubstr("-c number 3: "));
  EXPECT_THAT(outcome.err, HasSubstr("batch: 3 statements"));
}

TEST_F(Program, StatementsComeFromArgumentsFilesAndStandardInput) {
  init();
  expect_outcome(load("orders", "o_id\n1\n2\n"), 0);
  const std::string two = "SELECT count(*) AS n FROM orders;\nSELECT max(o_id) AS m FROM orders\n";
  const std::string expected = "n\n2\n\nm\n2\n";
  const std::vector<std::string> csv = {"query", shop_, "--format", "csv"};
  EXPECT_EQ(run(csv, {.input = two}).out, expected);
  std::vector<std::string> from_file = csv;
  from_file.insert(from_file.end(), {"-f", folder_.file("two.sql", two)});
  EXPECT_EQ(run(from_file).out, expected);
  std::vector<std::string> from_argument = csv;
  from_argument.insert(from_argument.end(), {"-c", two});
  EXPECT_EQ(run(from_argument).out, expected);
}

TEST_F(Program, JsonIsOneArrayWithAnObjectPerStatement) {
  init();
  expect_outcome(load("item", "i_id,i_name,i_price\n1,a,1.50\n"), 0);
  const Outcome outcome = run({"query", shop_, "--format", "json", "-c",
                               "SELECT i_price FROM item; SELECT absent FROM item"});
  expect_outcome(outcome, 1);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json[0]["columns"][0]["name"], "i_price");
  EXPECT_EQ(json[0]["rows"][0][0], 1.5);
  EXPECT_THAT(outcome.out, HasSubstr("1.50"));
  EXPECT_GT(json[0]["execute_ms"], 0);
  EXPECT_TRUE(json[1].contains("error"));
  EXPECT_EQ(json[1]["sqlstate"], "42703");
  EXPECT_EQ(json[1]["position"], 34);  // in what -c gives
}

TEST_F(Program, AFailedStatementLeavesItsPlaceAmongTheCsvsEmpty) {
  init();
  const auto csv = [&](const std::string& statements) {
    return run({"query", shop_, "--format", "csv", "-c", statements}).out;
  };
  EXPECT_EQ(csv("SELECT 1 AS a; SELECT 1 / 0; SELECT 3 AS c"), "a\n1\n\n\nc\n3\n");
  EXPECT_EQ(csv("SELECT x; SELECT 2 AS b; SELECT 3 AS c"), "\nb\n2\n\nc\n3\n");
  EXPECT_EQ(csv("SELECT 1 AS a; SELECT x; SELECT y"), "a\n1\n\n\n");
  EXPECT_EQ(csv("SELECT x"), "");
}

TEST_F(Program, AnErrorOfSqlBeginsWithItsSqlstate) {
  init();
  const Outcome wrong = run({"query", shop_, "-c", "SELECT o_ids FROM orders"});
  expect_outcome(wrong, 1);
  EXPECT_THAT(wrong.err, HasSubstr("diptych: 42703: invalid argument: -c: "));
  EXPECT_THAT(wrong.err, HasSubstr("line 1, column 8"));
  EXPECT_THAT(wrong.err, HasSubstr("did you mean \"o_id\"?"));
  const Outcome failed = run({"query", shop_, "-c", "SELECT 1 / 0"});
  EXPECT_THAT(failed.err, HasSubstr("diptych: 22012: "));
  const Outcome refused = run({"query", shop_, "-c", "SELECT ARRAY[1]"});
  EXPECT_THAT(refused.err, HasSubstr("diptych: 0A000: unsupported: -c: "));
}

TEST_F(Program, TheTableHasRowsAndTimeAndGoesToStandardOutputAlone) {
  init();
  const Outcome outcome = run({"query", shop_, "-c", "SELECT o_id FROM orders"});
  expect_outcome(outcome, 0);
  EXPECT_EQ(outcome.out, " o_id\n------\n(0 rows)\n");
  EXPECT_THAT(outcome.err, HasSubstr(" ms\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
}

TEST_F(Program, AFullOutputIsAnErrorInEverySubcommand) {
  const std::string schema = folder_.file("shop.sql", kSchema);
  const std::string json_path = folder_.path("tpcc.json");
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"init", shop_, "--schema", schema},
      {"load", shop_, "orders", folder_.file("orders.csv", "o_id\n1\n")},
      {"query", shop_, "-c", "SELECT o_id FROM orders"},
      {"bench", "tpcc", "--seconds", "0.1", "--warmup", "0", "--json", json_path}};
  for (const auto& command : commands) {
    SCOPED_TRACE(command[0]);
    const Outcome outcome = run(command, {.output_path = "/dev/full"});
    expect_outcome(outcome, 1);
    EXPECT_THAT(outcome.err, HasSubstr("standard output: No space left on device"));
  }
  EXPECT_TRUE(fs::exists(json_path)) << "what was measured is kept";
}

TEST_F(Program, AFullStandardErrorChangesNothingElse) {
  init();
  const Streams full = {.error_path = "/dev/full"};
  expect_outcome(run({"load", shop_, "nosuch", folder_.file("a.csv", "a\n")}, full), 1);
  expect_outcome(run({"query"}, full), 2);
  const Outcome queried = run({"query", shop_, "--format", "csv", "-c", "SELECT 1 AS n"}, full);
  expect_outcome(queried, 0);
  EXPECT_EQ(queried.out, "n\n1\n");
}

TEST_F(Program, ClosedDescriptorsAreNotTakenForTheDatabasesFiles) {
  init();
  const std::string csv = folder_.file("a.csv", "a\n");
  expect_outcome(run({"query", shop_, "-c", "SELECT 1"}, {.output_path = kClosed}), 1);
  expect_outcome(run({"load", shop_, "nosuch", csv}, {.error_path = kClosed}), 1);
  EXPECT_EQ(fs::file_size(shop_ + "/lock"), 0u);
}

TEST_F(Program, ALongPathIsTheSystemsErrorAndNotAnException) {
  const std::string schema = folder_.file("shop.sql", kSchema);
  const Outcome outcome = run({"init", folder_.path(std::string(300, 'x')), "--schema", schema});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("File name too long"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("filesystem error")));
}

TEST_F(Program, TryingWhetherAReportCanBeWrittenLeavesNothing) {
  expect_outcome(run({"bench", "tpcc", "--log", "command", "--json", folder_.path("a.json")}), 2);
  EXPECT_TRUE(fs::is_empty(folder_.path(".")));
}

TEST_F(Program, ErrorsGivePositionsInTheScript) {
  init();
  const std::string script = "select 1; -- select bad\n\n /* \u00e4 */ select bad";
  const Outcome outcome = run({"query", shop_, "-f", folder_.file("bad.sql", script)});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("bad.sql, statement 2: "));
  EXPECT_THAT(outcome.err, HasSubstr("(line 3, column 17: \"bad\")"));
}

TEST_F(Program, AnErrorOfASystemTablesQueryIsItsOwn) {
  init();
  const Outcome failed =
      run({"query", shop_, "-c", "SELECT 1 / (value - value) FROM diptych_metrics"});
  EXPECT_THAT(failed.err, HasSubstr("diptych: 22012: "));
  const Outcome wrong =
      run({"query", shop_, "-c", "SELECT 1;\nSELECT absent FROM diptych_metrics"});
  EXPECT_THAT(wrong.err, HasSubstr("no such column \"absent\" (line 2, column 8: \"absent\")"));
}

TEST_F(Program, UnquotedNamesFoldToLowerCase) {
  init();
  const Outcome outcome = load("ORDERS", "O_ID\n1\n");
  expect_outcome(outcome, 0);
  EXPECT_THAT(outcome.out, HasSubstr("loaded 1 row into orders in "));
  expect_outcome(load("orders", "\"O_ID\"\n2\n"), 0);
}

TEST_F(Program, RowsComeFromStandardInput) {
  init();
  expect_outcome(run({"load", shop_, "orders", "-"}, {.input = "o_id\n1\n"}), 0);
  EXPECT_EQ(count("orders"), "n\n1\n");
  const Outcome outcome = run({"load", shop_, "orders", "-"}, {.input = "absent\n1\n"});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("standard input: header: "));
}

TEST_F(Program, ADatabaseThatAnotherProcessHasOpenIsInUse) {
  init();
  ASSERT_EQ(mkfifo(folder_.path("rows").c_str(), 0600), 0);
  RunningProgram loading({"load", shop_, "orders", folder_.path("rows")}, {});
  // Opening it waits for the other side, which has the database open then.
  std::ofstream rows(folder_.path("rows"));
  const Outcome outcome = run({"query", shop_, "-c", "SELECT 1"});
  expect_outcome(outcome, 1);
  EXPECT_THAT(outcome.err, HasSubstr("diptych: in use: this or another process has "));
  rows << "o_id\n1\n";
  rows.close();
  expect_outcome(loading.finish(), 0);
}

TEST_F(Program, ABenchmarkReportsTheKeysThatScriptsRelyOn) {
  const std::string json_path = folder_.path("tpcc.json");
  const Outcome outcome = run({"bench", "tpcc", "--warehouses", "1", "--seconds", "0.5", "--warmup",
                               "0.1", "--clients", "4", "--json", json_path});
  expect_outcome(outcome, 0);
  std::ifstream file(json_path);
  const auto json = nlohmann::json::parse(file);
  for (const char* key : {"transactions_per_second", "queries_per_second", "aborts_per_second",
                          "transaction_latency_ms", "query_latency_ms", "freshness_ms", "apply_ms",
                          "consistency_violations", "replica_differences", "machine",
                          "configuration", "seed", "commit"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_GT(json["transactions_per_second"], 0);
  EXPECT_EQ(json["consistency_violations"], 0);
  EXPECT_EQ(json["replica_differences"], 0);
}

// Reads what the program shows on the terminal, until the text is there or nobody can write to it.
std::string shown_until(int terminal, const std::string& text) {
  std::string shown;
  std::array<char, 4096> buffer;
  while (shown.find(text) == std::string::npos) {
    const ssize_t bytes = ::read(terminal, buffer.data(), buffer.size());
    if (bytes <= 0) break;
    shown.append(buffer.data(), static_cast<size_t>(bytes));
  }
  return shown;
}

TEST_F(Program, CtrlCEndsABenchmarkWithWhatWasMeasured) {
  // Progress is shown on a terminal only: it tells when there is something to interrupt.
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  RunningProgram program({"bench", "ch", "--warehouses", "1", "--seconds", "3600", "--warmup", "0",
                          "--transaction-clients", "2", "--query-clients", "1"},
                         {.error_path = ptsname(terminal)});
  EXPECT_THAT(shown_until(terminal, "measuring"), HasSubstr("measuring"));
  program.interrupt();
  const std::string shown = shown_until(terminal, "figures are of the time so far");
  const Outcome outcome = program.finish();
  close(terminal);
  expect_outcome(outcome, 0);
  EXPECT_THAT(shown, HasSubstr("ending; Ctrl-C again to quit at once"));
  EXPECT_THAT(shown, HasSubstr("interrupted"));
  EXPECT_NE(outcome.out, "");
}

}  // namespace
}  // namespace diptych::cli
