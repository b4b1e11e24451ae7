// What is computed of literals while a statement is planned.

#include <gmock/gmock.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

class SqlConstantTest : public SqlTest {
 protected:
  // The values of a SELECT of constants, as EXPLAIN shows them.
  std::string values(std::string_view expressions) const {
    return plan("SELECT " + std::string(expressions));
  }
};

TEST_F(SqlConstantTest, FunctionsOfLiteralsAreLiterals) {
  EXPECT_EQ(values("upper('x'), to_date('2024-02-01', 'YYYY-MM-DD'), make_date(2024, 2, 1), "
                   "split_part('a,17', ',', 2)::int, power(10, 4), 'abc' LIKE 'a%'"),
            "values ['X', '2024-02-01', '2024-02-01', 17, 10000, true]\n");
  EXPECT_EQ(
      values("concat('a', NULL, 1, 2.5), concat_ws('-', 'a', NULL, 3), "
             "date_trunc('month', DATE '2024-05-05'), DATE '2024-01-31' + INTERVAL '1 month'"),
      "values ['a12.5', 'a-3', '2024-05-01 00:00:00', '2024-02-29 00:00:00']\n");
}

TEST_F(SqlConstantTest, BoundsOfScansAreSeenThroughThem) {
  EXPECT_EQ(plan("SELECT c_id FROM child WHERE c_at >= to_date('2024-02-01', 'YYYY-MM-DD')"),
            "project [c_id]\n"
            "  scan child [c_id, c_at] where (c_at >= '2024-02-01 00:00:00')\n");
}

TEST_F(SqlConstantTest, WhatFailsIsLeftToTheRows) {
  EXPECT_THAT(values("1 / 0"), testing::HasSubstr("(1 / 0)"));
  EXPECT_THAT(values("sqrt(-1)"), testing::HasSubstr("sqrt"));
  EXPECT_THAT(values("'a'::text::int"), testing::HasSubstr("INT"));
}

TEST_F(SqlConstantTest, WhatIsLargeIsLeftToTheRows) {
  EXPECT_THAT(values("repeat('a', 100000000)"), testing::HasSubstr("repeat("));
}

}  // namespace
}  // namespace diptych::olap
