// EXPLAIN and EXPLAIN ANALYZE: what is said of plans and of their runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/olap/analyzed_plan.h"
#include "tests/olap/sql_fixture.h"

namespace diptych::olap::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int64_t kReportRows = 5'000;
const std::vector<DataType> kReportTypes = {kIntType, kIntType};

class ReportTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  // Table 0: (i, i % 10).
  ReportTest() {
    const base::TableId table = replica_.add_table(kReportTypes);
    for (int64_t i = 0; i < kReportRows; ++i) {
      replica_.insert(table, {number(i), number(i % 10)});
    }
  }

  static OperatorPtr rows() { return scan(base::TableId(0), kReportTypes); }
  static OperatorPtr rows_below(int64_t bound) {
    OperatorPtr op = rows();
    op->predicates.push_back(make(ExpressionKind::kLess, kBooleanType, column(0, kIntType),
                                  literal(kIntType, number(bound))));
    return op;
  }
  static OperatorPtr groups(OperatorPtr input) {
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(1, kIntType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return aggregate(std::move(input), std::move(keys), std::move(aggregates));
  }

  std::vector<std::string> texts(const Plan& plan) {
    const auto result = run(plan, replica_.replica(), GetParam());
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    if (!result.ok()) return {};
    EXPECT_EQ(result->columns.at(0).name, "QUERY PLAN");
    std::vector<std::string> lines;
    for (const auto& row : result->rows) lines.push_back(std::get<std::string>(row[0]));
    return lines;
  }

  TestReplica replica_;
};

TEST_P(ReportTest, AnAnalyzedPlanSaysWhatItsOperatorsDid) {
  const Plan plan = analyzed(groups(join(JoinKind::kInner, rows(), rows_below(100), {{0, 0}})));
  EXPECT_THAT(
      texts(plan),
      ElementsAre(
          MatchesRegex("operator 0 \\(0 rows\\) \\(actual 10 rows, [0-9.]+ ms, .* kept\\)"),
          MatchesRegex(
              "  operator 1 \\(0 rows\\) \\(actual 100 rows, [0-9.]+ ms, array join, .* kept\\)"),
          MatchesRegex("    operator 2 \\(0 rows\\) \\(actual 100 rows, [0-9.]+ ms, .* decoded, "
                       "[1-9][0-9]* of [0-9]+ blocks skipped, only rows that an earlier "
                       "scan found\\)"),
          MatchesRegex("    operator 3 \\(0 rows\\) \\(actual 100 rows, .* blocks skipped, "
                       "[0-9]+ rows filtered on codes\\)"),
          MatchesRegex("execution: 10 rows, [0-9.]+ ms, .* kept at most")));
}

TEST_P(ReportTest, WhatWasNotRunIsSaid) {
  const Plan plan = analyzed(join(JoinKind::kInner, rows(), rows_below(-1), {{0, 0}}));
  EXPECT_THAT(texts(plan).at(1), HasSubstr("operator 1 (0 rows) (not run)"));
}

TEST_P(ReportTest, JsonHasTheSameAsNumbers) {
  OperatorPtr built = rows_below(100);
  built->predicates.push_back(make(ExpressionKind::kGreaterEqual, kBooleanType, column(1, kIntType),
                                   literal(kIntType, number(0))));
  const Plan plan = analyzed(groups(join(JoinKind::kBuildSemi, rows(), std::move(built), {{0, 0}})),
                             ExplainFormat::kJson);
  std::string text;
  for (const std::string& line : texts(plan)) text += line + "\n";
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["rows"], 10);
  EXPECT_GT(json["execution_ms"], 0.0);
  EXPECT_GT(json["memory_bytes"], 0);
  EXPECT_EQ(json["plan"]["actual_rows"], 10);
  const auto& join = json["plan"]["children"][0];
  EXPECT_EQ(join["actual_rows"], 100);
  EXPECT_EQ(join["children"][0]["actual_rows"], 100);
  EXPECT_GT(join["children"][0]["rows_filtered_by_joins"], 0);
  EXPECT_GT(join["children"][0]["blocks_skipped"], 0);
  EXPECT_EQ(join["children"][0]["rows_filtered_on_codes"], 0);
  EXPECT_GT(join["children"][1]["rows_filtered_on_codes"], 0);
  // Every operator's own time is in the whole's, on one thread.
  const double own = json["plan"]["time_ms"].get<double>() + join["time_ms"].get<double>() +
                     join["children"][0]["time_ms"].get<double>() +
                     join["children"][1]["time_ms"].get<double>();
  EXPECT_GT(own, 0.0);
  EXPECT_LE(own, json["execution_ms"].get<double>() * GetParam());
}

// By the rows below a bound, on keys or on a predicate.
TEST_P(ReportTest, AJoinSaysHowItFoundItsRows) {
  const auto method_of = [&](int64_t bound, std::vector<std::pair<uint32_t, uint32_t>> keys,
                             ExpressionPtr predicate, bool as_texts) {
    OperatorPtr op = join(JoinKind::kInner, rows_below(100), rows_below(bound), std::move(keys));
    if (predicate != nullptr) op->predicates.push_back(std::move(predicate));
    for (size_t i = 0; as_texts && i < op->probe_keys.size(); ++i) {
      op->probe_keys[i] = make(ExpressionKind::kCast, kTextType, std::move(op->probe_keys[i]));
      op->build_keys[i] = make(ExpressionKind::kCast, kTextType, std::move(op->build_keys[i]));
    }
    const Plan plan = analyzed(groups(std::move(op)), ExplainFormat::kJson);
    std::string text;
    for (const std::string& line : texts(plan)) text += line + "\n";
    const auto json = nlohmann::json::parse(text)["plan"];
    EXPECT_FALSE(json.contains("join_method"));
    return json["children"][0]["join_method"].get<std::string>();
  };
  const auto comparison = [](ExpressionKind kind, uint32_t probe, uint32_t build) {
    return make(kind, kBooleanType, column(probe, kIntType), column(build, kIntType));
  };
  EXPECT_EQ(method_of(90, {{0, 0}}, nullptr, false), "array join");
  EXPECT_EQ(method_of(90, {{0, 0}}, nullptr, true), "hash join");
  EXPECT_EQ(method_of(90, {}, comparison(ExpressionKind::kLess, 0, 2), false), "range join");
  EXPECT_EQ(
      method_of(90, {},
                make(ExpressionKind::kOr, kBooleanType, comparison(ExpressionKind::kEqual, 0, 2),
                     comparison(ExpressionKind::kEqual, 1, 2)),
                false),
      "hash join by alternative keys");
  EXPECT_EQ(method_of(1, {}, nullptr, false), "join with a single row");
  EXPECT_EQ(method_of(3, {}, comparison(ExpressionKind::kLess, 0, 2), false), "nested loop join");
}

TEST_P(ReportTest, AScanSaysWhatItDecodedAndSkipped) {
  constexpr uint32_t kBlockRows = 1024;
  TestReplica replica(storage::StorageOptions{.partitions = 1, .block_rows = kBlockRows});
  const base::TableId table = replica.add_table(kReportTypes);
  for (int64_t i = 0; i < 4 * kBlockRows; ++i) replica.insert(table, {number(i), number(i % 10)});
  replica.compact();
  const auto scan_of = [&](int64_t bound) {
    const Plan plan = analyzed(groups(rows_below(bound)), ExplainFormat::kJson);
    const auto result = run(plan, replica.replica(), GetParam());
    std::string text;
    for (const auto& row : result->rows) text += std::get<std::string>(row[0]) + "\n";
    return nlohmann::json::parse(text)["plan"]["children"][0];
  };
  const auto part = scan_of(2 * kBlockRows);
  EXPECT_EQ(part["blocks"], 4);
  EXPECT_EQ(part["blocks_skipped"], 2);
  // The filter is answered on codes, and the group key decoded.
  EXPECT_EQ(part["decoded_bytes"], 2 * kBlockRows * sizeof(int32_t));
  const auto whole = scan_of(4 * kBlockRows);
  EXPECT_EQ(whole["blocks_skipped"], 0);
  EXPECT_EQ(whole["decoded_bytes"], 4 * kBlockRows * sizeof(int32_t));
}

TEST_P(ReportTest, GroupingSetsSayThatGroupsAreExpanded) {
  std::vector<ExpressionPtr> columns;
  for (const uint32_t c : {1U, 0U}) columns.push_back(column(c, kIntType));
  OperatorPtr project = over(OperatorKind::kProject, rows(), {kIntType, kIntType});
  project->expressions = std::move(columns);
  OperatorPtr expand =
      over(OperatorKind::kExpand, std::move(project), {kIntType, kIntType, kBigIntType});
  expand->grouping_sets = {{true}, {false}};
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(0, kIntType));
  keys.push_back(column(2, kBigIntType));
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kSum, column(1, kIntType)));
  const Plan plan = analyzed(aggregate(std::move(expand), std::move(keys), std::move(sums)));
  const std::vector<std::string> lines = texts(plan);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("actual 11 rows"));
  // Ten groups of each worker that ran, once a set.
  EXPECT_THAT(lines[1], MatchesRegex(".*actual [2-6]0 rows, .*, the input's groups, .*"));
}

// Equal GROUP BYs of a plan, and statements of one text.
TEST_P(ReportTest, SaysWhatWasShared) {
  Plan plan = analyzed(join(JoinKind::kLeft, groups(rows()), groups(rows()), {{0, 0}}));
  plan.sql = "explain analyze select";
  Executor executor(placement(GetParam()));
  const StopFlag stop{false};
  const Plan* const plans[] = {&plan, &plan};
  const auto results = executor.run_batch(plans, replica_.replica(), stop);
  std::string text;
  ASSERT_TRUE(results[1].ok()) << results[1].error().to_string();
  for (const auto& row : results[1]->rows) text += std::get<std::string>(row[0]) + "\n";
  EXPECT_THAT(text, HasSubstr("the groups of an equal GROUP BY of the plan"));
  // Of a limit too, which could choose other rows the second time.
  const auto first = [&](uint64_t limit) {
    OperatorPtr op = over(OperatorKind::kLimit, rows(), kReportTypes);
    op->limit = limit;
    return groups(std::move(op));
  };
  for (const uint64_t limit : {7, 8}) {
    const Plan limited = analyzed(join(JoinKind::kLeft, first(7), first(limit), {{0, 0}}));
    std::string lines;
    for (const std::string& line : texts(limited)) lines += line + "\n";
    EXPECT_EQ(lines.find("an equal GROUP BY") != std::string::npos, limit == 7) << lines;
  }
  EXPECT_THAT(text, HasSubstr("shared: run once for 2 statements of this text"));
}

// Equal windows of a plan, and recursions where nothing ends one early.
TEST_P(ReportTest, SaysWhatWasComputedOnce) {
  const auto window = [&](uint32_t order) {
    OperatorPtr op = over(OperatorKind::kWindow, rows(), {kIntType, kIntType, kBigIntType});
    op->window_functions.push_back({.kind = WindowKind::kRank, .type = kBigIntType});
    op->sort_keys.push_back({order, false, false});
    return op;
  };
  const auto recursion = [&] {
    OperatorPtr op = over(OperatorKind::kRecursion, rows(), kReportTypes);
    OperatorPtr working = over(OperatorKind::kFilter, std::make_unique<Operator>(), kReportTypes);
    working->children[0]->kind = OperatorKind::kWorkingRows;
    working->children[0]->recursion = 1;
    working->children[0]->output = kReportTypes;
    working->predicates.push_back(literal(kBooleanType, false));
    op->children.push_back(std::move(working));
    op->recursion = 1;
    return op;
  };
  const auto says = [&](OperatorPtr root, const char* what) {
    const Plan plan = analyzed(std::move(root));
    std::string text;
    for (const std::string& line : texts(plan)) text += line + "\n";
    return text.find(what) != std::string::npos;
  };
  constexpr const char* kWindow = "the rows of an equal window of the plan";
  EXPECT_TRUE(says(join(JoinKind::kInner, window(1), window(1), {{0, 0}}), kWindow));
  EXPECT_FALSE(says(join(JoinKind::kInner, window(1), window(0), {{0, 0}}), kWindow));
  constexpr const char* kRecursion = "the rows of an equal recursion of the plan";
  EXPECT_TRUE(says(join(JoinKind::kInner, recursion(), recursion(), {{0, 0}}), kRecursion));
  OperatorPtr limited = over(OperatorKind::kLimit, recursion(), kReportTypes);
  limited->limit = 3;
  EXPECT_FALSE(says(join(JoinKind::kInner, std::move(limited), recursion(), {{0, 0}}), kRecursion));
}

TEST_P(ReportTest, AStarQuerySaysWhoElseWasInItsPass) {
  const auto counted = [&](int64_t bound) {
    std::vector<Aggregate> count;
    count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return aggregate(rows_below(bound), {}, std::move(count));
  };
  const Plan plan = analyzed(counted(70));
  const Plan other = plan_of(counted(80));
  Executor executor(placement(GetParam()));
  const StopFlag stop{false};
  const Plan* const plans[] = {&plan, &other};
  const auto results = executor.run_batch(plans, replica_.replica(), stop);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  const std::vector<std::vector<Value>> lines = results[0]->rows;
  EXPECT_THAT(std::get<std::string>(lines[0][0]), HasSubstr("actual 1 rows"));
  EXPECT_THAT(std::get<std::string>(lines[0][0]), HasSubstr("computed in one pass for 2 queries"));
  ASSERT_TRUE(results[1].ok());
  EXPECT_EQ(results[1]->rows[0][0], number(80));
}

INSTANTIATE_TEST_SUITE_P(Threads, ReportTest, ::testing::Values(1U, 3U));

using ExplainTest = SqlTest;

TEST_F(ExplainTest, JsonOfAPlanThatIsNotRunHasEstimatesOnly) {
  const auto plan =
      prepare("explain (format json) select p_name from parent where p_id = 3", catalog_, rows_);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_FALSE(plan->is_analyzed);
  std::string text;
  for (const std::string& line : plan->explanation) text += line;
  const auto json = nlohmann::json::parse(text);
  EXPECT_FALSE(json.contains("execution_ms"));
  EXPECT_EQ(json["plan"]["operator"], "project [p_name]");
  EXPECT_EQ(json["plan"]["children"][0]["estimated_rows"], 1.0);
}

TEST_F(ExplainTest, OptionsSayWhetherItIsRun) {
  for (const auto& [sql, is_run] : std::vector<std::pair<std::string, bool>>{
           {"explain select 1", false},
           {"explain analyze select 1", true},
           {"explain (analyze) select 1", true},
           {"explain (analyze off) select 1", false},
           {"explain (analyze on, format text) select 1", true},
           {"explain (analyze true, format json) select 1", true}}) {
    const auto plan = prepare(sql, catalog_, rows_);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    EXPECT_EQ(plan->is_analyzed, is_run) << sql;
    EXPECT_EQ(plan->explanation.empty(), is_run) << sql;
  }
}

}  // namespace
}  // namespace diptych::olap::test
