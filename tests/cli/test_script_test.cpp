// Test scripts: the file format, records, loops, what is refused and where.

#include "cli/test_script.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace diptych::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<TestRecord> records_of(std::string_view text) {
  auto parsed = parse_test_script(text);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().to_string();
    return {};
  }
  return std::move(*parsed);
}

std::string fault_of(std::string_view text) {
  const auto parsed = parse_test_script(text);
  return parsed ? std::string("none") : parsed.error().message;
}

TEST(TestScript, RecordsHaveTheirLinesAndParts) {
  const auto records = records_of(
      "# a comment\n\nstatement ok\nCREATE TABLE t\n(a INT)\n\n\nquery IT rowsort same\n"
      "SELECT 1,\n'x'\n----\n1\tx\n\nstatement error division by .*zero\nSELECT 1/0\r\n\n"
      "query I nosort two\nSELECT 2");
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].kind, TestRecordKind::kStatementOk);
  EXPECT_EQ(records[0].line, 3U);
  EXPECT_EQ(records[0].sql, "CREATE TABLE t\n(a INT)");
  EXPECT_EQ(records[1].kind, TestRecordKind::kQuery);
  EXPECT_EQ(records[1].line, 8U);
  EXPECT_EQ(records[1].sql_line, 9U);
  EXPECT_EQ(records[1].types, "IT");
  EXPECT_EQ(records[1].sort, TestSort::kRows);
  EXPECT_EQ(records[1].label, "same");
  EXPECT_THAT(*records[1].expected, ElementsAre("1\tx"));
  EXPECT_EQ(records[2].error_text, "division by .*zero");
  EXPECT_TRUE(records[2].error_is_regex);
  EXPECT_EQ(records[2].sql, "SELECT 1/0");
  EXPECT_FALSE(records[3].expected.has_value());
}

// "----" with nothing below it: no row is expected, which is not the same as nothing expected.
TEST(TestScript, AnEmptyResultIsAnExpectedOne) {
  const auto records = records_of("query I\nSELECT 1\n----\n\n");
  ASSERT_TRUE(records[0].expected.has_value());
  EXPECT_TRUE(records[0].expected->empty());
}

TEST(TestScript, ErrorsBelowTheLineAreTextOrAnExpression) {
  const auto records = records_of(
      "statement error\nA\n----\nno (such) table\n\nstatement error\nB\n----\n<REGEX>:no.*x\n");
  EXPECT_EQ(records[0].error_text, "no (such) table");
  EXPECT_FALSE(records[0].error_is_regex);
  EXPECT_EQ(records[1].error_text, "no.*x");
  EXPECT_TRUE(records[1].error_is_regex);
}

TEST(TestScript, ConditionsHoldForTheNextRecordAlone) {
  const auto records = records_of(
      "skipif diptych\nstatement ok\nA\n\nskipif mysql\nstatement ok\nB\n\nonlyif mysql\n"
      "some record of theirs\nC\n\nonlyif diptych\nstatement ok\nD\n\nstatement ok\nE\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].sql, "B");
  EXPECT_EQ(records[1].sql, "D");
  EXPECT_EQ(records[2].sql, "E");
}

TEST(TestScript, HaltEndsTheFileUnlessItIsSkipped) {
  EXPECT_EQ(records_of("statement ok\nA\n\nhalt\n\nstatement ok\nB\n").size(), 1U);
  EXPECT_EQ(records_of("onlyif mysql\nhalt\n\nhash-threshold 8\n\nstatement ok\nB\n").size(), 1U);
}

TEST(TestScript, LoopsRepeatTheirRecords) {
  const auto records = records_of(
      "loop i 1 3\n\nforeach x a b\n\nstatement ok\nINSERT ${i} ${x}\n\nendloop\n\nendloop\n\n"
      "statement ok\nlast\n");
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].sql, "INSERT 1 a");
  EXPECT_EQ(records[3].sql, "INSERT 2 b");
  EXPECT_EQ(records[3].line, 5U);
  EXPECT_EQ(records[4].sql, "last");
}

TEST(TestScript, LoopsEndWhateverBlanksStandAroundTheirWords) {
  const auto records = records_of(
      "loop i 0 2\n loop\tj 0 2 \nstatement ok\n${i} ${j}\n\nendloop \n\tendloop\t\nstatement "
      "ok\nA\n");
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[2].sql, "1 0");
}

TEST(TestScript, LoopsOfNothingEndToo) {
  const std::string text = "loop i 0 1000000\nloop j 0 1000000\n# nothing\nendloop\nendloop\n";
  EXPECT_EQ(fault_of(text), "line 2: loops go through more than 2000000 rounds");
}

TEST(TestScript, LoopsInEachOtherHaveALimit) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "foreach x" + std::to_string(i) + " 1\n";
    text += "statement ok\nA\n\n";
    for (int i = 0; i < depth; ++i) text += "endloop\n";
    return text;
  };
  EXPECT_EQ(records_of(nested(64)).size(), 1U);
  EXPECT_EQ(fault_of(nested(65)), "line 65: more than 64 loops in each other");
}

// Each loop doubles what stands in the next ones.
TEST(TestScript, WhatLoopsRepeatHasALimit) {
  const auto doubled = [](int loops) {
    std::string text = "foreach x0 ab\n";
    for (int i = 1; i < loops; ++i) {
      text += fmt::format("foreach x{} ${{x{}}}${{x{}}}\n", i, i - 1, i - 1);
    }
    text += fmt::format("statement ok\n${{x{}}}\n\n", loops - 1);
    for (int i = 0; i < loops; ++i) text += "endloop\n";
    return text;
  };
  ASSERT_EQ(records_of(doubled(10)).size(), 1U);
  EXPECT_EQ(records_of(doubled(10)).front().sql.size(), 1024U);
  EXPECT_EQ(fault_of(doubled(40)), "line 26: loops repeat more than 256 MiB");
  const std::string many = "loop i 0 1000000\nstatement ok\n" + std::string(100'000, 'x');
  EXPECT_EQ(fault_of(many + "\n\nendloop\n"), "line 1: loops repeat more than 256 MiB");
}

TEST(TestScript, RequireAndModeAreRecordsThatAreSkipped) {
  const auto records = records_of(
      "require icu\n\nmode output_hash\n\nstatement ok\nA\n\nskipif diptych\nrequire more\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].kind, TestRecordKind::kSkipped);
  EXPECT_EQ(records[0].line, 1U);
  EXPECT_EQ(records[0].sql, "require icu");
  EXPECT_EQ(records[1].kind, TestRecordKind::kSkipped);
  EXPECT_EQ(records[2].sql, "A");
}

TEST(TestScript, WhatOnlyOtherProgramsDoIsSkipped) {
  const auto records = records_of(
      "restart\nset seed 1\nload a.db readonly\nload a a.csv\n"
      "require-env HOME\nsleep 1 second\n\nstatement ok\nA\n\n"
      "concurrentloop i 0 2\n\nstatement ok\nB ${i}\n\nendloop\n");
  ASSERT_EQ(records.size(), 9U);
  for (const size_t i : {0, 1, 2, 4, 5}) EXPECT_EQ(records[i].kind, TestRecordKind::kSkipped);
  EXPECT_EQ(records[2].sql, "load a.db readonly");
  EXPECT_EQ(records[3].kind, TestRecordKind::kLoad);
  EXPECT_EQ(records[6].sql, "A");
  EXPECT_EQ(records[8].sql, "B 1");
}

TEST(TestScript, ARecordOfOneLineNeedsNoEmptyLineBehindIt) {
  const auto records = records_of(
      "require icu\nload a a.csv\nhash-threshold 8\nload b b.csv\nstatement ok\nA\n\n"
      "mode skip\nnonsense\nmode unskip\nstatement ok\nB\n");
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[1].table, "a");
  EXPECT_EQ(records[2].table, "b");
  EXPECT_EQ(records[3].sql, "A");
  EXPECT_EQ(records[4].sql, "B");
  EXPECT_EQ(fault_of("load a a.csv\nnonsense\n"), "line 2: unknown record \"nonsense\"");
}

TEST(TestScript, WhatModeSkipLeavesOutMayHoldAnything) {
  const auto records = records_of(
      "statement ok\nA\n\nmode skip\n\nnonsense\n\nhalt\n\nloop i 0 2\n\n"
      "statement ok\nB\n\nendloop\n\nmode unskip\n\nstatement ok\nC\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].sql, "A");
  EXPECT_EQ(records[1].kind, TestRecordKind::kSkipped);
  EXPECT_EQ(records[1].line, 12U);
  EXPECT_EQ(records[1].sql, "statement ok");
  EXPECT_EQ(records[2].sql, "C");
}

TEST(TestScript, AStatementMayHaveACountOfRows) {
  const auto records = records_of("statement count 3\nA\n\nstatement ok\nB\n");
  EXPECT_EQ(records[0].kind, TestRecordKind::kStatementOk);
  EXPECT_EQ(records[0].row_count, 3U);
  EXPECT_EQ(records[1].row_count, std::nullopt);
  for (const char* const text : {"statement count\nA\n", "statement count x\nA\n",
                                 "statement count -1\nA\n", "statement count 1 2\nA\n"}) {
    EXPECT_EQ(fault_of(text), "line 1: statement count wants a number of rows");
  }
}

TEST(TestScript, WhatIsWrongIsToldWithItsLine) {
  EXPECT_EQ(fault_of("\nnonsense\n"), "line 2: unknown record \"nonsense\"");
  EXPECT_EQ(fault_of("statement maybe\nA\n"),
            "line 1: statement must be followed by ok, error or count");
  EXPECT_EQ(fault_of("statement ok\n\nA\n"), "line 1: the SQL is missing");
  EXPECT_EQ(fault_of("statement ok\nA\n----\n1\n"), "line 1: a statement that is ok has no result");
  EXPECT_EQ(fault_of("query I\nA\n"),
            "line 1: the line of ---- and the result below it are missing");
  EXPECT_EQ(fault_of("query\nA\n"), "line 1: the types of the columns are missing");
  EXPECT_EQ(fault_of("query IX\nA\n"), "line 1: types of columns are T, I and R");
  EXPECT_THAT(fault_of("query I sorted\nA\n"), HasSubstr("\"sorted\" is none of"));
  EXPECT_EQ(fault_of("loop i 1 2\nstatement ok\nA\n"), "line 1: its endloop is missing");
  EXPECT_THAT(fault_of("loop i 1 x\nendloop\n"), HasSubstr("loop wants"));
  EXPECT_THAT(fault_of("loop i 0 9999999999999\nendloop\n"), HasSubstr("loop wants"));
  EXPECT_THAT(fault_of("loop i -9223372036854775808 9223372036854775807\nendloop\n"),
              HasSubstr("loop wants"));
  EXPECT_EQ(fault_of("skipif\nstatement ok\nA\n"), "line 1: the name of an engine is missing");
}

TEST(TestScript, AnyCutOfAFileIsReadOrRefused) {
  const std::string text =
      "statement error x\nA\n----\n<REGEX>:q\n\nloop i 0 2\nquery IR valuesort l\nS\n----\n1\n2\n\n"
      "endloop\n\nskipif diptych\nhalt\n\nload t f.csv\n";
  for (size_t end = 0; end <= text.size(); ++end) {
    const auto parsed = parse_test_script(std::string_view(text).substr(0, end));
    const std::string fault = parsed ? "line" : parsed.error().message;
    EXPECT_THAT(fault, HasSubstr("line")) << end;
  }
}

}  // namespace
}  // namespace diptych::cli
