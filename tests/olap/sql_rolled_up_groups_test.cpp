// Which GROUP BYs read the groups of finer ones, and which must not.

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

using RolledUpGroupsTest = SqlTest;

TEST_F(RolledUpGroupsTest, ATotalBesideItsGroupsReadsTheGroups) {
  EXPECT_EQ(plan("select c_p_id, sum(c_amount) from child join parent on c_p_id = p_id "
                 "where c_day > date '2020-01-01' group by c_p_id "
                 "having sum(c_amount) > (select sum(c_amount) from child join parent "
                 "on c_p_id = p_id where c_day > date '2020-01-01')"),
            R"(project [c_p_id, sum(c_amount)]
  filter (sum(c_amount) > sum(sum(c_amount)))
    inner join of every pair
      aggregate [sum(c_amount)] by [c_p_id]
        inner join on c_p_id = p_id
          scan child [c_p_id, c_amount, c_day] where (c_day > '2020-01-01')
          scan parent [p_id]
      aggregate [sum(sum(c_amount))] by []
        aggregate [sum(c_amount)] by [c_p_id]
          inner join on c_p_id = p_id
            scan child [c_p_id, c_amount, c_day] where (c_day > '2020-01-01')
            scan parent [p_id]
)");
}

// Columns that only the finer one reads make no other rows, nor do more aggregates.
TEST_F(RolledUpGroupsTest, TheFinerOneMayReadMoreColumns) {
  const std::string text = plan(
      "select * from (select c_flag, min(c_id) from child group by c_flag) a, "
      "(select c_flag, c_p_id, max(c_big), min(c_id) from child group by c_flag, c_p_id) b");
  EXPECT_NE(text.find("aggregate [min(min(c_id))] by [c_flag]\n"
                      "      aggregate [max(c_big), min(c_id)] by [c_flag, c_p_id]\n"),
            std::string::npos)
      << text;
}

class RolledUpAggregates : public RolledUpGroupsTest {
 protected:
  // Whether `coarse` reads groups of the finer query.
  bool rolls_up(std::string_view coarse) const {
    const std::string text = plan(fmt::format(
        "select * from ({}) a, (select c_flag, c_p_id, sum(c_id), sum(c_big), sum(c_amount), "
        "sum(c_ratio), min(c_text), max(c_at), count(*), count(c_at), avg(c_id), "
        "count(distinct c_big) from child where c_id > 7 "
        "group by c_flag, c_p_id) b",
        coarse));
    size_t line = 0;
    for (bool over_groups = false; line < text.size(); line = text.find('\n', line) + 1) {
      const bool groups = text.compare(text.find_first_not_of(' ', line), 9, "aggregate") == 0;
      if (over_groups && groups) return true;
      over_groups = groups;
    }
    return false;
  }
};

TEST_F(RolledUpAggregates, ExactSumsExtremesAndCountsByKeyDo) {
  for (const char* one : {"sum(c_id)", "sum(c_big)", "sum(c_amount)", "min(c_text)", "max(c_at)"}) {
    EXPECT_TRUE(rolls_up(fmt::format("select {} from child where c_id > 7", one))) << one;
  }
  for (const char* one : {"sum(c_id)", "min(c_text)", "count(*)", "count(c_at)"}) {
    EXPECT_TRUE(
        rolls_up(fmt::format("select c_p_id, {} from child where c_id > 7 group by c_p_id", one)))
        << one;
  }
}

TEST_F(RolledUpAggregates, OthersAndOtherRowsDoNot) {
  // Of no rows a count is 0, and a sum of counts NULL.
  for (const char* one : {"count(*)", "count(c_at)"}) {
    EXPECT_FALSE(rolls_up(fmt::format("select {} from child where c_id > 7", one))) << one;
  }
  for (const char* one : {"avg(c_id)", "sum(c_ratio)", "count(distinct c_big)", "max(c_text)",
                          "string_agg(c_text, ',')", "sum(distinct c_id)", "sum(c_id + 1)"}) {
    EXPECT_FALSE(
        rolls_up(fmt::format("select c_p_id, {} from child where c_id > 7 group by c_p_id", one)))
        << one;
  }
  EXPECT_FALSE(rolls_up("select sum(c_id) from child where c_id > 8"));
  EXPECT_FALSE(rolls_up("select sum(c_id) from child where c_id > 7 and c_flag"));
  EXPECT_FALSE(rolls_up("select sum(c_id) from child"));
  EXPECT_FALSE(rolls_up("select c_at, sum(c_id) from child where c_id > 7 group by c_at"));
  EXPECT_FALSE(rolls_up("select sum(c_id) from child join parent on c_p_id = p_id where c_id > 7"));
}

// Where the plan runs no finer one, nothing is divided.
TEST_F(RolledUpGroupsTest, WhatMayFailInTheFinerOneAloneKeepsThemApart) {
  const auto text_of = [this](std::string_view finer, std::string_view keys) {
    return plan(
        fmt::format("select * from (select sum(c_id) from child) a, (select {}, "
                    "sum(c_id) {} from child group by {}) b",
                    keys, finer, keys));
  };
  EXPECT_NE(text_of("", "c_flag").find("sum(sum("), std::string::npos);
  EXPECT_NE(text_of(", max(c_big)", "c_flag").find("sum(sum("), std::string::npos);
  EXPECT_EQ(text_of(", max(1 / c_big)", "c_flag").find("sum(sum("), std::string::npos);
  EXPECT_EQ(text_of("", "c_flag, 1 / c_p_id").find("sum(sum("), std::string::npos);
}

TEST_F(RolledUpGroupsTest, JoinsOfOtherKindsHaveOtherRows) {
  const auto text_of = [this](std::string_view join, std::string_view other) {
    return plan(
        fmt::format("select * from (select sum(c_amount) from child {} join parent on "
                    "c_p_id = p_id and p_kind = 'a') a, (select c_flag, sum(c_amount) from "
                    "child {} join parent on c_p_id = p_id and p_kind = 'a' "
                    "group by c_flag) b",
                    join, other));
  };
  EXPECT_NE(text_of("left", "left").find("sum(sum("), std::string::npos);
  EXPECT_EQ(text_of("left", "inner").find("sum(sum("), std::string::npos);
}

TEST_F(RolledUpGroupsTest, ZerosOfTwoSignsMakeOtherRows) {
  const auto text_of = [this](std::string_view zero) {
    return plan(
        fmt::format("select * from (select sum(c_id) from child where "
                    "cast(c_ratio * {} as text) = '-0') a, (select c_flag, sum(c_id) from "
                    "child where cast(c_ratio * 0e0 as text) = '-0' group by c_flag) b",
                    zero));
  };
  EXPECT_NE(text_of("0e0").find("sum(sum("), std::string::npos);
  EXPECT_EQ(text_of("-0e0").find("sum(sum("), std::string::npos);
}

TEST_F(RolledUpGroupsTest, GroupsOfGroupsReadGroups) {
  const std::string text = plan(
      "select * from (select sum(c_id) from child) a, (select c_flag, sum(c_id) from child "
      "group by c_flag) b, (select c_flag, c_p_id, sum(c_id) from child "
      "group by c_flag, c_p_id) c");
  EXPECT_NE(text.find("aggregate [sum(sum(sum(c_id)))] by []\n"), std::string::npos) << text;
}

// The groups would be as many as the rows, and reading them takes longer.
TEST_F(RolledUpGroupsTest, GroupsThatAreManyAreNotRead) {
  EXPECT_EQ(plan("select * from (select sum(c_amount) from child) a, "
                 "(select c_id, sum(c_amount) from child group by c_id) b")
                .find("sum(sum("),
            std::string::npos);
}

}  // namespace
}  // namespace diptych::olap
