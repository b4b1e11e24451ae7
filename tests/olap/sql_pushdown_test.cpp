// Which conditions go below groups, windows, set operations and joins, and which must not.

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

class PushdownTest : public SqlTest {
 protected:
  // How many of the scans have the condition; -1: another operator has it.
  int scans_with(std::string_view condition, std::string_view sql) const {
    const std::string text = plan(sql);
    int scans = 0;
    for (size_t at = text.find(condition); at != std::string::npos;
         at = text.find(condition, at + 1)) {
      const size_t line = text.rfind('\n', at) + 1;
      const bool is_scan = text.compare(text.find_first_not_of(' ', line), 5, "scan ") == 0;
      if (!is_scan) return -1;
      ++scans;
    }
    return scans;
  }
};

TEST_F(PushdownTest, AGroupsKeyIsAskedOfItsRows) {
  EXPECT_EQ(
      plan("select * from (select c_p_id as k, sum(c_amount) as s from child group by c_p_id) "
           "t where k < 7 and s > 3"),
      R"(filter (sum(c_amount) > 3.00)
  aggregate [sum(c_amount)] by [c_p_id]
    scan child [c_p_id, c_amount] where (c_p_id < 7)
)");
  EXPECT_EQ(
      scans_with("(c_p_id < 7)",
                 "select c_p_id from child group by c_p_id having c_p_id < 7 and count(*) > 2"),
      1);
  EXPECT_EQ(scans_with("(c_p_id < 7)",
                       "select * from (select distinct c_p_id from child) t "
                       "where c_p_id < 7"),
            1);
  EXPECT_EQ(scans_with("(c_p_id < 7)",
                       "with t as (select c_p_id from child), u as (select c_p_id, "
                       "count(*) from t group by c_p_id) select * from u where "
                       "c_p_id < 7"),
            1);
}

TEST_F(PushdownTest, SoIsWhatAllWindowsArePartitionedBy) {
  const auto numbered = [](std::string_view over, std::string_view also) {
    return fmt::format(
        "select * from (select c_p_id, c_day, row_number() over ({}) as n, count(*) over ({}) as m "
        "from child) t where c_p_id < 7",
        over, also);
  };
  EXPECT_EQ(
      scans_with("(c_p_id < 7)", numbered("partition by c_p_id", "partition by c_p_id, c_day")), 1);
  EXPECT_EQ(scans_with("(c_p_id < 7)", numbered("partition by c_p_id", "partition by c_day")), -1);
  EXPECT_EQ(scans_with("(c_p_id < 7)", numbered("partition by c_p_id", "")), -1);
  EXPECT_EQ(scans_with("(c_p_id < 7)",
                       "select * from (select c_p_id, rank() over (partition by c_p_id order by "
                       "sum(c_id)) from child group by c_p_id) t where c_p_id < 7"),
            1);
}

TEST_F(PushdownTest, InputsOfASetOperationAreAsked) {
  for (const std::string_view operation : {"union", "union all", "intersect", "except all"}) {
    const std::string sql = fmt::format(
        "select * from (select c_p_id as k from child {} select c_id from child) t where k < 7",
        operation);
    EXPECT_EQ(scans_with("(c_p_id < 7)", sql), 1) << plan(sql);
    EXPECT_EQ(scans_with("(c_id < 7)", sql), 1) << plan(sql);
  }
}

TEST_F(PushdownTest, EqualitiesCarryConditionsToGroupsAndSubqueries) {
  const std::string_view groups = "(select c_p_id as k, count(*) as n from child group by c_p_id)";
  EXPECT_EQ(scans_with("(c_p_id < 7)", fmt::format("select p_name, n from parent, {} t where "
                                                   "p_id = k and p_id < 7",
                                                   groups)),
            1);
  EXPECT_EQ(scans_with("(c_p_id < 7)", fmt::format("select p_name, n from parent left join {} t on "
                                                   "p_id = k where p_id < 7",
                                                   groups)),
            1);
  EXPECT_EQ(scans_with("(c_p_id < 7)",
                       "select p_name, (select max(c_day) from child where c_p_id = p_id) "
                       "from parent where p_id < 7"),
            1);
  // The optional side's condition says nothing of the other's rows.
  EXPECT_EQ(scans_with("(p_id < 7)", fmt::format("select p_name, n from parent left join {} t on "
                                                 "p_id = k and k < 7",
                                                 groups)),
            0);
}

TEST_F(PushdownTest, WhatChoosesRowsIsAskedFirst) {
  for (const std::string_view sql :
       {"select * from (select c_p_id from child group by c_p_id limit 5) t where c_p_id < 7",
        "select * from (select c_p_id from child order by 1 offset 2) t where c_p_id < 7",
        "select * from (select distinct on (c_day) c_day, c_p_id from child) t where c_p_id < 7",
        "with t as (select c_p_id, count(*) as n from child group by c_p_id) "
        "select * from t a, t b where a.c_p_id < 7 and a.n = b.n",
        "select * from (select c_p_id, count(*) from child group by rollup(c_p_id)) t "
        "where c_p_id < 7"}) {
    EXPECT_EQ(scans_with("(c_p_id < 7)", sql), -1) << plan(sql);
  }
}

// It would meet rows that it does not meet now.
TEST_F(PushdownTest, WhatMayFailStays) {
  EXPECT_EQ(scans_with("(10 / c_p_id)",
                       "select * from (select c_p_id, count(*) as n from child group by c_p_id) t "
                       "where 10 / c_p_id > 2"),
            -1);
  EXPECT_EQ(scans_with("(10 / c_p_id)",
                       "select * from (select 10 / c_p_id as q from child group by "
                       "10 / c_p_id) t where q > 2"),
            -1);
}

}  // namespace
}  // namespace diptych::olap
