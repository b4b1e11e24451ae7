// Errors: each names what is wrong, the place, the text there, and what to do where that is known.

#include <fmt/format.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

struct Refused {
  std::string_view sql;
  std::string_view error;
};

constexpr Refused kRefused[] = {
    {"selec 1", "syntax error: this is unexpected (line 1, column 1: \"selec\")"},
    {"select 1 +", "syntax error: the statement ends too early (line 1, column 11: end of text)"},
    {"select p_id from parent order by p_name collate \"de_DE\"",
     "unsupported: collation \"de_DE\" is not supported yet (line 1, column 41: \"collate "
     "\"de_DE\"\")"},
    {"select 'abc", "syntax error: unterminated quoted string (line 1, column 8: \"'abc\")"},
    {"select from parent where",
     "syntax error: the statement ends too early (line 1, column 25: end of text)"},
    {"select p_idd from parent",
     "invalid argument: no such column \"p_idd\"; did you mean \"p_id\"? (line 1, "
     "column 8: \"p_idd\")"},
    {"select + p_name from parent",
     "invalid argument: operator \"+\" does not take VARCHAR(20) (line 1, column 8: \"+\")"},
    {"select + (p_id = 1) from parent",
     "invalid argument: operator \"+\" does not take BOOLEAN (line 1, column 8: \"+\")"},
    {"select cast(1 as decimel(3,1))",
     "invalid argument: type \"decimel\" does not exist; did you mean \"decimal\"? (line 1, column "
     "18: \"decimel\")"},
    {"select cast(1 as varchr('x'))",
     "invalid argument: type \"varchr\" does not exist; did you mean \"varchar\"? (line 1, column "
     "18: \"varchr\")"},
    {"select cast(1 as int4(3))",
     "unsupported: this number after a type is not supported yet (line 1, column 23: \"3))\")"},
    {"drop table parent",
     "unsupported: DDL is no query: execute_ddl, or diptych ddl, runs it (line 1, column 1: "
     "\"drop\")"},
    {"drop index by_name",
     "unsupported: DDL is no query: execute_ddl, or diptych ddl, runs it (line 1, column 1: "
     "\"drop\")"},
    {"truncate parent",
     "unsupported: DDL is no query: execute_ddl, or diptych ddl, runs it (line 1, column 1: "
     "\"truncate\")"},
    {"drop sequence parent",
     "unsupported: DROP is not supported yet (line 1, column 1: \"drop sequence parent\")"},
    {"with mother as (select 1 a) select * from mothr",
     "invalid argument: no such table \"mothr\"; did you mean \"mother\"? (line 1, column 43: "
     "\"mothr\")"},
    {"with spouse as (select 1 a) select (select a from spuose)",
     "invalid argument: no such table \"spuose\"; did you mean \"spouse\"? (line 1, column 51: "
     "\"spuose\")"},
    {"with spouse as (select 1 a) select a from public.spuose",
     "invalid argument: no such table \"spuose\" (line 1, column 43: \"public.spuose\")"},
    {"select p_id as ident from parent order by idemt",
     "invalid argument: no such column \"idemt\"; did you mean \"ident\"? (line 1, column 43: "
     "\"idemt\")"},
    {"select p_id as ident from parent order by p_idd",
     "invalid argument: no such column \"p_idd\"; did you mean \"p_id\"? (line 1, column 43: "
     "\"p_idd\")"},
    {"select p_id as ident from parent order by idemt + 1",  // where outputs have no names
     "invalid argument: no such column \"idemt\" (line 1, column 43: \"idemt\")"},
    {"select p_id as ident from parent group by idemt",
     "invalid argument: no such column \"idemt\"; did you mean \"ident\"? (line 1, column 43: "
     "\"idemt\")"},
    {"select 1 from parent join (select p_id from parent) c using (p_idd)",
     "invalid argument: USING (p_idd): no table on the left has the column; did you mean "
     "\"p_id\"? (line 1, column 62: \"p_idd\")"},
    {"select 1 from parent join (parent a join parent b using (p_id)) USING (P_id, P_nam)",
     "invalid argument: USING (p_nam): no table on the left has the column; did you mean "
     "\"p_name\"? (line 1, column 78: \"P_nam\")"},
    {"select 1 from parent join child using (\"p_id\") join parent p using (c_id)",
     "invalid argument: USING (p_id): no table on the right has the column; did you mean "
     "\"c_id\"? (line 1, column 40: \"\"p_id\"\")"},
    {"select date_trunc('mnth', c_at) from child",
     "invalid argument: \"mnth\" is no field of a date (line 1, column 19: \"'mnth'\")"},
    {"select generate_series(1, count(*)) from parent",
     "unsupported: an aggregate or window function in a function of rows is not supported yet "
     "(line 1, column 8: \"generate_series(1, count ...\")"},
    {"select generate_series(1, row_number() over ()) from parent",
     "unsupported: an aggregate or window function in a function of rows is not supported yet "
     "(line 1, column 8: \"generate_series(1, row_number ...\")"},
    {"select * from generate_series(1, count(*))",
     "invalid argument: an aggregate cannot stand in a function that gives rows (line 1, column "
     "34: \"count\")"},
    {"select ~ 1.5",
     "invalid argument: operator \"~\" does not take DECIMAL(2,1) (line 1, column 8: \"~\")"},
    {"select @ p_name from parent",
     "invalid argument: operator \"@\" does not take VARCHAR(20) (line 1, column 8: \"@\")"},
    {"select p_name ^ 2 from parent",
     "invalid argument: operator \"^\" does not take VARCHAR(20) and INT (line 1, column 15: "
     "\"^\")"},
    {"select p_id ^@ 'x' from parent",
     "invalid argument: operator \"^@\" does not take INT and TEXT (line 1, column 13: \"^@\")"},
    {"select * from (values (1)) v(a, b)",
     "invalid argument: \"v\" has 1 column, but 2 names are given (line 1, column 24: \"1\")"},
    {"select parent.p_nam from parent",
     "invalid argument: table \"parent\" has no column \"p_nam\"; did you mean "
     "\"p_name\"? (line 1, column 8: \"parent.p_nam\")"},
    {"select q.p_id from parent p",
     "invalid argument: no table \"q\" in FROM; did you mean \"p\"? (line 1, "
     "column 8: \"q.p_id\")"},
    {"with q as (select p_idd from parent) select 1",
     "invalid argument: no such column \"p_idd\"; did you mean \"p_id\"? (line 1, column 19: "
     "\"p_idd\")"},
    {"with q as (select p_id from parent where c_amount > 1) "
     "select (select count(*) from q) from child",
     "invalid argument: no such column \"c_amount\" (line 1, column 42: \"c_amount\")"},
    {"select * from parnt",
     "invalid argument: no such table \"parnt\"; did you mean \"parent\"? (line "
     "1, column 15: \"parnt\")"},
    {"select * from secret",
     "invalid argument: table \"secret\" was created with analytics = off: it "
     "cannot be queried (line 1, column 15: \"secret\")"},
    {"select p_id from parent a, parent b",
     "invalid argument: column \"p_id\" is ambiguous: several tables have it; "
     "write table.p_id (line 1, column 8: \"p_id\")"},
    {"select p_id from parent, parent",
     "invalid argument: table name \"parent\" is used twice; give one an alias "
     "(line 1, column 26: \"parent\")"},
    {"select sum(p_id) from parent where sum(p_id) > 3",
     "invalid argument: an aggregate cannot stand in WHERE; HAVING takes them "
     "(line 1, column 36: \"sum\")"},
    {"select sum(sum(p_id)) from parent",
     "invalid argument: an aggregate within an aggregate (line 1, column 12: "
     "\"sum\")"},
    {"select p_name, count(*) from parent",
     "invalid argument: column \"p_name\" in SELECT must be in GROUP BY or in an "
     "aggregate (line 1, column 8: \"p_name\")"},
    {"select p_kind, p_name || 'x' from parent group by p_kind",
     "invalid argument: column \"p_name\" in SELECT must be in GROUP BY or in an "
     "aggregate (line 1, column 16: \"p_name\")"},
    {"select p_kind from parent group by p_kind having p_name = 'a'",
     "invalid argument: column \"p_name\" in HAVING must be in GROUP BY or in an "
     "aggregate (line 1, column 50: \"p_name\")"},
    {"select p_kind from parent group by p_kind order by p_name",
     "invalid argument: column \"p_name\" in ORDER BY must be in GROUP BY or in "
     "an aggregate (line 1, column 52: \"p_name\")"},
    {"select p_id + p_name from parent",
     "invalid argument: operator \"+\" does not take INT and VARCHAR(20) (line 1, "
     "column 13: \"+\")"},
    {"select p_id from parent where p_name",
     "invalid argument: WHERE needs a BOOLEAN, not VARCHAR(20) (line 1, column "
     "31: \"p_name\")"},
    {"select p_id from parent where c_at > 3",
     "invalid argument: no such column \"c_at\" (line 1, column 31: \"c_at\")"},
    {"select c_id from child where c_at > 3",
     "invalid argument: operator \">\" cannot mix TIMESTAMP and INT (line 1, "
     "column 35: \">\")"},
    {"select c_id from child where c_at > 'whenever'",
     "invalid argument: \"whenever\" is not a TIMESTAMP (YYYY-MM-DD "
     "HH:MM:SS.ffffff) (line 1, column 37: \"'whenever'\")"},
    {"select c_id from child where c_id = 'abc'",
     "invalid argument: \"abc\" is not a whole number (line 1, column 37: "
     "\"'abc'\")"},
    {"select c_id from child where c_id like 'a'",
     "invalid argument: LIKE does not take INT (line 1, column 35: \"like\")"},
    {"select case when c_id = 1 then 'a' else c_id end from child",
     "invalid argument: \"a\" is not a whole number (line 1, column 32: \"'a'\")"},
    {"select coalesce(c_at, c_id) from child",
     "invalid argument: COALESCE cannot mix TIMESTAMP and INT (line 1, column 8: "
     "\"coalesce\")"},
    {"select foo(c_id) from child",
     "invalid argument: function foo(INT) does not exist (line 1, column 8: \"foo\")"},
    {"select cuont(c_id) from child",
     "invalid argument: function cuont(INT) does not exist; did you mean \"count\"? (line 1, "
     "column 8: \"cuont\")"},
    {"select cuont(*) from child",
     "invalid argument: function cuont(*) does not exist; did you mean \"count\"? (line 1, "
     "column 8: \"cuont\")"},
    {"select date_trnuc('month', c_at), sum(c_id) from child",
     "invalid argument: function date_trnuc(TEXT, TIMESTAMP) does not exist; did you mean "
     "\"date_trunc\"? (line 1, column 8: \"date_trnuc\")"},
    {"select date_trunc(p_name, c_at) from parent, child",
     "unsupported: date_trunc() of a field that is no constant is not supported yet (line 1, "
     "column 19: \"p_name, c_at) from parent ...\")"},
    {"select regr_slop(c_id, c_id) from child",
     "invalid argument: function regr_slop(INT, INT) does not exist; did you mean "
     "\"regr_slope\"? (line 1, column 8: \"regr_slop\")"},
    {"select coalesc(c_id, 0) from child",
     "invalid argument: function coalesc(INT, INT) does not exist; did you mean \"coalesce\"? "
     "(line 1, column 8: \"coalesc\")"},
    {"select row_numbr() over (order by c_id) from child",
     "invalid argument: function row_numbr() does not exist; did you mean \"row_number\"? "
     "(line 1, column 8: \"row_numbr\")"},
    {"select substring(c_idd, 1), foo(c_idd) from child",
     "invalid argument: no such column \"c_idd\"; did you mean \"c_id\"? (line 1, column 18: "
     "\"c_idd\")"},
    {"select * from generate_serie(1, 3)",
     "invalid argument: function generate_serie() does not exist; did you mean "
     "\"generate_series\"? (line 1, column 15: \"generate_serie\")"},
    {"select cast(c_id as bigin) from child",
     "invalid argument: type \"bigin\" does not exist; did you mean \"bigint\"? (line 1, column "
     "21: \"bigin\")"},
    {"select sum(c_id) over windo_ from child window windows as (), window_ as ()",
     "invalid argument: no window \"windo_\" in WINDOW; did you mean \"window_\"? (line 1, column "
     "23: \"windo_\")"},
    {"select parent.p_id from parent p",
     "invalid argument: no table \"parent\" in FROM; did you mean its alias \"p\"? (line 1, column "
     "8: \"parent.p_id\")"},
    {"select p.p_id from parent p, (select p.p_id) z",
     "invalid argument: no table \"p\" in FROM; a derived table that names it is LATERAL (line 1, "
     "column 38: \"p.p_id\")"},
    {"select p_id from parent p union select p_id from parent q order by p.p_id",
     "invalid argument: no table \"p\" in FROM (line 1, column 68: \"p.p_id\")"},
    {"select parent.* from parent p",
     "invalid argument: no table \"parent\" in FROM; did you mean its alias \"p\"? (line 1, column "
     "8: \"parent.\")"},
    {"select 1 from parent p where exists (select 1 from child c where c.c_id = parent.p_id)",
     "invalid argument: no table \"parent\" in FROM; did you mean its alias \"p\"? (line 1, column "
     "75: \"parent.p_id\")"},
    {"select substr(c_id, 1) from child",
     "invalid argument: function substr() does not take INT (line 1, column 8: "
     "\"substr\")"},
    {"select c_id from child order by 3",
     "invalid argument: ORDER BY position 3 is not one of the 1 columns (line 1, "
     "column 33: \"3\")"},
    {"select c_id from child group by 4",
     "invalid argument: GROUP BY position 4 is not one of the 1 columns (line 1, "
     "column 33: \"4\")"},
    {"select c_id from child limit -1",
     "invalid argument: LIMIT must not be negative (line 1, column 30: \"-\")"},
    {"select c_id from child limit c_id",
     "invalid argument: LIMIT must not name columns (line 1, column 30: \"c_id\")"},
    {"select c_id from child limit (select max(c_id) from child)",
     "unsupported: LIMIT of anything but a number is not supported yet (line 1, column 30: "
     "\"(select max(c_id) from child ...\")"},
    {"select c_id from child limit true",
     "invalid argument: LIMIT is a number (line 1, column 30: \"true\")"},
    {"select c_id from child order by 'c_id'",
     "invalid argument: a constant in ORDER BY that is no position (line 1, column 33: "
     "\"'c_id'\")"},
    {"select sum(c_id) over (w) from child window w as (order by c_id rows 1 preceding)",
     "invalid argument: cannot copy window \"w\" because it has a frame clause; omit the "
     "parentheses in this OVER clause (line 1, column 23: \"(\")"},
    {"select sum(c_id) over (w rows 2 preceding) from child window w as (rows 1 preceding)",
     "invalid argument: cannot copy window \"w\" because it has a frame clause (line 1, column 23: "
     "\"(\")"},
    {"select p_id from parent tablesample system (10)",
     "unsupported: TABLESAMPLE is not supported yet (line 1, column 37: \"system (10)\")"},
    {"select * from unnest(array[1]) with ordinality",
     "unsupported: WITH ORDINALITY of unnest() is not supported yet (line 1, column 15: "
     "\"unnest(array[1]) with ordinality\")"},
    {"select current_time",
     "unsupported: the current time of day is not supported yet (line 1, column 8: "
     "\"current_time\")"},
    {"select cast(1 as foo)",
     "invalid argument: type \"foo\" does not exist; INT, BIGINT, DECIMAL(p,s), DOUBLE PRECISION, "
     "BOOLEAN, DATE, TIMESTAMP, CHAR(n), VARCHAR(n), TEXT and INTERVAL are supported (line 1, "
     "column 18: \"foo\")"},
    {"select timestamp '2024-01-01' at time zone 'UTC'",
     "invalid argument: AT TIME ZONE is not supported: there are no time zones, leave it out (line "
     "1, column 31: \"at\")"},
    {"select * from unnest(1)",
     "unsupported: an array but ARRAY[...] or a text '{...}' is not supported yet (line 1, column "
     "22: \"1)\")"},
    {"select * from regexp_matches('a', 'b')",
     "unsupported: function regexp_matches() in FROM is not supported yet (line 1, column 15: "
     "\"regexp_matches('a', 'b')\")"},
    {"select 1 where generate_series(1, 3) = 2",
     "unsupported: generate_series() here, or a second function that gives rows is not supported "
     "yet (line 1, column 16: \"generate_series(1, 3) = 2\")"},
    {"select p_id from parent where p_name like 'a\\'",
     "invalid argument: a LIKE pattern cannot end with a backslash that escapes nothing (line 1, "
     "column 43: \"'a\\'\")"},
    {"with recursive r(n) as (select 1 union all select n.n from r n, r) select n from r",
     "invalid argument: recursive reference to query \"r\" must not appear more than once (line 1, "
     "column 65: \"r\")"},
    {"with recursive r(n, m) as (select 0, 1 union all select n, n + 1.5 from r) select n from r",
     "invalid argument: recursive query \"r\" column 2 has type INT in non-recursive term but type "
     "DECIMAL(12,1) overall; cast the non-recursive term's output to the correct type (line 1, "
     "column 38: \"1\")"},
    {"with recursive r(n) as (select 1 union all select max(n) from r) select n from r",
     "invalid argument: aggregate functions are not allowed in a recursive query's recursive term "
     "(line 1, column 51: \"max\")"},
    {"with recursive r(n) as (select 1 union all select n from parent left join r on n = p_id) "
     "select n from r",
     "invalid argument: recursive reference to query \"r\" must not appear within an outer join "
     "(line 1, column 75: \"r\")"},
    {"with recursive r(n) as (select 1 from r) select n from r",
     "invalid argument: recursive query \"r\" does not have the form non-recursive-term UNION "
     "[ALL] "
     "recursive-term (line 1, column 16: \"r\")"},
    {"select (with recursive r(n) as (select p_id union all select n + 1 from r where n < 3) "
     "select max(n) from r) from parent",
     "unsupported: a recursive query that names columns of the query around its WITH is not "
     "supported yet (line 1, column 24: \"r(n) as (select p_id union ...\")"},
    {"with recursive a(n) as (select n from b), b(n) as (select n from a) select n from a",
     "unsupported: mutual recursion between WITH queries is not supported yet (line 1, column 16: "
     "\"a(n) as (select n from b ...\")"},
    {"with recursive r(n) as (select 1 union all select n + 1 from r) cycle n set c using p select "
     "n from r",
     "unsupported: CYCLE is not supported yet (line 1, column 16: \"r(n) as (select 1 union all "
     "...\")"},
    {"insert into parent values (1)",
     "unsupported: INSERT is not supported yet (line 1, column 1: \"insert into "
     "parent values ...\")"},
    {"explain (generic_plan) select 1",
     "unsupported: the option generic_plan of EXPLAIN is not supported yet (line 1, column 10: "
     "\"generic_plan) select 1\")"},
    {"select * from elsewhere.child",
     "invalid argument: no such table \"elsewhere.child\": all are in \"public\" (line 1, column "
     "15: "
     "\"elsewhere.child\")"},
    {"select version()",
     "unsupported: version() is not supported yet (line 1, column 8: \"version()\")"},
    {"select array_agg(c_id) from child",
     "unsupported: array_agg() (string_agg() puts values together) is not supported yet (line 1, "
     "column 8: \"array_agg(c_id) from child\")"},
    {"select median(c_id) from child",
     "invalid argument: function median(INT) does not exist; write percentile_cont(0.5) "
     "WITHIN GROUP (ORDER BY x) (line 1, column 8: \"median\")"},
    {"select (c_id)[1] from child",
     "unsupported: a subscript or field selection is not supported yet (line 1, column 9: "
     "\"c_id)[1] from child\")"},
    {"explain (format xml) select 1",
     "unsupported: the option format xml of EXPLAIN is not supported yet (line 1, column 10: "
     "\"format xml) select 1\")"},
    {"explain insert into parent values (1)",
     "unsupported: INSERT is not supported yet (line 1, column 1: \"explain insert into parent "
     "...\")"},
    {"select interval '1 2' day to minute",
     "invalid argument: \"1 2\" is no INTERVAL: numbers with units are, as in '3 months' or "
     "'1 year 10 days' (line 1, column 17: \"'1 2'\")"},
    {"select abs(interval '1 day')",
     "invalid argument: function abs() does not take INTERVAL (line 1, column 8: "
     "\"abs\")"},
    {"select c_day + interval '1 fortnight' from child",
     "invalid argument: \"1 fortnight\" is no INTERVAL: numbers with units are, "
     "as in '3 months' or '1 year 10 days' (line 1, column 25: \"'1 fortnight'\")"},
    {"select c_id from child for update",
     "unsupported: FOR UPDATE or FOR SHARE is not supported yet (line 1, column "
     "8: \"c_id from child for update\")"},
    {"select * from (select 1, 2) as t (a, b, c)",
     "invalid argument: \"t\" has 2 columns, but 3 names are given (line 1, "
     "column 23: \"1\")"},
    {"select t.* from child",
     "invalid argument: no table \"t\" in FROM (line 1, column 8: \"t.\")"},
    {"select a.p_id from parent a full join child on (select max(d.p_id) from parent d "
     "where d.p_id < a.p_id) = c_id",
     "unsupported: a subquery in the ON of a FULL JOIN that names its left side is not "
     "supported yet (line 1, column 39: \"child on (select max(d.p_id ...\")"},
    {"select a.p_id from parent a right join lateral (select c_id from child where "
     "c_id = a.p_id) d on true",
     "invalid argument: LATERAL cannot name the left side of a RIGHT or FULL JOIN (line 1, "
     "column 56: \"c_id\")"},
    {"select p_kind, (select count(*) from child where c_id > p_id) from parent group by p_kind",
     "invalid argument: column \"p_id\" in a subquery must be in GROUP BY or in an aggregate "
     "(line 1, column 16: \"(\")"},
    {"select * from parent join child using (p_idd)",
     "invalid argument: USING (p_idd): no table on the left has the column; did you mean "
     "\"p_id\"? (line 1, column 40: \"p_idd\")"},
    {"select 1 from parent join parent b on true join parent c using (p_id)",
     "invalid argument: USING (p_id): several tables on the left have the column (line 1, column "
     "65: \"p_id\")"},
    {"select count(*) from parent group by count(*)",
     "invalid argument: an aggregate cannot stand in GROUP BY (line 1, column 38: \"count\")"},
    {"select p_id as x, p_name as x from parent group by x, p_name",
     "invalid argument: GROUP BY \"x\" is ambiguous: several columns have the name (line 1, "
     "column 52: \"x\")"},
    {"select div(1.5::float8, 2)",
     "invalid argument: function div() does not take DOUBLE (line 1, column 8: \"div\")"},
    {"select date '2024-02-29' / '5'",
     "invalid argument: operator \"/\" does not take DATE and TEXT (line 1, column 26: \"/\")"},
    {"select 1; select 2",
     "syntax error: one statement at a time; another begins here (line 1, column "
     "11: \"select\")"},
    {"select parent from parent",
     "unsupported: a table's name as a value is not supported yet (line 1, column 8: \"parent from "
     "parent\")"},
    {"select (1, 2)",
     "unsupported: a row value is not supported yet (line 1, column 8: \"(1, 2)\")"},
    {"select mode() within group (order by p_id) over () from parent",
     "unsupported: mode() over a window is not supported yet (line 1, column 8: \"mode() within "
     "group (order ...\")"},
    {"select p_id from parent where (select sum(p_id) from child) > 1",
     "invalid argument: an aggregate cannot stand in WHERE; HAVING takes them (line 1, column 39: "
     "\"sum\")"},
    {"select sum(c_text) from child",
     "invalid argument: sum() does not take TEXT (line 1, column 8: \"sum\")"},
    {"select count(*) from child where c_id = (select 1, 2)",
     "invalid argument: a subquery that stands for a value has one column (line "
     "1, column 41: \"(\")"},
    {"select '2001-02-30'::date",
     "invalid argument: \"2001-02-30\" names no day of the calendar (line 1, "
     "column 8: \"'2001-02-30'\")"},
    {"select round(c_amount::float8, c_id) from child",
     "unsupported: rounding a DOUBLE to digits that are no literal is not "
     "supported yet (line 1, column 32: \"c_id) from child\")"},
    {"select d.c_id from (select c_p_id from child) d",
     "invalid argument: table \"d\" has no column \"c_id\" (line 1, column 8: "
     "\"d.c_id\")"},
    {"select \"C_ID\" from child",
     "invalid argument: no such column \"C_ID\" (line 1, column 8: \"\"C_ID\"\")"},
    {"select c_id,\n"
     "  c_amount\n"
     "from child\n"
     "where  c_amuont > 3",
     "invalid argument: no such column \"c_amuont\"; did you mean \"c_amount\"? "
     "(line 4, column 8: \"c_amuont\")"},
    {"", "syntax error: there is no statement in the text"},
    {"   -- nothing", "syntax error: there is no statement in the text"},
    {"select 'é', frm from child",
     "invalid argument: no such column \"frm\" (line 1, column 13: \"frm\")"},
};

using SqlErrorTest = SqlTest;

TEST_F(SqlErrorTest, EveryRefusalNamesItsReasonAndPlace) {
  for (const Refused& statement : kRefused) {
    EXPECT_EQ(plan(statement.sql), statement.error) << statement.sql;
  }
}

TEST_F(SqlErrorTest, DeepAndLongStatementsAreRefusedAndDoNotOverflowTheStack) {
  const auto repeated = [](std::string_view part, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += part;
    return text;
  };
  const std::string hostile[] = {
      "select " + repeated("1+", 100'000) + "1",
      "select " + repeated("(", 20'000) + "1" + repeated(")", 20'000),
      "select " + repeated("abs(", 3'000) + "1" + repeated(")", 3'000),
      "select " + repeated("not ", 50'000) + "true",
      "select " + repeated("case when true then ", 5'000) + "1" + repeated(" end", 5'000),
      "select " + repeated("-", 1) + repeated(" -", 100'000) + "1",
      "select 1 " + repeated("union select 1 ", 10'000),
      "select * from parent " + repeated("join parent using (p_id) ", 5'000),
      "select 1 where " + repeated("exists (select 1 from parent where ", 2'000) + "true" +
          repeated(")", 2'000),
      "select '" + repeated("x", 2'000'000) + "'",
  };
  for (const std::string& sql : hostile) {
    const auto prepared = prepare(sql, catalog_, rows_);
    ASSERT_FALSE(prepared.ok()) << sql.substr(0, 60);
    EXPECT_EQ(prepared.code(), base::ErrorCode::kUnsupported) << prepared.error().to_string();
  }
}

TEST_F(SqlErrorTest, AJoinOfTooManyTablesIsRefusedWhereItStands) {
  std::string from = "parent p0";
  for (int i = 1; i < 64; ++i) from += fmt::format(", parent p{}", i);
  EXPECT_EQ(plan("select 1 from " + from),
            "unsupported: a join of over 63 tables is not supported yet (line 1, column 15: "
            "\"parent p0, parent p1, parent ...\")");
  EXPECT_EQ(plan("select 1\nwhere exists (select 1 from " + from + ")"),
            "unsupported: a join of over 63 tables is not supported yet (line 2, column 29: "
            "\"parent p0, parent p1, parent ...\")");
}

// Each LATERAL copies the rows that it stands beside, the one before it among them.
TEST_F(SqlErrorTest, CopiesOfOuterRowsAreBounded) {
  const auto chain = [&](int length) {
    std::string sql = "select 1 from parent q0";
    for (int i = 1; i <= length; ++i) {
      sql += fmt::format(", lateral (select count(*) as p_id from child where c_id < q{}.p_id) q{}",
                         i - 1, i);
    }
    return plan(sql);
  };
  EXPECT_EQ(chain(4).find("unsupported"), std::string::npos);
  EXPECT_EQ(chain(30),
            "unsupported: a statement of so many subqueries or full joins within each other is not "
            "supported yet (line 1, column 1: \"select 1 from parent q0, ...\")");
}

TEST_F(SqlErrorTest, QueriesNestedThroughWithAreBounded) {
  std::string sql = "with q0 as (select p_id from parent)";
  for (int i = 1; i < 25; ++i) {
    sql += fmt::format(", q{} as (select a.p_id from q{} a, q{} b)", i, i - 1, i - 1);
  }
  const auto prepared = prepare(sql + " select * from q24", catalog_, rows_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.code(), base::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace diptych::olap
