// Statements of an adversary: planning them ends soon, when it is stopped, and takes little.

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "olap/sql/parse_tree.h"
#include "tests/olap/sql_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::olap {
namespace {

// item(0), item(1), ... with the separator between them.
std::string list_of(size_t count, std::string_view separator,
                    const std::function<std::string(size_t)>& item) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) text += separator;
    text += item(i);
  }
  return text;
}

std::string numbered(std::string_view name, size_t i) {
  return fmt::format("{}{}", name, i);
}

double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

using SqlPlanningTest = SqlTest;

TEST_F(SqlPlanningTest, ListsHaveAsManyColumnsAsInPostgresql) {
  const std::string powers =
      list_of(1665, ", ", [](size_t i) { return fmt::format("power(c_id, {})", i); });
  const std::string sums =
      list_of(1665, ", ", [](size_t i) { return fmt::format("sum(power(c_id, {}))", i); });
  const std::string ranks = list_of(1665, ", ", [](size_t i) {
    return fmt::format("rank() over (order by power(c_id, {}))", i);
  });
  const std::string lags =
      list_of(1665, ", ", [](size_t i) { return fmt::format("lag(c_id, {}) over w", i); });
  for (const std::string& sql :
       {"select " + powers + " from child", "select 1 from child group by " + powers,
        "select 1 from child order by " + powers, "select greatest(" + sums + ") from child",
        "select greatest(" + ranks + ") from child",
        "select greatest(" + lags + ") from child window w as (order by c_id)",
        "select distinct on (" + powers + ") 1 from child", "values (" + powers + ")",
        "select 1 from child group by grouping sets ((" + powers + "))"}) {
    const auto prepared = prepare(sql, catalog_, rows_);
    ASSERT_FALSE(prepared.ok()) << sql.substr(0, 40);
    EXPECT_EQ(prepared.error().sqlstate(), "54011") << prepared.error().to_string();
  }
}

// Stars of stars would be a million columns.
TEST_F(SqlPlanningTest, AStatementHasSoManyColumnsInAll) {
  const std::string stars = list_of(150, ", ", [](size_t) { return "*"; });
  EXPECT_EQ(plan("with a as (select " + stars + " from (select 1) t), b as (select " + stars +
                 " from a) select count(*) from b"),
            "unsupported: a SELECT of over 1664 columns is not supported yet");
  EXPECT_EQ(
      plan("with a as (select " + list_of(1600, ", ", [](size_t) { return "c_id"; }) +
           " from child) select count(*) from " +
           list_of(30, ", ", [](size_t i) { return numbered("a t", i); }) + " where exists (" +
           list_of(32, " union all ", [](size_t) { return "select * from a"; }) + ")"),
      "unsupported: a statement of over 100000 columns is not supported yet");
}

// A full join has both sides twice, so 60 of them would be 2^60 operators.
TEST_F(SqlPlanningTest, FullJoinsWithinEachOtherAreBounded) {
  const auto joined = [&](size_t count) {
    return plan("select count(*) from parent " + list_of(count, " ", [](size_t i) {
                  return fmt::format("full join parent t{0} on t{0}.p_id = parent.p_id", i);
                }));
  };
  EXPECT_EQ(joined(5).find("unsupported"), std::string::npos);
  EXPECT_TRUE(
      joined(60).starts_with("unsupported: a statement of so many subqueries or full joins "
                             "within each other is not supported yet"));
}

TEST_F(SqlPlanningTest, FunctionsHaveAsManyArgumentsAsInPostgresql) {
  const auto call = [&](size_t count) {
    return prepare(fmt::format("select concat({}) from child",
                               list_of(count, ", ", [](size_t) { return "c_id"; })),
                   catalog_, rows_);
  };
  EXPECT_TRUE(call(100).ok());
  const auto over = call(101);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().sqlstate(), "54023");
}

// Within any thread's stack, whatever a level of the text becomes.
TEST_F(SqlPlanningTest, WhatNestsDeepIsPlannedOrRefused) {
  std::string calls = "c_id::text";
  std::string rows = "true";
  for (int i = 0; i < 190; ++i) {
    calls = "concat(" + list_of(98, ",", [](size_t) { return "c_text"; }) + "," + calls + ")";
    if (i < 90) {
      rows = "(" + list_of(90, ",", [](size_t) { return "c_flag"; }) + "," + rows + ") < (" +
             list_of(91, ",", [](size_t) { return "c_flag"; }) + ")";
    }
  }
  EXPECT_TRUE(prepare("select " + calls + " from child", catalog_, rows_).ok());
  EXPECT_TRUE(plan("select 1 from child where " + rows).starts_with("unsupported: an expression"));
  const std::string wide = list_of(101, ",", [](size_t) { return "c_id"; });
  EXPECT_TRUE(plan("select 1 from child where (" + wide + ") < (" + wide + ")")
                  .starts_with("unsupported: a row of over 100 columns"));
  EXPECT_TRUE(
      prepare("select 1 from child where (" + wide.substr(5) + ") < (" + wide.substr(5) + ")",
              catalog_, rows_)
          .ok());
}

// What is said once and needed twice: 30 times within itself it would be 2^30 nodes.
// WITH queries that each name the one before, the first of them some numbers.
std::string chain_of_queries(size_t count, const std::string& form) {
  std::string sql = "with c0 as (select c_id n from child)";
  for (size_t i = 1; i < count; ++i) {
    sql += fmt::format(", c{} as (", i) + fmt::format(fmt::runtime(form), i - 1) + ")";
  }
  return sql + fmt::format(" select count(*) from c{}", count - 1);
}

TEST_F(SqlPlanningTest, ChainsOfWithQueriesAreFlat) {
  for (const char* const form :
       {"select * from c{}", "select n + 1 as n from c{} where n > 0",
        "select n from c{} group by n", "select c.n from c{} c left join parent p on p.p_id = c.n",
        "select (select max(p_id) from parent where p_id = n) as n from c{}"}) {
    const auto planned = prepare(chain_of_queries(100, form), catalog_, rows_);
    EXPECT_TRUE(planned.ok()) << form << ": " << planned.error().to_string();
  }
  EXPECT_EQ(
      plan(chain_of_queries(201, "select * from c{}")),
      "unsupported: WITH queries and views that name each other over 200 deep is not supported "
      "yet "
      "(line 1, column 54: \"* from c0), c2 as (select ...\")");
  // AddressSanitizer's frames of so many nested expressions take more than a stack.
  if (diptych::test::kSanitized) return;
  std::string nested = "(select max(n) from c{})";
  for (size_t depth = 0; depth < 180; ++depth) nested = "abs(" + nested + ")";
  EXPECT_TRUE(plan(chain_of_queries(100, "select " + nested + " as n from child"))
                  .starts_with("unsupported: subqueries within over 5000 nested expressions"));
}

TEST_F(SqlPlanningTest, OperandsThatAreNeededTwiceDoNotExplode) {
  const auto nested = [&](std::string_view form, std::string inner) {
    for (int i = 0; i < 40; ++i) inner = fmt::format(fmt::runtime(form), inner);
    return prepare("select " + inner + " from child", catalog_, rows_);
  };
  for (const std::string_view form :
       {"cast({} between 1 and 2 as int)", "cast({} is distinct from c_big as int)",
        "case {} when 1 then 2 when 3 then 4 end", "cast({} in (c_big, c_big + 1) as int)"}) {
    const auto prepared = nested(form, "c_id");
    ASSERT_FALSE(prepared.ok()) << form;
    EXPECT_EQ(prepared.error().sqlstate(), "54001") << prepared.error().to_string();
  }
  EXPECT_TRUE(nested("nullif({}, 5)", "c_id").ok());
}

TEST_F(SqlPlanningTest, AQueryThatIsStoppedIsNotPlanned) {
  QueryControl control;
  control.cancel();
  EXPECT_EQ(prepare("select 1", catalog_, rows_, {}, {}, &control).code(),
            base::ErrorCode::kCancelled);
  QueryControl late;
  late.expire();
  EXPECT_EQ(prepare("select 1", catalog_, rows_, {}, {}, &late).code(),
            base::ErrorCode::kDeadlineExceeded);
}

// What the parser's library takes for a text and its tree, which is not stopped.
struct ParserMs {
  double parse = 0;
  double release = 0;
};

ParserMs parser_ms(const std::string& sql) {
  const double before_ms = thread_ms();
  const SourceText source(sql);
  std::optional<base::Result<ParseTree>> tree = ParseTree::parse(source);
  EXPECT_TRUE(tree->ok());
  const double parsed_ms = thread_ms();
  tree.reset();
  return {parsed_ms - before_ms, thread_ms() - parsed_ms};
}

// Each takes seconds to plan, most of it in one place.
TEST_F(SqlPlanningTest, PlanningEndsSoonAfterItIsStopped) {
  const std::string powers =
      list_of(1660, ", ", [](size_t i) { return fmt::format("power(c_id, {})", i); });
  const std::string wide = list_of(1600, ", ", [](size_t i) { return numbered("c_id as a", i); });
  const auto long_keys = [](size_t i) {
    return fmt::format("coalesce({}, {})", list_of(50, ",", [](size_t) { return "c_id"; }), i);
  };
  for (const std::string& sql :
       {"select " + powers + " from child group by " + powers,
        "select 1 from child group by " + list_of(1660, ", ", long_keys),
        "select " +
            list_of(
                1660, ", ",
                [](size_t i) { return fmt::format("rank() over (order by power(c_id, {}))", i); }) +
            " from child",
        "with a as (select " + wide + " from child) select count(*) from " +
            list_of(60, ", ", [](size_t i) { return numbered("a t", i); }) + " where coalesce(" +
            list_of(100000, ",", [](size_t) { return "t50.a1599"; }) + ") > 0"}) {
    const ParserMs parser = parser_ms(sql);
    const double stop_ms = 100 + 1.25 * parser.parse;
    const double limit_ms = (diptych::test::kSanitized ? 1000 : 100) + 2 * parser.release;
    QueryControl control;
    std::atomic<bool> planned = false;
    double ended_ms = 0;
    base::ErrorCode code{};
    std::thread planner([&] {
      const auto prepared = prepare(sql, catalog_, rows_, {}, {}, &control);
      if (!prepared) code = prepared.code();
      ended_ms = thread_ms();
      // release: pairs with the acquire below.
      planned.store(true, std::memory_order_release);
    });
    clockid_t clock{};
    pthread_getcpuclockid(planner.native_handle(), &clock);
    double stopped_ms = 0;
    do {  // of its CPU time: the parser is done by then
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      timespec spent{};
      clock_gettime(clock, &spent);
      stopped_ms =
          static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) * 1e-6;
      // acquire: as above.
    } while (!planned.load(std::memory_order_acquire) && stopped_ms < stop_ms);
    control.cancel();
    planner.join();
    if (code == base::ErrorCode::kCancelled) {
      EXPECT_LT(ended_ms - stopped_ms, limit_ms) << sql.substr(0, 60);
    }
  }
}

}  // namespace
}  // namespace diptych::olap
