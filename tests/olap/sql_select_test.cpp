// Every clause of SELECT, as the plan that it becomes.

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

struct Planned {
  std::string_view sql;
  std::string_view plan;
};

constexpr Planned kPlanned[] = {
    {"select * from parent", "scan parent [p_id, p_name, p_kind]\n"},
    {"select p.*, c_id from parent p, child where p_id = c_p_id",
     "project [p_id, p_name, p_kind, c_id]\n"
     "  inner join on c_p_id = p_id\n"
     "    scan child [c_id, c_p_id]\n"
     "    scan parent [p_id, p_name, p_kind]\n"},
    {"select p_kind, count(*), sum(c_amount) + 1 as s from parent join child on "
     "p_id = c_p_id group by p_kind having count(*) > 1 order by s desc, 1 limit "
     "5 offset 2",
     "sort by [(sum(c_amount) + 1.00) desc, p_kind] limit 5 offset 2\n"
     "  project [p_kind, count(*), (sum(c_amount) + 1.00)]\n"
     "    filter (count(*) > 1)\n"
     "      aggregate [count(*), sum(c_amount)] by [p_kind]\n"
     "        inner join on c_p_id = p_id\n"
     "          scan child [c_p_id, c_amount]\n"
     "          scan parent [p_id, p_kind]\n"},
    {"select p_kind as k, upper(p_kind) u from parent group by u, k order by u "
     "nulls first",
     "sort by [upper(p_kind) nulls first]\n"
     "  project [p_kind, upper(p_kind)]\n"
     "    aggregate [] by [upper(p_kind), p_kind]\n"
     "      scan parent [p_kind]\n"},
    {"select c_id % 10 from child group by 1 order by 1 desc nulls last",
     "sort by [(c_id % 10) desc nulls last]\n"
     "  aggregate [] by [(c_id % 10)]\n"
     "    scan child [c_id]\n"},
    {"select c_id % 10 + 1 from child group by c_id % 10",
     "project [((c_id % 10) + 1)]\n"
     "  aggregate [] by [(c_id % 10)]\n"
     "    scan child [c_id]\n"},
    {"select distinct p_kind from parent order by p_kind",
     "sort by [p_kind]\n"
     "  aggregate [] by [p_kind]\n"
     "    scan parent [p_kind]\n"},
    {"select p_name from parent order by p_kind, p_name || 'x' limit 3",
     "project [p_name]\n"
     "  sort by [p_kind, (p_name || 'x')] limit 3\n"
     "    project [p_name, p_kind, (p_name || 'x')]\n"
     "      scan parent [p_name, p_kind]\n"},
    {"select p_name from parent limit 3",
     "limit 3\n"
     "  scan parent [p_name]\n"},
    {"select count(distinct p_kind), count(p_kind), count(p_name), min(p_name), "
     "avg(p_id) from parent",
     "aggregate [count distinct(p_kind), count(p_kind), count(*), min(p_name), "
     "avg(p_id)] by []\n"
     "  scan parent [p_id, p_name, p_kind]\n"},
    {"select count(*) from child left join parent on c_p_id = p_id and p_kind = "
     "'a' and c_id > 3",
     "aggregate [count(*)] by []\n"
     "  left join on c_p_id = p_id where (c_id > 3)\n"
     "    scan child [c_id, c_p_id]\n"
     "    scan parent [p_id, p_kind] where (p_kind = 'a')\n"},
    {"select count(*) from child left join parent on c_p_id = p_id where p_kind "
     "is null and c_id > 3",
     "aggregate [count(*)] by []\n"
     "  filter (p_kind is null)\n"
     "    left join on c_p_id = p_id\n"
     "      scan child [c_id, c_p_id] where (c_id > 3)\n"
     "      scan parent [p_id, p_kind]\n"},
    {"select count(*) from child left join parent on c_p_id = p_id where p_kind = "
     "'b'",
     "aggregate [count(*)] by []\n"
     "  inner join on c_p_id = p_id\n"
     "    scan child [c_p_id]\n"
     "    scan parent [p_id, p_kind] where (p_kind = 'b')\n"},
    {"select p_id, c_id from child right join parent on c_p_id = p_id",
     "project [p_id, c_id]\n"
     "  left join on p_id = c_p_id\n"
     "    scan parent [p_id]\n"
     "    scan child [c_id, c_p_id]\n"},
    {"select * from parent a join parent b using (p_id)",
     "project [a.p_id, a.p_name, a.p_kind, b.p_name, b.p_kind]\n"
     "  inner join on a.p_id = b.p_id\n"
     "    scan parent as a [p_id, p_name, p_kind]\n"
     "    scan parent as b [p_id, p_name, p_kind]\n"},
    {"select * from parent a left join parent b using (p_id) where p_id > 3",
     "project [a.p_id, a.p_name, a.p_kind, b.p_name, b.p_kind]\n"
     "  left join on a.p_id = b.p_id\n"
     "    scan parent as a [p_id, p_name, p_kind] where (p_id > 3)\n"
     "    scan parent as b [p_id, p_name, p_kind] where (p_id > 3)\n"},
    {"select count(*) from parent cross join child",
     "aggregate [count(*)] by []\n"
     "  inner join of every pair\n"
     "    scan child [c_id]\n"
     "    scan parent [p_id]\n"},
    {"select x, n from (select p_kind, count(*) from parent group by p_kind) as d "
     "(x, n) where n > 2",
     "filter (count(*) > 2)\n"
     "  aggregate [count(*)] by [p_kind]\n"
     "    scan parent [p_kind]\n"},
    {"select d.n from (select p_kind, count(*) n, max(p_id) m from parent group "
     "by p_kind order by 1) d group by n",
     "aggregate [] by [count(*)]\n"
     "  project [count(*)]\n"
     "    aggregate [count(*)] by [p_kind]\n"
     "      scan parent [p_kind]\n"},
    {"select n from (select p_kind, count(*) n from parent group by p_kind order by 1 desc) d",
     "project [count(*)]\n"
     "  sort by [p_kind desc]\n"
     "    project [count(*), p_kind]\n"
     "      aggregate [count(*)] by [p_kind]\n"
     "        scan parent [p_kind]\n"},
    {"with k as (select p_kind kind, count(*) n from parent group by p_kind), l "
     "(kk) as (select kind from k) select n, kk from k, l where kind = kk",
     "project [count(*), p_kind]\n"
     "  inner join on p_kind = p_kind\n"
     "    aggregate [count(*)] by [p_kind]\n"
     "      scan parent [p_kind]\n"
     "    aggregate [] by [p_kind]\n"
     "      scan parent [p_kind]\n"},
    // Both uses have the same rows: all columns, and equal groups, which are made once.
    {"with k as (select c_id, c_day from child limit 5) select a.c_day from k a, k b "
     "where a.c_id = b.c_id",
     "project [c_day]\n"
     "  inner join on c_id = c_id\n"
     "    window [row_number()]\n"
     "      limit 5\n"
     "        scan child [c_id, c_day]\n"
     "    window [row_number()]\n"
     "      limit 5\n"
     "        scan child [c_id, c_day]\n"},
    {"with k as (select c_day d, sum(c_ratio) r, count(*) from child group by 1) select d from k "
     "where r = (select max(r) from k)",
     "project [c_day]\n"
     "  inner join on sum(c_ratio) = max(sum(c_ratio))\n"
     "    aggregate [sum(c_ratio), count(*)] by [c_day]\n"
     "      scan child [c_day, c_ratio]\n"
     "    aggregate [max(sum(c_ratio))] by []\n"
     "      aggregate [sum(c_ratio), count(*)] by [c_day]\n"
     "        scan child [c_day, c_ratio]\n"},
    // One use, or rows that are always the same, have no more than they need.
    {"with k as (select c_id, c_day from child limit 5) select c_day from k",
     "limit 5\n"
     "  scan child [c_day]\n"},
    {"with k as (select c_id, rank() over (order by c_day) r, c_big from child) select a.r from k "
     "a, k b where a.c_id = b.r",
     "project [rank()]\n"
     "  inner join on rank() = c_id::BIGINT\n"
     "    project [rank()]\n"
     "      window [rank()] order by [c_day]\n"
     "        scan child [c_day]\n"
     "    project [c_id, rank()]\n"
     "      window [rank()] order by [c_day]\n"
     "        scan child [c_id, c_day]\n"},
    {"select 1, 'a' as x", "values [1, 'a']\n"},
    {"select 1 where false", "no rows of [column1]\n"},
    {"select count(*)",
     "aggregate [count(*)] by []\n"
     "  values [1]\n"},
    {"select 1 having true",
     "project [1]\n"
     "  aggregate [count(*)] by []\n"
     "    values [1]\n"},
    {"select p_name from parent where p_id in (select c_p_id from child where "
     "c_amount > 3)",
     "project [p_name]\n"
     "  build semi join on c_p_id = p_id\n"
     "    scan child [c_p_id, c_amount] where (c_amount > 3.00)\n"
     "    scan parent [p_id, p_name]\n"},
    {"select p_name from parent where p_id not in (select c_id from child)",
     "project [p_name]\n"
     "  build anti join on c_id = p_id\n"
     "    scan child [c_id]\n"
     "    scan parent [p_id, p_name]\n"},
    {"select p_name from parent where exists (select * from child where c_p_id = "
     "p_id and c_id > p_id)",
     "project [p_name]\n"
     "  build semi join on c_p_id = p_id where (c_id > p_id)\n"
     "    scan child [c_id, c_p_id]\n"
     "    scan parent [p_id, p_name]\n"},
    {"select p_name from parent where not exists (select 1 from child where "
     "c_p_id = p_id) and p_id > 3",
     "project [p_name]\n"
     "  build anti join on c_p_id = p_id\n"
     "    scan child [c_p_id] where (c_p_id > 3)\n"
     "    scan parent [p_id, p_name] where (p_id > 3)\n"},
    // A domain: where conditions cannot say how the subquery's rows belong to the outer ones.
    {"select (select count(*) from child where c_id > p_id) from parent",
     "project [coalesce(count(*), 0)]\n"
     "  left join on p_id = p_id\n"
     "    scan parent [p_id]\n"
     "    project [count(*), p_id]\n"
     "      aggregate [count(*)] by [p_id]\n"
     "        inner join by range where (c_id > p_id)\n"
     "          scan child [c_id]\n"
     "          scan parent [p_id]\n"},
    // Across two levels: the equalities stay equalities.
    {"select p_name from parent p where exists (select 1 from child where c_p_id = p.p_id and "
     "exists (select 1 from parent q where q.p_id = c_id and q.p_kind = p.p_kind))",
     "project [p_name]\n"
     "  semi join on p.p_id = p.p_id and (p.p_kind is null) = (p.p_kind is null) and "
     "coalesce(p.p_kind, '') = coalesce(p.p_kind, '')\n"
     "    scan parent as p [p_id, p_name, p_kind]\n"
     "    semi join on c_id = q.p_id and p.p_kind = q.p_kind\n"
     "      inner join on c_p_id = p.p_id\n"
     "        scan child [c_id, c_p_id]\n"
     "        project [p.p_id, p.p_kind]\n"
     "          scan parent as p [p_id, p_name, p_kind]\n"
     "      scan parent as q [p_id, p_kind]\n"},
    // What might choose other rows the second time is made once: grouped by all it has.
    {"select (select count(*) from child where c_id > p_id) from (select p_id from parent limit "
     "5) q",
     "project [coalesce(count(*), 0)]\n"
     "  left join on p_id = p_id\n"
     "    window [row_number()]\n"
     "      limit 5\n"
     "        scan parent [p_id]\n"
     "    project [count(*), p_id]\n"
     "      aggregate [count(*)] by [p_id]\n"
     "        inner join of every pair where (c_id > p_id)\n"
     "          scan child [c_id]\n"
     "          project [p_id]\n"
     "            window [row_number()]\n"
     "              limit 5\n"
     "                scan parent [p_id]\n"},
    {"select p_id, n from parent, lateral (select c_id n from child where c_id > p_id limit 2) l",
     "project [p_id, c_id]\n"
     "  inner join on p_id = p_id\n"
     "    scan parent [p_id]\n"
     "    filter (row_number() > 0) and (row_number() <= 2)\n"
     "      window [row_number()] partition by [p_id]\n"
     "        inner join by range where (c_id > p_id)\n"
     "          scan child [c_id]\n"
     "          scan parent [p_id]\n"},
    {"select p_name from parent where exists (select 1 from child)",
     "semi join of every pair\n"
     "  scan parent [p_name]\n"
     "  scan child [c_id]\n"},
    {"select p_name from parent where p_id > (select avg(c_id) from child)",
     "project [p_name]\n"
     "  inner join of every pair where (p_id::DECIMAL(38,16) > avg(c_id))\n"
     "    scan parent [p_id, p_name]\n"
     "    aggregate [avg(c_id)] by []\n"
     "      scan child [c_id]\n"},
    {"select (select max(c_id) from child), count(*) from parent",
     "project [max(c_id), count(*)]\n"
     "  inner join of every pair\n"
     "    aggregate [count(*)] by []\n"
     "      scan parent [p_id]\n"
     "    aggregate [max(c_id)] by []\n"
     "      scan child [c_id]\n"},
    {"select p_name from parent where (p_id = 1 and p_kind = 'a') or (p_id = 1 "
     "and p_kind = 'b')",
     "project [p_name]\n"
     "  scan parent [p_id, p_name, p_kind] where (p_id = 1) and (p_kind in ('a', "
     "'b'))\n"},
    {"select p_name from parent where p_id = 1 or p_id in (3, 2) or p_kind = 'a' or p_id < 0 or "
     "'b' = p_kind or p_kind = 'c'",
     "project [p_name]\n"
     "  scan parent [p_id, p_name, p_kind] where ((p_id in (1, 3, 2)) or (p_kind in ('a', 'c')) or "
     "(p_id < 0) or ('b' = p_kind))\n"},
    {"select * from parent where p_id = 1 or p_id = 1",
     "scan parent [p_id, p_name, p_kind] where (p_id = 1)\n"},
    {"select count(*) from parent, child where (p_id = c_p_id and p_kind = 'a') "
     "or (p_id = c_p_id and p_kind = 'b' and c_id = 3)",
     "aggregate [count(*)] by []\n"
     "  inner join on c_p_id = p_id where ((p_kind = 'a') or ((p_kind = 'b') and "
     "(c_id = 3)))\n"
     "    scan child [c_id, c_p_id]\n"
     "    project [p_id, p_kind, (p_kind = 'a'), (p_kind = 'b')]\n"
     "      scan parent [p_id, p_kind] where (p_kind in ('a', 'b'))\n"},
    // What may fail is asked of pairs only; so are numbers.
    {"select count(*) from parent, child where p_id = c_p_id and (c_id = 3 or p_id = 2 or "
     "p_kind || 'x' = 'ax')",
     "aggregate [count(*)] by []\n"
     "  inner join on c_p_id = p_id where ((c_id = 3) or (p_id = 2) or "
     "((p_kind || 'x') = 'ax'))\n"
     "    scan child [c_id, c_p_id]\n"
     "    scan parent [p_id, p_kind]\n"},
    {"select * from parent a, parent b where a.p_id < b.p_id",
     "inner join by range where (a.p_id < b.p_id)\n"
     "  scan parent as a [p_id, p_name, p_kind]\n"
     "  scan parent as b [p_id, p_name, p_kind]\n"},
    {"select * from parent a, parent b, parent c where a.p_id + b.p_id = c.p_id",
     "inner join on (a.p_id + b.p_id) = c.p_id\n"
     "  inner join of every pair\n"
     "    scan parent as a [p_id, p_name, p_kind]\n"
     "    scan parent as b [p_id, p_name, p_kind]\n"
     "  scan parent as c [p_id, p_name, p_kind]\n"},
    {"select max(p_id) from parent order by min(p_id)",
     "project [max(p_id)]\n"
     "  sort by [min(p_id)]\n"
     "    aggregate [max(p_id), min(p_id)] by []\n"
     "      scan parent [p_id]\n"},
    {"select case when count(*) > 0 then sum(c_amount) / count(*) end from child "
     "where c_flag",
     "project [case when (count(*) > 0) then (sum(c_amount) / "
     "count(*)::DECIMAL(38,0)) else NULL end]\n"
     "  aggregate [count(*), sum(c_amount)] by []\n"
     "    scan child [c_amount, c_flag] where c_flag\n"},
    {"select distinct p_kind, count(*) from parent group by p_kind order by 2",
     "sort by [count(*)]\n"
     "  aggregate [] by [p_kind, count(*)]\n"
     "    aggregate [count(*)] by [p_kind]\n"
     "      scan parent [p_kind]\n"},
    {"select c_id from child where true", "scan child [c_id]\n"},
    {"select c_id from child where null", "no rows of [column1]\n"},
    {"select n_total from (select count(*) as n_total from child) t",
     "aggregate [count(*)] by []\n"
     "  scan child [c_id]\n"},
    {"select p_id from parent fetch first 3 rows only",
     "limit 3\n"
     "  scan parent [p_id]\n"},
    {"select sum(c_amount) from child, (select avg(c_amount) a from child) t "
     "where c_amount > a",
     "aggregate [sum(c_amount)] by []\n"
     "  inner join of every pair where (c_amount::DECIMAL(38,16) > avg(c_amount))\n"
     "    scan child [c_amount]\n"
     "    aggregate [avg(c_amount)] by []\n"
     "      scan child [c_amount]\n"},
    {"select p_id from parent where p_id in (select c_id from child where c_id in "
     "(select c_id from child where c_flag))",
     "build semi join on c_id = p_id\n"
     "  semi join on c_id = c_id\n"
     "    scan child [c_id]\n"
     "    scan child [c_id, c_flag] where c_flag\n"
     "  scan parent [p_id]\n"},
    {"select a.p_id from parent a join parent b on a.p_id = b.p_id join child on c_p_id = b.p_id "
     "where b.p_kind = 'x'",
     "project [a.p_id]\n"
     "  inner join on c_p_id = b.p_id\n"
     "    scan child [c_p_id]\n"
     "    inner join on a.p_id = b.p_id\n"
     "      scan parent as a [p_id]\n"
     "      scan parent as b [p_id, p_kind] where (p_kind = 'x')\n"},
    {"select sum(c_amount) over (order by c_id rows between 1000000 preceding and 1000000 "
     "following exclude current row) + 1 from child",
     "project [(sum(c_amount) + 1.00)]\n"
     "  window [sum(c_amount) rows 1000000 preceding to 1000000 following exclude current row] "
     "order by [c_id]\n"
     "    scan child [c_id, c_amount]\n"},
    {"select p_id from parent group by p_id, p_id",
     "aggregate [] by [p_id]\n"
     "  scan parent [p_id]\n"},
    {"select 1 from parent where p_id in (select max(c_id) from child group by "
     "c_p_id)",
     "project [1]\n"
     "  semi join on p_id = max(c_id)\n"
     "    scan parent [p_id]\n"
     "    project [max(c_id)]\n"
     "      aggregate [max(c_id)] by [c_p_id]\n"
     "        scan child [c_id, c_p_id]\n"},
};

using SqlSelectTest = SqlTest;

TEST_F(SqlSelectTest, EachClauseBecomesItsOperators) {
  for (const Planned& statement : kPlanned) {
    EXPECT_EQ(plan(statement.sql), statement.plan) << statement.sql;
  }
}

TEST_F(SqlSelectTest, OutputNamesAreThoseOfPostgreSql) {
  const auto prepared = prepare(
      "select c_id, c_id as x, count(*), c_id + 1, c_id::bigint, '1'::int, coalesce(c_id, 1), "
      "case when c_id = 1 then 2 end, extract(year from c_at), "
      "(select max(p_id) as top from parent) from child group by c_id, c_at",
      catalog_, rows_);
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  const std::vector<std::string> expected = {"c_id", "x",        "count", "?column?", "c_id",
                                             "int4", "coalesce", "case",  "extract",  "top"};
  EXPECT_EQ(prepared->column_names, expected);
}

TEST_F(SqlSelectTest, NamesOfColumnsAndFunctionsStandAboveThoseOfTypesAndCase) {
  const auto prepared = prepare(
      "select 1.5::float8::int, case when true then 1 else c_id::text::int end, "
      "case when true then 1 else 2::int end, greatest(1, 2), least(1, 2), grouping(c_id), "
      "exists (select 1), current_date, current_timestamp, nullif(c_text, '') collate \"C\", "
      "-1::int, (select 1), (select c_id::text from child limit 1), c_id is null "
      "from child group by c_id, c_text",
      catalog_, rows_);
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  const std::vector<std::string> expected = {
      "int4",     "c_id",     "case",         "greatest",          "least",
      "grouping", "exists",   "current_date", "current_timestamp", "nullif",
      "?column?", "?column?", "c_id",         "?column?"};
  EXPECT_EQ(prepared->column_names, expected);
}

TEST_F(SqlSelectTest, OuterJoinsMakeTheOtherSideNullable) {
  const auto prepared =
      prepare("select c_id, p_name from child left join parent on c_p_id = p_id", catalog_, rows_);
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  EXPECT_FALSE(prepared->root->output_nullable[0]);
  EXPECT_TRUE(prepared->root->output_nullable[1]);
}

}  // namespace
}  // namespace diptych::olap
