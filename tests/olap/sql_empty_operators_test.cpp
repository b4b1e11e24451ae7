// Which operators are known to give no rows, and what is left of a plan with them.

#include <string>
#include <string_view>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

using EmptyOperatorsTest = SqlTest;

TEST_F(EmptyOperatorsTest, NothingIsRunForAResultWithoutRows) {
  for (const std::string_view sql : {
           "select c_id from child where 1 = 0",
           "select c_id from child where null",
           "select c_id from child where c_id = null",
           "select c_id from child limit 0",
           "select c_id from child order by c_day limit 0 offset 5",
           "select c_id from child join parent on c_p_id = p_id where 1 > 2",
           "select c_id from child join parent on c_p_id = p_id and 1 > 2",
           "select c_id from child, (select p_id from parent limit 0) p",
           "select p_id from (select p_id from parent where false) p left join child on p_id = "
           "c_id",
           "select c_id from child where c_p_id in (select p_id from parent where false)",
           "select p_id from (select p_id from parent limit 0) p where not exists "
           "(select 1 from child where c_id = p_id)",
           "select max(c_id) from child where false group by c_flag",
           "select distinct c_id from child where false",
           "select max(c_id) from child where false group by rollup (c_flag, c_day) limit 0",
           "select row_number() over (order by c_day) from child where false",
           "select generate_series(1, c_id) from child where false",
           "select c_id from child where false union all select p_id from parent limit 0",
           "select c_id from child where false union select p_id from parent where null",
           "with recursive r (n) as (select c_id from child where false union all "
           "select n + 1 from r where n < 9) select n from r",
       }) {
    EXPECT_EQ(plan(std::string(sql)), "no rows of [column1]\n") << sql;
  }
}

TEST_F(EmptyOperatorsTest, WhatHasRowsWithoutThemIsRun) {
  const struct {
    std::string_view sql;
    std::string_view plan;
  } kept[] = {
      {"select count(*) from child where false",
       "aggregate [count(*)] by []\n"
       "  no rows of [column1]\n"},
      {"select c_id from child where false union all select p_id from parent",
       "scan parent [p_id]\n"},
      {"select c_id from child where not exists (select 1 from parent where p_id = c_id and false)",
       "scan child [c_id]\n"},
      {"select c_id from child where c_id not in (select p_id from parent limit 0)",
       "scan child [c_id]\n"},
      {"select c_id, p_id from child left join parent on p_id = c_p_id and false",
       "left join of every pair where false\n"
       "  scan child [c_id]\n"
       "  no rows of [column1]\n"},
      {"with recursive r (n) as (select 1 union all select n + 1 from r where false) "
       "select n from r",
       ""},
  };
  for (const auto& one : kept) {
    if (one.plan.empty()) {
      EXPECT_EQ(plan(std::string(one.sql)).find("no rows"), std::string::npos) << one.sql;
    } else {
      EXPECT_EQ(plan(std::string(one.sql)), one.plan) << one.sql;
    }
  }
}

}  // namespace
}  // namespace diptych::olap
