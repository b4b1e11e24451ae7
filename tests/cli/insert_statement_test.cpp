// INSERT ... VALUES as text: constants, and what is refused with its place.

#include "cli/insert_statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace diptych::cli {
namespace {

using base::Value;
using testing::ElementsAre;

TEST(InsertStatement, RowsAreConstants) {
  const auto insert = parse_insert(
      "insert INTO \"Mixed\" (A, \"B c\")\n VALUES (1, 'it''s'), (-2.50, NULL), (+1e-3, ''),\n"
      "(TRUE, false), (DATE '2020-01-02', timestamp '2020-01-02 03:04:05'), (- -7, .5);");
  ASSERT_TRUE(insert) << insert.error().to_string();
  EXPECT_EQ(insert->table, "Mixed");
  EXPECT_THAT(insert->columns, ElementsAre("a", "B c"));
  using Text = std::string;
  ASSERT_EQ(insert->rows.size(), 6U);
  EXPECT_THAT(insert->rows[0], ElementsAre(Value(Text("1")), Value(Text("it's"))));
  EXPECT_THAT(insert->rows[1], ElementsAre(Value(Text("-2.50")), Value()));
  EXPECT_THAT(insert->rows[2], ElementsAre(Value(Text("1e-3")), Value(Text())));
  EXPECT_THAT(insert->rows[3], ElementsAre(Value(true), Value(false)));
  EXPECT_THAT(insert->rows[4],
              ElementsAre(Value(Text("2020-01-02")), Value(Text("2020-01-02 03:04:05"))));
  EXPECT_THAT(insert->rows[5], ElementsAre(Value(Text("7")), Value(Text(".5"))));
}

TEST(InsertStatement, ValuesWithOtherExpressionsAreAQuery) {
  const auto insert = parse_insert("INSERT INTO t (a) VALUES (1), (1 + 2), (now())");
  ASSERT_TRUE(insert) << insert.error().to_string();
  EXPECT_EQ(insert->query, std::string(18, ' ') + "VALUES (1), (1 + 2), (now())");
  EXPECT_TRUE(insert->rows.empty());
  EXPECT_THAT(insert->columns, ElementsAre("a"));
}

TEST(InsertStatement, WhatIsNoConstantIsRefusedWithItsPlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"INSERT t VALUES (1)", "\"into\" is expected (line 1, column 8)"},
      {"INSERT INTO t VALUES 1", "\"(\" is expected (line 1, column 22)"},
      {"INSERT INTO t FROM u", "\"values\" is expected (line 1, column 15)"},
      {"INSERT INTO t VALUES (1,)", "a constant is expected (line 1, column 25)"},
      {"INSERT INTO t VALUES (-'1')", "a number is expected (line 1, column 24)"},
      {"INSERT INTO t VALUES ('open)", "a constant is expected (line 1, column 23)"},
      {"INSERT INTO t VALUES (1) x", "the end of the statement is expected (line 1, column 26)"},
      {"INSERT INTO t (1) VALUES (1)", "a column is expected (line 1, column 16)"},
      {"INSERT INTO t VALUES", "\"(\" is expected (line 1, column 21)"},
  };
  for (const auto& [sql, why] : wrong) {
    const auto insert = parse_insert(sql);
    ASSERT_FALSE(insert) << sql;
    EXPECT_EQ(insert.error().message, why) << sql;
  }
}

TEST(InsertStatement, IsToldFromOthers) {
  EXPECT_TRUE(is_insert(" \n Insert into t"));
  EXPECT_FALSE(is_insert("SELECT 1"));
  EXPECT_FALSE(is_insert(""));
  EXPECT_FALSE(is_insert("   "));
}

}  // namespace
}  // namespace diptych::cli
