// What a query may keep: a query over its memory budget fails alone, whatever operator keeps it.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "olap/execution/limits/query_memory.h"
#include "olap/query_memory_figures.h"
#include "tests/olap/exec_table.h"
#include "tests/olap/sql_fixture.h"
#include "tests/storage/encoding_columns.h"

namespace diptych::olap::test {
namespace {

constexpr int64_t kRows = 20'000;
constexpr size_t kBudget = size_t{200} << 10;  // less than 10 bytes a row
const std::vector<DataType> kRowTypes = {kIntType, kTextType};

class MemoryLimit : public ::testing::TestWithParam<uint32_t> {
 protected:
  MemoryLimit() {
    replica_.add_table(kRowTypes);
    for (int64_t i = 0; i < kRows; ++i) {
      replica_.insert(base::TableId(0),
                      {number(i), text("a text of some length " + std::to_string(i))});
    }
  }

  // Over "t1 (c0, c1)", which is the table.
  static Plan statement(const std::string& sql) {
    base::Catalog catalog;
    EXPECT_EQ(define(&catalog, "CREATE TABLE t1 (c0 INT, c1 TEXT, PRIMARY KEY (c0))"), "");
    auto plan = prepare(sql, catalog, {kRows});
    EXPECT_TRUE(plan.ok()) << plan.error().to_string();
    return std::move(*plan);
  }
  static OperatorPtr source() { return scan(base::TableId(0), kRowTypes); }
  // One row: what is above keeps nothing to speak of.
  static Plan counted(OperatorPtr rows) {
    std::vector<Aggregate> count;
    count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return plan_of(aggregate(std::move(rows), {}, std::move(count)));
  }
  static OperatorPtr grouped(AggregateKind kind) {
    std::vector<ExpressionPtr> keys;
    if (kind == AggregateKind::kMax) keys.push_back(column(0, kIntType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(is_ordered_set(kind) ? ordered_set_of(kind, column(1, kTextType), false)
                                              : aggregate_of(kind, column(1, kTextType)));
    return aggregate(source(), std::move(keys), std::move(aggregates));
  }

  std::vector<base::Result<QueryResult>> run(const std::vector<const Plan*>& plans, size_t budget) {
    Executor executor(placement(GetParam()), budget);
    const StopFlag stop{false};
    return executor.run_batch(plans, replica_.replica(), stop);
  }

  // The plan fails over the budget, the one after it answers; with room enough both do.
  void expect_limited(const Plan& plan, const std::string& what) {
    const Plan small = counted(source());
    auto results = run({&plan, &small}, kBudget);
    ASSERT_FALSE(results[0].ok());
    EXPECT_EQ(results[0].error().to_string(),
              "out of memory: the query would keep more than 200 KiB, which is its limit, with " +
                  what +
                  ": let it keep fewer rows, or raise query_memory_bytes_max "
                  "(diptych's --query-memory)");
    EXPECT_STREQ(std::string(results[0].error().sqlstate()).c_str(), "53200");
    ASSERT_TRUE(results[1].ok());
    EXPECT_EQ(results[1]->rows[0][0], number(kRows));
    results = run({&plan, &small}, size_t{64} << 20);
    EXPECT_TRUE(results[0].ok());
    EXPECT_TRUE(results[1].ok());
  }

  TestReplica replica_{3};
};

TEST_P(MemoryLimit, BelowAKibibyteIsSaidInBytes) {
  const Plan plan = plan_of(source());
  const auto results = run({&plan}, 1'000);
  ASSERT_FALSE(results[0].ok());
  EXPECT_EQ(results[0].error().message.find("the query would keep more than 1000 bytes, which "),
            0U)
      << results[0].error().to_string();
}

TEST_P(MemoryLimit, HoldsForAResult) {
  expect_limited(plan_of(source()), "the result");
}

TEST_P(MemoryLimit, HoldsForAJoinsBuildSide) {
  expect_limited(counted(join(JoinKind::kInner, source(), source(), {{1, 1}})),
                 "the build side of a join");
  expect_limited(counted(join(JoinKind::kSemi, source(), source(), {{1, 1}})),
                 "the build side of a join");
}

TEST_P(MemoryLimit, HoldsForGroupsAndTheirStates) {
  expect_limited(counted(grouped(AggregateKind::kMax)), "the groups of a GROUP BY");
  expect_limited(counted(grouped(AggregateKind::kCountDistinct)), "the groups of a GROUP BY");
  expect_limited(counted(grouped(AggregateKind::kPercentileDisc)), "the groups of a GROUP BY");
}

TEST_P(MemoryLimit, HoldsForASortButNotForTheFirstFewOfManyRows) {
  OperatorPtr sorted = over(OperatorKind::kSort, source(), kRowTypes);
  sorted->sort_keys = {{0, true, false}};
  Plan plan = plan_of(std::move(sorted));
  expect_limited(plan, "the rows of a sort");
  plan.root->limit = 2;
  plan.column_names.pop_back();
  Executor executor(placement(GetParam()), size_t{2} << 20);
  const StopFlag stop{false};
  const Plan* const plans[] = {&plan};
  const auto results = executor.run_batch(plans, replica_.replica(), stop);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  EXPECT_EQ(results[0]->rows[1][0], number(kRows - 2));
}

TEST_P(MemoryLimit, HoldsForTextsPutTogether) {
  expect_limited(statement("SELECT length(string_agg(c1, ',')) FROM t1"),
                 "the groups of a GROUP BY");
  expect_limited(statement("SELECT length(string_agg(c1, ',' ORDER BY c0 DESC)) FROM t1"),
                 "the groups of a GROUP BY");
}

// The rows kept are within the limit, the texts made of them are as long again.
TEST_P(MemoryLimit, HoldsForTheTextsThatGroupsArePutTogetherTo) {
  const std::string delimiter(1000, ',');
  for (const char* const keys : {"", " GROUP BY c0 / 100"}) {
    const Plan plan = statement("SELECT max(n) FROM (SELECT length(string_agg('x', '" + delimiter +
                                "')) AS n FROM t1" + keys + ") t");
    const auto results = run({&plan}, size_t{30} << 20);
    ASSERT_FALSE(results[0].ok()) << keys;
    EXPECT_EQ(results[0].error().sqlstate(), "53200");
    EXPECT_TRUE(run({&plan}, size_t{128} << 20)[0].ok());
  }
}

TEST_P(MemoryLimit, HoldsForWindows) {
  expect_limited(
      statement("SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY c1) AS n FROM t1) w"),
      "the rows of a window");
  expect_limited(statement("SELECT max(n) FROM (SELECT sum(c0) OVER (ORDER BY c0 ROWS BETWEEN 9 "
                           "PRECEDING AND 5 FOLLOWING) AS n FROM t1) w"),
                 "the results of a window");
}

TEST_P(MemoryLimit, HoldsForRecursions) {
  expect_limited(statement("WITH RECURSIVE r (n, t) AS (SELECT c0, c1 FROM t1 UNION ALL SELECT "
                           "n + 20000, t FROM r WHERE n < 30000) SELECT max(n) FROM r"),
                 "the rows of a recursion");
  // All rounds' rows are kept, though each round has one.
  expect_limited(statement("WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < "
                           "9000) SELECT max(n) FROM r"),
                 "the groups of a GROUP BY");
}

// A vector's texts of each of these take about a MiB and are gone with the next vector.
TEST_P(MemoryLimit, HoldsForTextsThatNobodyKeeps) {
  for (const std::string text :
       {"repeat(c1, 40)", "c1 || repeat('x', 999)", "upper(repeat(c1, 40))", "lpad(c1, 999)",
        "replace(c1, 't', repeat('u', 500))", "format('%s and %1000s', c1, c0)",
        "concat_ws(c1, 'a', repeat('b', 999))", "regexp_replace(c1, 't', repeat('u', 999))",
        "translate(repeat(c1, 40), 'a', 'b')", "md5(repeat(c1, 40))"}) {
    SCOPED_TRACE(text);
    const std::string length = "length(" + text + ")";
    const std::string what = "the texts that its expressions make";
    expect_limited(statement("SELECT max(" + length + ") FROM t1"), what);
    expect_limited(statement("SELECT count(*) FROM t1 WHERE " + length + " > 0"), what);
    expect_limited(statement("SELECT count(*) FROM (SELECT 1 FROM t1 GROUP BY " + length + ") t"),
                   what);
    expect_limited(statement("SELECT count(*) FROM t1 a JOIN (SELECT c0 AS n FROM t1 WHERE c0 < "
                             "1) b ON " +
                             length + " - b.n > 0"),
                   what);
  }
  expect_limited(statement("SELECT max(length(c1 || CAST(repeat('1', 999) AS TEXT))) FROM t1"),
                 "the texts that its expressions make");
}

// A block's dictionary of symbol text is expanded once, for all vectors: 7,000 texts take some 600
// KiB. Each worker has its own.
TEST_P(MemoryLimit, HoldsForTheTextsOfDictionaries) {
  TestReplica replica(storage::StorageOptions{.partitions = 1});
  replica.add_table(kRowTypes);
  for (int64_t i = 0; i < 70'000; ++i) {
    const int64_t page = (i * 0x9e3779b9 >> 20) % 7000;
    replica.insert(
        base::TableId(0),
        {number(i), text("https://www.example.org/articles/" +
                         storage::encoding::test::last_name(static_cast<uint64_t>(page / 3)) + "/" +
                         std::to_string(page * 7919 % 100'000) + ".html")});
  }
  replica.compact();
  const storage::Leaf& leaf =
      replica.replica().table(base::TableId(0)).partition(base::PartitionId(0)).leaf(0);
  ASSERT_EQ(leaf.storage(base::ColumnId(1)).encoding, "symbol dictionary");
  const auto run_within = [&](const std::string& sql, size_t budget) {
    const Plan plan = statement(sql);
    const Plan* const plans[] = {&plan};
    Executor executor(placement(GetParam()), budget);
    const StopFlag stop{false};
    return executor.run_batch(plans, replica.replica(), stop)[0];
  };
  const auto failed = run_within("SELECT max(length(c1)) FROM t1", kBudget);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().sqlstate(), "53200");
  EXPECT_NE(failed.error().message.find("with the texts of the dictionaries that it scans: "),
            std::string::npos)
      << failed.error().to_string();
  EXPECT_TRUE(run_within("SELECT max(c0) FROM t1", kBudget).ok()) << "it reads no text";
  const auto answered = run_within("SELECT max(length(c1)) FROM t1", size_t{4} << 20);
  ASSERT_TRUE(answered.ok()) << answered.error().to_string();
  EXPECT_EQ(answered->rows[0][0], number(59));
}

// By one worker, since the rows of a series come from one.
TEST_P(MemoryLimit, CountsAsMuchAsAVectorsTextsTake) {
  const Plan below = statement(
      "SELECT max(length(repeat('x', 40000 + CAST(n AS INT)))) "
      "FROM generate_series(1, 3000) AS s (n)");
  const Plan over = statement(
      "SELECT max(length(repeat('x', 60000 + CAST(n AS INT)))) "
      "FROM generate_series(1, 3000) AS s (n)");
  const auto results = run({&below, &over, &below}, size_t{50} << 20);
  EXPECT_TRUE(results[0].ok()) << results[0].error().to_string();
  ASSERT_FALSE(results[1].ok());
  EXPECT_EQ(results[1].code(), base::ErrorCode::kOutOfMemory);
  EXPECT_TRUE(results[2].ok());
}

// A vector's texts of the first would be 600 MB, the others are of one row, most of them one text.
TEST_P(MemoryLimit, TextsThatNobodyKeepsTakeNoMoreThanTheLimit) {
  const auto peak_bytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<size_t>(usage.ru_maxrss) << 10;
  };
  const std::string x20 = "repeat('x', 20000000)";
  for (const std::string& text :
       {std::string("upper(upper(repeat('x', 200000 + CAST(n AS INT))))"),
        std::string("repeat('x', 900000000)"), std::string("lpad('x', 900000000)"),
        std::string("rpad('x', 900000000, 'yz')"),
        std::string("replace(repeat('x', 1000000), 'x', repeat('y', 900))"),
        std::string("regexp_replace(repeat('x', 1000000), 'x', repeat('y', 900), 'g')"),
        std::string("format('%900000000s', 'x')"), "format('%s%1$s%1$s%1$s', " + x20 + ")",
        "concat_ws(" + x20 + ", 'a', 'b', 'c', 'd', 'e')",
        "quote_literal(replace(" + x20 + ", 'x', ''''))",
        "translate(" + x20 + ", 'x', 'y') || " + x20, x20 + " || " + x20 + " || " + x20,
        "initcap(reverse(" + x20 + "))",
        std::string("coalesce(split_part(repeat(',', 5000000), ',', -7), '') || repeat('x', "
                    "900000000)")}) {
    SCOPED_TRACE(text);
    const size_t before = peak_bytes();
    const Plan plan =
        statement("SELECT max(length(" + text + ")) FROM generate_series(1, 3000) AS s (n)");
    const auto results = run({&plan}, size_t{50} << 20);
    EXPECT_EQ(results[0].code(), base::ErrorCode::kOutOfMemory);
    EXPECT_LT(peak_bytes() - before, size_t{100} << 20);
  }
}

// Patterns are kept compiled, errors and digits are of the text's beginning.
TEST_P(MemoryLimit, PatternsAndNumbersOfAnyLengthTakeLittle) {
  const auto failure = [&](const std::string& sql) {
    const Plan plan = statement(sql);
    const auto results = run({&plan}, size_t{1} << 30);
    EXPECT_FALSE(results[0].ok()) << sql;
    return results[0].ok() ? base::Error(base::ErrorCode::kClosed, "") : results[0].error();
  };
  for (const char* const sql :
       {"SELECT 1 WHERE 'x' LIKE repeat('a', 2000000)", "SELECT 1 WHERE 'x' ~ repeat('a', 2000000)",
        "SELECT regexp_count('x', repeat('a', 2000000))"}) {
    EXPECT_EQ(failure(sql).sqlstate(), "54000") << sql;
  }
  const std::string digits = "CAST(repeat('1', 2000000) AS NUMERIC";
  for (const std::string& sql :
       {"SELECT " + digits + "(12, 2))", "SELECT " + digits + "(38))",
        std::string("SELECT CAST(repeat('x', 2000000) AS NUMERIC(12, 2))")}) {
    EXPECT_LT(failure(sql).message.size(), 200u) << sql;
  }
  const Plan rounded =
      statement("SELECT CAST('0.' || repeat('4', 40) || repeat('9', 2000000) AS NUMERIC(38, 37))");
  const auto results = run({&rounded}, size_t{1} << 30);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  EXPECT_EQ(base::to_string(results[0]->rows[0][0]), "0." + std::string(37, '4'));
}

// Each node has a vector of its own.
TEST_P(MemoryLimit, HoldsForTheNodesOfLargeExpressions) {
  std::string ors = "false";
  std::string list = "-1";
  std::string nullif = "c0";
  for (int i = 0; i < 20'000; ++i) {
    if (i < 5'000) ors += " OR c0 = length(c1) AND c0 <> " + std::to_string(i);
    list += ", " + std::to_string(i * 2);
    if (i < 60) nullif = "nullif(" + nullif + ", " + std::to_string(i) + ")";
  }
  const Plan large = statement("SELECT count(*) FROM t1 WHERE c0 = length(c1) AND (" + ors + ")");
  auto results = run({&large}, size_t{8} << 20);
  ASSERT_FALSE(results[0].ok());
  EXPECT_EQ(results[0].error().sqlstate(), "53200") << results[0].error().to_string();
  // Literals of a list are values, and NULLIF's operand is there once.
  const Plan listed = statement("SELECT count(*) FROM t1 WHERE c0 + length(c1) * 0 IN (" + list +
                                ") AND " + nullif + " > 0");
  results = run({&listed}, size_t{8} << 20);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  EXPECT_EQ(results[0]->rows[0][0], number(9970));
}

// Its rows are numbered by a window.
TEST_P(MemoryLimit, ASeriesKeepsNoRows) {
  const Plan plan = statement("SELECT sum(n) FROM generate_series(1, 600000) AS s (n)");
  const auto results = run({&plan}, kBudget);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  EXPECT_EQ(base::to_string(results[0]->rows[0][0]), "180000300000");
}

// Of texts that ascend and are made for one vector, each is the greatest so far; a group keeps its
// last one.
TEST_P(MemoryLimit, AGreatestTextKeepsNoneBeforeIt) {
  const auto greatest = [&](const std::string& sql) {
    const Plan plan = statement(sql);
    auto results = run({&plan}, size_t{2} << 20);
    EXPECT_TRUE(results[0].ok()) << results[0].error().to_string();
    return results[0].ok() ? results[0]->rows[0][0] : kNull;
  };
  EXPECT_EQ(greatest("SELECT length(max(lpad(c0::text, 200, '0'))) FROM t1"), number(200));
  EXPECT_EQ(greatest("SELECT max(c) FROM (SELECT max(lpad(c0::text, 200, '0')) AS c FROM t1 GROUP "
                     "BY c0 % 7) q"),
            text(std::string(195, '0') + "19999"));
}

// Its keys have places: it takes 4 bytes a row and some bits beside its rows.
TEST_P(MemoryLimit, AJoinByPlacesIsNotChargedForAHashTable) {
  const Plan plan = counted(join(JoinKind::kSemi, source(), source(), {{0, 0}}));
  auto results = run({&plan}, size_t{800} << 10);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  EXPECT_EQ(results[0]->rows[0][0], number(kRows));
}

TEST_P(MemoryLimit, CountsNothingAfterItsOwner) {
  // Ten joins one after the other: each alone is within the budget, all together are not.
  const Plan plan = counted(join(JoinKind::kSemi, source(), source(), {{0, 0}}));
  const std::vector<const Plan*> plans(10, &plan);
  for (const auto& result : run(plans, size_t{4} << 20)) EXPECT_TRUE(result.ok());
}

// Each result is far below a query's own limit.
TEST_P(MemoryLimit, OfAllQueriesFailsThoseThatWouldPassItAndNoOther) {
  constexpr size_t kLimit = size_t{4} << 20;
  constexpr size_t kQueries = 16;
  const Plan rows = plan_of(source());
  const Plan small = counted(source());
  std::vector<const Plan*> plans(kQueries, &rows);
  plans[1] = &small;
  const StopFlag stop{false};
  Executor executor(placement(GetParam()), kLimit, kLimit);
  auto results = executor.run_batch(plans, replica_.replica(), stop);
  ASSERT_TRUE(results[0].ok());
  EXPECT_EQ(results[0]->rows.size(), static_cast<size_t>(kRows));
  ASSERT_TRUE(results[1].ok());
  EXPECT_EQ(results[1]->rows[0][0], number(kRows));
  size_t held = 0;
  size_t failed = 0;
  for (const auto& result : results) {
    if (result.ok()) {
      held += result->rows.table()->memory_bytes();
      continue;
    }
    ++failed;
    EXPECT_EQ(result.error().sqlstate(), "53200");
    EXPECT_EQ(result.error().message.find("all queries, and results that are still held, would "
                                          "keep more than 4096 KiB, which is their limit, with "
                                          "the result of this one"),
              0U)
        << result.error().to_string();
  }
  EXPECT_GT(failed, 0U);
  EXPECT_LE(held, kLimit);
  EXPECT_EQ(executor.queries_memory_bytes(), held);
  // A copy of a result is counted once, and for as long as one of them is there.
  base::Result<QueryResult> copy = results[0];
  results.clear();
  EXPECT_EQ(executor.queries_memory_bytes(), copy->rows.table()->memory_bytes());
  copy = QueryResult();
  EXPECT_EQ(executor.queries_memory_bytes(), 0U);
  EXPECT_TRUE(executor.run_batch(plans, replica_.replica(), stop)[0].ok());
}

TEST_P(MemoryLimit, OfAllQueriesIsGivenBackByThoseThatFail) {
  const Plan plans[] = {plan_of(source()), counted(grouped(AggregateKind::kMax)),
                        counted(join(JoinKind::kInner, source(), source(), {{1, 1}}))};
  std::vector<const Plan*> pointers;
  for (const Plan& plan : plans) pointers.push_back(&plan);
  const StopFlag stop{false};
  Executor executor(placement(GetParam()), SIZE_MAX, kBudget);
  for (const auto& result : executor.run_batch(pointers, replica_.replica(), stop)) {
    EXPECT_EQ(result.code(), base::ErrorCode::kOutOfMemory);
  }
  EXPECT_EQ(executor.queries_memory_bytes(), 0U);
}

TEST_P(MemoryLimit, AResultOutlivesTheExecutorThatCountsIt) {
  const Plan plan = plan_of(source());
  const StopFlag stop{false};
  std::vector<base::Result<QueryResult>> results;
  {
    Executor executor(placement(GetParam()), SIZE_MAX, size_t{64} << 20);
    results = executor.run_batch(std::vector<const Plan*>{&plan}, replica_.replica(), stop);
  }
  EXPECT_EQ(results[0]->rows.size(), static_cast<size_t>(kRows));
}

INSTANTIATE_TEST_SUITE_P(Threads, MemoryLimit, ::testing::Values(1U, 3U));

constexpr size_t kBlockBytes = size_t{1} << 20;

void take_and_return(size_t bytes) {
  void* const block = take_query_block(&bytes);
  return_query_block(block, bytes);
}

TEST(QueryMemory, IsKeptUntilTheLastExecutorGoes) {
  ASSERT_EQ(query_memory_figures().kept_bytes, 0u) << "no executor yet";
  size_t outlives = kBlockBytes;
  void* const block = take_query_block(&outlives);
  {
    const Executor executor(placement(1));
    take_and_return(kBlockBytes);
    { const Executor beside(placement(1), executor); }
    EXPECT_EQ(query_memory_figures().kept_bytes, base::kAddressSanitizer ? 0 : kBlockBytes);
  }
  EXPECT_EQ(query_memory_figures().kept_bytes, 0u);
  return_query_block(block, outlives);
  EXPECT_EQ(query_memory_figures().kept_bytes, 0u) << "a result that was held longer";
  EXPECT_EQ(query_memory_figures().used_bytes, 0u);
}

TEST(QueryMemory, NoMoreIsKeptThanAQuarterOfWhatAllQueriesMayKeep) {
  const Executor executor(placement(1), SIZE_MAX, 8 * kBlockBytes);
  take_and_return(4 * kBlockBytes);
  EXPECT_EQ(query_memory_figures().kept_bytes, 0u);
  take_and_return(2 * kBlockBytes);
  EXPECT_EQ(query_memory_figures().kept_bytes, base::kAddressSanitizer ? 0 : 2 * kBlockBytes);
}

}  // namespace
}  // namespace diptych::olap::test
