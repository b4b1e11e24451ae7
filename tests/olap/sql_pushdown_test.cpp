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

// A CTE that is named several times.
class SharedBlockTest : public PushdownTest {
 protected:
  // The conditions of all scans of the plan of `with g as (body) select * from rest`.
  std::string conditions(std::string_view body, std::string_view rest) const {
    const std::string text = plan(fmt::format("with g as ({}) select * from {}", body, rest));
    EXPECT_NE(text.find("scan "), std::string::npos) << text;
    std::string found;
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const std::string line = text.substr(at, end - at);
      if (line.find("scan ") == std::string::npos) continue;
      const size_t where = line.find(" where ");
      found += (where == std::string::npos ? "all" : line.substr(where + 7)) + "; ";
    }
    return found;
  }

  static constexpr std::string_view kGroups =
      "select c_p_id as k, c_day as d, sum(c_amount) as s from child group by c_p_id, c_day";
};

TEST_F(SharedBlockTest, GroupsAreAskedWhatAnyUseAsks) {
  EXPECT_EQ(conditions(kGroups, "g a, g b where a.d = b.d and a.k = 1 and b.k = 2"),
            "(c_p_id in (1, 2)); (c_p_id in (1, 2)); ");
  EXPECT_EQ(conditions(kGroups, "g a, g b where a.d = b.d and a.k = 1 and b.k = 1 and a.s > 3"),
            "(c_p_id = 1); (c_p_id = 1); ");
  EXPECT_EQ(conditions(kGroups,
                       "g a, g b where a.k < 5 and a.d = date '2024-01-01' and b.k < 5 and "
                       "b.d = date '2024-01-02'"),
            "(c_p_id < 5) and (c_day in ('2024-01-01', '2024-01-02')); "
            "(c_p_id < 5) and (c_day in ('2024-01-01', '2024-01-02')); ");
}

TEST_F(SharedBlockTest, AUseThatNeedsAllGroupsLeavesThemAll) {
  EXPECT_EQ(conditions(kGroups, "g a, g b where a.d = b.d and a.k = 1"), "all; all; ");
  EXPECT_EQ(conditions(kGroups, "g a, g b where a.d = b.d and a.k = 1 and b.s > 3"), "all; all; ");
  EXPECT_EQ(conditions(kGroups, "g a left join g b on b.k = 2 and a.d = b.d and a.k = 1"),
            "all; all; ");
}

TEST_F(SharedBlockTest, UsesMayBeAnywhere) {
  const std::string both = "(c_p_id in (1, 2)); (c_p_id in (1, 2)); ";
  EXPECT_EQ(conditions(kGroups, "g a left join g b on b.k = 2 and a.d = b.d where a.k = 1"), both);
  EXPECT_EQ(
      conditions(kGroups, "g a where a.k = 1 and exists (select * from g where k = 2 and d = a.d)"),
      both);
  EXPECT_EQ(conditions(kGroups,
                       "(select * from g where k = 1) a, (select * from (select * from g) "
                       "e where k = 2) b"),
            both);
  EXPECT_EQ(conditions(kGroups,
                       "(select s from g where k = 1 union all "
                       "select s from g where k = 2) u"),
            both);
}

TEST_F(SharedBlockTest, WindowsAndDistinctRowsAreSharedToo) {
  EXPECT_EQ(conditions("select c_p_id as k, rank() over (partition by c_p_id order by c_day) as n "
                       "from child",
                       "g a, g b where a.k = 1 and b.k = 2 and a.n = b.n and a.n < 3"),
            "(c_p_id in (1, 2)); (c_p_id in (1, 2)); ");
  EXPECT_EQ(conditions("select distinct c_p_id as k, c_day as d from child",
                       "g a, g b where a.k = 1 and b.k = 2 and a.d = b.d"),
            "(c_p_id in (1, 2)); (c_p_id in (1, 2)); ");
  EXPECT_EQ(conditions("select c_p_id as k from child union select c_id from child",
                       "g a, g b where a.k = 1 and b.k = 2"),
            "(c_p_id in (1, 2)); (c_id in (1, 2)); "
            "(c_p_id in (1, 2)); (c_id in (1, 2)); ");
  EXPECT_EQ(conditions("select c_p_id as k from child order by c_day limit 3",
                       "g a, g b where a.k = 1 and b.k = 2"),
            "all; all; ");
}

// Nothing of it is computed once.
TEST_F(SharedBlockTest, RowsAreAskedWhatTheirUseAsks) {
  EXPECT_EQ(conditions("select c_p_id as k, c_day as d from child",
                       "g a, g b where a.d = b.d and a.k = 1 and b.k = 2"),
            "(c_p_id = 1); (c_p_id = 2); ");
  EXPECT_EQ(conditions("select k + 0 as k, d from (" + std::string(kGroups) + ") v where d is null",
                       "g a, g b where a.k = 1 and b.k = 2"),
            "(c_day is null); (c_day is null); ")
      << "k + 0 may fail";
  EXPECT_EQ(conditions("select k, d from (" + std::string(kGroups) + ") v where d is null",
                       "g a, g b where a.k = 1 and b.k = 2"),
            "(c_day is null) and (c_p_id in (1, 2)); "
            "(c_day is null) and (c_p_id in (1, 2)); ");
}

// As in TPC-DS's Q11, whose CTE unites stores and catalogs and tells them apart by a constant.
TEST_F(SharedBlockTest, AnInputThatAUseDoesNotNeedGoes) {
  const std::string body =
      "select 's' as side, c_p_id as k, count(*) as n from child group by c_p_id union all "
      "select 'w', p_id, count(*) from parent group by p_id";
  EXPECT_EQ(conditions(body, "g a, g b where a.side = 's' and b.side = 'w' and a.k = b.k"),
            "all; all; ");
  EXPECT_EQ(conditions(body,
                       "g a, g b where a.side = 's' and b.side = 's' and a.k = 1 and "
                       "b.k = 2 and a.n = b.n"),
            "(c_p_id in (1, 2)); (c_p_id in (1, 2)); ");
  EXPECT_EQ(conditions(body,
                       "g a, g b, g c where a.side = 's' and b.side = 's' and a.k = 1 and "
                       "b.k = 2 and c.k = 3 and c.side = 'w'"),
            "(c_p_id in (1, 2)); (c_p_id in (1, 2)); (p_id = 3); ");
  // The groups over no rows are one.
  EXPECT_EQ(
      conditions("select 's' as side, count(*) as n from child union all select 'w', count(*) "
                 "from parent",
                 "g where side = 's'"),
      "all; ");
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
