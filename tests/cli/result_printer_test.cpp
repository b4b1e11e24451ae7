#include "cli/result_printer.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace diptych::cli {
namespace {

using base::TypeKind;
using base::Value;
using dispatcher::QueryResult;

using Rows = std::vector<std::vector<Value>>;

void set_rows(QueryResult* result, const Rows& rows) {
  result->rows = dispatcher::ResultRows(dispatcher::ResultTable(result->columns, rows));
}

QueryResult result_of_orders() {
  QueryResult result;
  result.columns = {{"id", {.kind = TypeKind::kBigInt}},
                    {"note", {.kind = TypeKind::kVarchar, .length = 20}},
                    {"total", {.kind = TypeKind::kDecimal, .precision = 12, .scale = 2}},
                    {"day", {.kind = TypeKind::kDate}}};
  set_rows(&result, {{Value(int64_t{1}), Value(std::string("caf\u00e9")),
                      Value(base::DecimalValue{-1250, 2}), Value(base::Date{0})},
                     {Value(int64_t{200}), Value(), Value(), Value()},
                     {Value(int64_t{3}), Value(std::string("a \"b\",\nc")),
                      Value(base::DecimalValue{5, 2}), Value(base::Date{1})}});
  return result;
}

TEST(ResultTable, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(whole_text(to_table, result_of_orders()),
            "  id | note      |  total | day\n"
            "-----+-----------+--------+------------\n"
            "   1 | caf\u00e9      | -12.50 | 1970-01-01\n"
            " 200 | NULL      |   NULL | NULL\n"
            "   3 | a \"b\",\\nc |   0.05 | 1970-01-02\n"
            "(3 rows)\n");
}

TEST(ResultPrinter, GivesItsTextRowByRow) {
  constexpr int64_t kRows = 1'000;
  QueryResult result;
  result.columns = {{"n", {.kind = TypeKind::kBigInt}}};
  Rows rows;
  for (int64_t i = 0; i < kRows; ++i) rows.push_back({Value(i)});
  set_rows(&result, rows);
  for (const ToText to_text : {ToText(to_table), ToText(to_csv), ToText(to_json)}) {
    int64_t pieces = 0;
    to_text(result, [&pieces](std::string_view piece) {
      ++pieces;
      EXPECT_LT(piece.size(), 100U);
    });
    EXPECT_GE(pieces, kRows);
  }
}

// A terminal takes U+009B for the beginning of an escape sequence.
TEST(ResultTable, ControlCharactersAreEscaped) {
  QueryResult result;
  result.columns = {{"t", {.kind = TypeKind::kVarchar}}};
  set_rows(&result, {{Value(std::string("a\x1b\u009b1mz\u0080\u00a0\u00e9"))},
                     {Value(std::string("\xc2"))}});
  EXPECT_EQ(whole_text(to_table, result),
            " t\n"
            "------------------------\n"
            " a\\x1b\\u009b1mz\\u0080\u00a0\u00e9\n"
            " \xc2\n"
            "(2 rows)\n");
}

TEST(ResultTable, IntervalsAreTextsOfTheirOwnType) {
  QueryResult result;
  result.columns = {{"age", {.kind = TypeKind::kInterval}}};
  set_rows(&result, {{Value(base::Interval{14, -3, 1'500'000})}, {Value()}});
  EXPECT_EQ(whole_text(to_table, result),
            " age\n"
            "-----------------------------------\n"
            " 1 year 2 mons -3 days +00:00:01.5\n"
            " NULL\n"
            "(2 rows)\n");
  EXPECT_EQ(whole_text(to_csv, result), "age\n1 year 2 mons -3 days +00:00:01.5\n\"\"\n")
      << "an empty line ends a CSV";
  const auto json = nlohmann::json::parse(whole_text(to_json, result));
  EXPECT_EQ(json["columns"][0]["type"], "INTERVAL");
  EXPECT_EQ(json["rows"][0][0], "1 year 2 mons -3 days +00:00:01.5");
  EXPECT_TRUE(json["rows"][1][0].is_null());
}

TEST(ResultTable, AResultWithoutRowsKeepsItsHeader) {
  QueryResult result;
  result.columns = {{"n", {.kind = TypeKind::kInt}}};
  EXPECT_EQ(whole_text(to_table, result), " n\n---\n(0 rows)\n");
}

TEST(ResultCsv, QuotesWhatMustBeAndTellsNullFromEmpty) {
  QueryResult result = result_of_orders();
  Rows rows = result.rows;
  rows.push_back({Value(int64_t{4}), Value(std::string()), Value(), Value(base::Date{-1})});
  set_rows(&result, rows);
  EXPECT_EQ(whole_text(to_csv, result),
            "id,note,total,day\n"
            "1,caf\u00e9,-12.50,1970-01-01\n"
            "200,,,\n"
            "3,\"a \"\"b\"\",\nc\",0.05,1970-01-02\n"
            "4,\"\",,1969-12-31\n");
}

TEST(ResultJson, IsJsonWithExactDecimals) {
  const std::string text = whole_text(to_json, result_of_orders());
  EXPECT_NE(text.find("-12.50"), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["columns"][2]["name"], "total");
  EXPECT_EQ(json["columns"][2]["type"], "DECIMAL(12,2)");
  EXPECT_EQ(json["rows"][0][1], "caf\u00e9");
  EXPECT_EQ(json["rows"][0][3], "1970-01-01");
  EXPECT_TRUE(json["rows"][1][1].is_null());
  EXPECT_EQ(json["rows"][2][1], "a \"b\",\nc");
}

TEST(ResultJson, LargeNumbersKeepAllDigits) {
  QueryResult result;
  result.columns = {{"sum", {.kind = TypeKind::kDecimal, .precision = 18, .scale = 2}}};
  base::int128_t units = INT64_MAX;
  units = units * 1000 + 7;
  set_rows(&result, {{Value(base::DecimalValue{units, 2})}});
  EXPECT_NE(whole_text(to_json, result).find("[92233720368547758070.07]"), std::string::npos)
      << whole_text(to_json, result);
}

TEST(ResultJson, WhatJsonCannotSayAsANumberIsAString) {
  QueryResult result;
  result.columns = {{"x", {.kind = TypeKind::kDouble}}, {"y", {.kind = TypeKind::kBoolean}}};
  set_rows(&result, {{Value(INFINITY), Value(true)}, {Value(1e300), Value(false)}});
  const auto json = nlohmann::json::parse(whole_text(to_json, result));
  EXPECT_EQ(json["rows"][0][0], "Infinity");
  EXPECT_EQ(json["rows"][0][1], true);
  EXPECT_EQ(json["rows"][1][0], 1e300);
}

TEST(ResultJson, AnErrorStandsInTheResultsPlace) {
  const auto json = nlohmann::json::parse(
      json_error({base::ErrorCode::kSyntaxError, "line 1, column 3: \"x\" is unexpected"}));
  EXPECT_EQ(json["error"], "syntax error: line 1, column 3: \"x\" is unexpected");
  EXPECT_EQ(json["sqlstate"], "42601");
  EXPECT_EQ(json["position"], 0);
}

}  // namespace
}  // namespace diptych::cli
