// The command query, as a shell runs it.

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "base/sanitizers.h"
#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using testing::HasSubstr;

class QueryCommandTest : public testing::Test {
 protected:
  QueryCommandTest() {
    const std::string schema = folder_.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY);");
    EXPECT_EQ(run({"init", shop_, "--schema", schema}).code, 0);
  }
  Outcome query(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"query", shop_});
    return run(arguments);
  }

  ScratchFolder folder_;
  std::string shop_ = folder_.path("shop");
};

TEST_F(QueryCommandTest, AQuoteThatStaysOpenIsAStatementsErrorInEachFormat) {
  const char* const said =
      "diptych: 42601: syntax error: -c: unterminated quoted string (line 1, column 11: "
      "\"'open\")\n";
  for (const char* const format : {"table", "csv"}) {
    const Outcome outcome = query({"--format", format, "-c", "SELECT a, 'open"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, said);
  }
  const Outcome outcome = query({"--format", "json", "-c", "SELECT 1; SELECT 'open"});
  EXPECT_EQ(outcome.code, 1);
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.size(), 1);
  EXPECT_EQ(json[0]["sqlstate"], "42601");
  EXPECT_EQ(json[0]["position"], 18);
  EXPECT_THAT(std::string(json[0]["error"]), HasSubstr("unterminated quoted string"));
}

TEST_F(QueryCommandTest, ATextThatCannotBeReadKeepsItsPlaceAndTheOthersRun) {
  for (const char* const unreadable : {"SELECT a, 'open", "SELECT 0x1F", "SELECT 1_000"}) {
    const std::vector<std::string> texts = {"-c", "SELECT 1 AS x",          "-c", unreadable,
                                            "-c", "SELECT 2; SELECT 3 AS y"};
    const auto in = [&](const char* format) {
      std::vector<std::string> arguments = texts;
      arguments.insert(arguments.begin(), {"--format", format});
      return query(arguments);
    };
    const Outcome csv = in("csv");
    EXPECT_EQ(csv.code, 1);
    EXPECT_EQ(csv.out, "x\n1\n\n\n?column?\n2\n\ny\n3\n");
    EXPECT_THAT(csv.err, HasSubstr("diptych: 42601: syntax error: -c number 2: "));
    EXPECT_THAT(csv.err, HasSubstr("-c number 3, statement 2: 1 row"));
    EXPECT_THAT(in("table").out, HasSubstr("(1 row)"));
    const auto json = nlohmann::json::parse(in("json").out);
    ASSERT_EQ(json.size(), 4);
    EXPECT_EQ(json[0]["rows"][0][0], 1);
    EXPECT_EQ(json[1]["sqlstate"], "42601");
    EXPECT_EQ(json[3]["rows"][0][0], 3);
  }
}

TEST_F(QueryCommandTest, HelpIsGivenWhateverElseIsWrong) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--threads", "none", "-h"}, {"-h", "--bogus"}, {"--bogus", "--help"}}) {
    const Outcome outcome = query(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Usage: diptych query "));
    EXPECT_EQ(outcome.err, "");
  }
  EXPECT_EQ(run({"query", "no such directory", "--bogus"}).code, 2);
  EXPECT_THAT(run({"bogus", "-h"}).out, HasSubstr("Subcommands:"));
}

// "unlimited" gives threads the least of stacks.
TEST_F(QueryCommandTest, NestsAsDeepWithAnyLimitOfStacks) {
  if (base::kSanitized) GTEST_SKIP() << "sanitizers have larger frames";
  constexpr int kDepth = 290;
  std::string sql = "SELECT ";
  for (int i = 0; i < kDepth; ++i) sql += "CASE WHEN x > 0 THEN ";
  sql += "x";
  for (int i = 0; i < kDepth; ++i) sql += " ELSE 1 END";
  sql += " FROM generate_series(7, 7) AS s(x)";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_STACK, &before), 0);
  for (const rlim_t bytes : {rlim_t{1} << 20, RLIM_INFINITY}) {
    rlimit limited = before;
    limited.rlim_cur = std::min(bytes, before.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_STACK, &limited), 0);
    const Outcome outcome = query({"--format", "csv", "-c", sql});
    ASSERT_EQ(::setrlimit(RLIMIT_STACK, &before), 0);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("7"));
  }
}

}  // namespace
}  // namespace diptych::cli
