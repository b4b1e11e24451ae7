// Plans of a batch that scan their tables together: random mixes against the naive reference, and
// against the same plans alone plans that fail, are stopped, want few rows or have too little
// memory beside others.

#include <random>

#include <gtest/gtest.h>

#include "olap/execution/riding_plans.h"
#include "tests/olap/exec_model_table.h"
#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {
namespace {

const std::vector<DataType> kTableTypes = {kIntType, kIntType, kBigIntType, kTextType};
constexpr base::TableId kLarge{0};
constexpr base::TableId kMiddle{1};
constexpr base::TableId kSmall{2};
constexpr int64_t kLargeRows = 9'000;

ExpressionPtr less(uint32_t index, int64_t bound) {
  return make(ExpressionKind::kLess, kBooleanType, column(index, kTableTypes[index]),
              literal(kTableTypes[index], number(bound)));
}

Plan counted(OperatorPtr rows) {
  std::vector<Aggregate> count;
  count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  return plan_of(aggregate(std::move(rows), {}, std::move(count)));
}

// Rows of the table that have a match by column 0 in another: no star, and two pipelines.
Plan twice(base::TableId outer, base::TableId inner) {
  return counted(
      join(JoinKind::kSemi, scan(outer, kTableTypes), scan(inner, kTableTypes), {{0, 0}}));
}

class SharedScans {
 public:
  explicit SharedScans(uint64_t seed, uint64_t rows = kLargeRows)
      : random_(seed), replica_(small_blocks(1 + seed % 2)) {
    fill(rows, 700);
    fill(rows / 3, 300);
    fill(40, 20);
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }
  const NaiveTables& tables() const { return tables_; }
  const storage::Replica& replica() const { return replica_.replica(); }

  Plan random_plan() {
    OperatorPtr op = random_scan();
    if (below(3) != 0) {
      const auto key = static_cast<uint32_t>(below(2));
      const JoinKind kinds[] = {JoinKind::kSemi,      JoinKind::kAnti,      JoinKind::kMark,
                                JoinKind::kBuildSemi, JoinKind::kBuildAnti, JoinKind::kInner};
      op = join(kinds[below(6)], std::move(op), random_scan(), {{0, 0}, {key, key}});
    }
    if (below(4) == 0) return append(std::move(op));
    if (below(4) == 0) return plan_of(std::move(op));
    std::vector<ExpressionPtr> keys;
    if (below(2) == 0) keys.push_back(column(0, kIntType));
    if (below(2) == 0) keys.push_back(column(3, kTextType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    aggregates.push_back(aggregate_of(AggregateKind::kSum, column(2, kBigIntType)));
    aggregates.push_back(aggregate_of(AggregateKind::kMax, column(3, kTextType)));
    return plan_of(aggregate(std::move(op), std::move(keys), std::move(aggregates)));
  }

 private:
  // Column 2 is the row's number, and stays.
  void fill(uint64_t count, uint64_t domain) {
    const uint64_t flags = below(3) == 0 ? 1 : 5;
    static constexpr uint64_t kFewTexts[] = {1, 9};
    const uint64_t texts = below(2) == 0 ? kFewTexts[below(2)] : domain;
    ModelRows rows{.count = count, .updated = {0, 1, 3}};
    const auto value = [&](uint16_t c, uint64_t more) -> Value {
      if (c == 0) return below(9) == 0 ? kNull : number(static_cast<int64_t>(below(domain + more)));
      if (c == 1) return number(static_cast<int64_t>(below(flags + more)));
      return text("a text that is too long for a cell " + std::to_string(below(texts + more)));
    };
    rows.row = [&](uint64_t i) {
      return Row{value(0, 0), value(1, 0), number(static_cast<int64_t>(i)), value(3, 0)};
    };
    rows.value = [&](uint16_t c) { return value(c, below(8) == 0 ? 5'000 : 0); };
    const base::TableId id = replica_.add_table(kTableTypes);
    tables_.push_back(ModelTable(&replica_, id, rows, &random_).live());
  }

  OperatorPtr random_scan() {
    OperatorPtr op = scan(base::TableId(static_cast<uint32_t>(below(3))), kTableTypes);
    for (uint64_t predicates = below(3); predicates != 0; --predicates) {
      const auto index = static_cast<uint32_t>(below(3));
      op->predicates.push_back(
          less(index, static_cast<int64_t>(below(index == 2 ? kLargeRows : 20))));
    }
    if (below(4) == 0) {
      op->predicates.push_back(
          make(ExpressionKind::kLess, kBooleanType, column(0, kIntType), column(1, kIntType)));
    }
    return op;
  }

  // The operator's rows, then a scan's.
  Plan append(OperatorPtr op) {
    std::vector<ExpressionPtr> first;
    first.push_back(column(3, kTextType));
    std::vector<ExpressionPtr> second;
    second.push_back(column(3, kTextType));
    OperatorPtr both =
        over(OperatorKind::kAppend, project(std::move(op), std::move(first)), {kTextType});
    both->children.push_back(project(random_scan(), std::move(second)));
    return plan_of(std::move(both));
  }

  std::mt19937_64 random_;
  TestReplica replica_;
  NaiveTables tables_;
};

std::vector<const Plan*> pointers_to(const std::vector<Plan>& plans) {
  std::vector<const Plan*> pointers;
  for (const Plan& plan : plans) pointers.push_back(&plan);
  return pointers;
}

class SharedScansModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SharedScansModel, PlansOfABatchAnswerAsTheReferenceDoes) {
  SharedScans tables(GetParam(), 4'500);
  for (const uint32_t threads : {1U, 3U}) {
    std::vector<Plan> plans;
    const uint64_t count = 2 + tables.below(20);
    for (uint64_t i = 0; i < count; ++i) plans.push_back(tables.random_plan());
    Executor executor(placement(threads));
    const StopFlag stop{false};
    const auto together = executor.run_batch(pointers_to(plans), tables.replica(), stop);
    for (size_t i = 0; i < plans.size(); ++i) {
      const std::vector<std::string> expected =
          lines(naive_execute(*plans[i].root, tables.tables()));
      const auto alone = test::run(plans[i], tables.replica());
      ASSERT_TRUE(together[i].ok()) << together[i].error().to_string();
      ASSERT_TRUE(alone.ok()) << alone.error().to_string();
      ASSERT_EQ(lines(together[i]->rows), expected)
          << "plan " << i << " of " << count << ", " << threads << " threads";
      ASSERT_EQ(lines(alone->rows), expected) << "plan " << i << " of " << count << ", alone";
    }
  }
}

TEST(SharedScansTables, HaveColumnsInManyForms) {
  storage::test::LeafForms forms;
  for (uint64_t seed = 1; seed < 13; ++seed) {
    count_forms(SharedScans(seed, 4'500).replica(), &forms);
  }
  storage::test::expect_forms(forms, {"page", "full block", "block with dead rows", "constant",
                                      "packed frame", "dictionary", "symbol text", "thawed frame",
                                      "thawed spaced dictionary", "thawed patched text"});
}

INSTANTIATE_TEST_SUITE_P(Seeds, SharedScansModel, ::testing::Range(uint64_t{1}, uint64_t{13}),
                         [](const auto& seed) { return "Seed" + std::to_string(seed.param); });

// Of a scan, and of no star: one pipeline that ends with the pass.
Plan once(base::TableId table) {
  OperatorPtr first = over(OperatorKind::kLimit, scan(table, kTableTypes), kTableTypes);
  first->limit = 5;
  return plan_of(std::move(first));
}

// A group for each row, as long as the pass goes on.
Plan keeping(base::TableId table) {
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(2, kBigIntType));
  std::vector<Aggregate> texts;
  texts.push_back(aggregate_of(AggregateKind::kMax, column(3, kTextType)));
  return counted(aggregate(scan(table, kTableTypes), std::move(keys), std::move(texts)));
}

// For some row the divisor is zero.
Plan dividing(base::TableId table) {
  OperatorPtr rows = scan(table, kTableTypes);
  rows->predicates.push_back(
      make(ExpressionKind::kLess, kBooleanType,
           make(ExpressionKind::kDivide, kBigIntType, literal(kBigIntType, number(100)),
                make(ExpressionKind::kSubtract, kBigIntType, column(2, kBigIntType),
                     literal(kBigIntType, number(kLargeRows / 2 + 1)))),
           column(0, kIntType)));
  return counted(join(JoinKind::kSemi, std::move(rows), scan(kSmall, kTableTypes), {{0, 0}}));
}

class SharedScansOf : public ::testing::TestWithParam<uint32_t> {
 protected:
  struct Delivered {
    size_t query;
    base::Result<QueryResult> result;
  };

  // The queries' results in the order in which they come; `then` is called when each has come.
  std::vector<Delivered> run(
      const std::vector<QueryRun>& queries, const std::function<void(size_t)>& then = [](size_t) {},
      size_t all_bytes_max = SIZE_MAX) {
    std::vector<Delivered> all;
    Executor executor(placement(GetParam()), SIZE_MAX, all_bytes_max);
    executor.run_batch(queries, tables_.replica(), stop_,
                       [&](size_t query, base::Result<QueryResult> result) {
                         all.push_back({query, std::move(result)});
                         then(query);
                       });
    return all;
  }
  static std::vector<size_t> order_of(const std::vector<Delivered>& all) {
    std::vector<size_t> order;
    for (const Delivered& one : all) order.push_back(one.query);
    return order;
  }
  // Those of `all` that are to be right are what the plan answers alone.
  void expect_right(const std::vector<Delivered>& all, const std::vector<Plan>& plans,
                    const std::vector<size_t>& right) {
    for (const Delivered& one : all) {
      if (std::ranges::find(right, one.query) == right.end()) continue;
      ASSERT_TRUE(one.result.ok()) << one.query << ": " << one.result.error().to_string();
      const auto alone = test::run(plans[one.query], tables_.replica());
      EXPECT_EQ(lines(one.result->rows), lines(alone->rows)) << one.query;
    }
  }
  static base::ErrorCode code_of(const std::vector<Delivered>& all, size_t query) {
    for (const Delivered& one : all) {
      if (one.query == query && !one.result.ok()) return one.result.code();
    }
    ADD_FAILURE() << "query " << query << " has not failed";
    return {};
  }
  static std::vector<QueryRun> runs_of(const std::vector<Plan>& plans) {
    std::vector<QueryRun> queries;
    for (const Plan& plan : plans) queries.push_back({.plan = &plan});
    return queries;
  }

  SharedScans tables_{1};
  StopFlag stop_{false};
};

std::vector<Plan> plans_of_large() {
  std::vector<Plan> plans;
  plans.push_back(twice(kLarge, kMiddle));
  plans.push_back(twice(kLarge, kLarge));
  plans.push_back(once(kLarge));
  plans.push_back(twice(kLarge, kSmall));
  return plans;
}

// The small tables come first; then all but the second plan are done with the large one at once.
TEST_P(SharedScansOf, DeliverEachPlanAsSoonAsItHasEnded) {
  const std::vector<Plan> plans = plans_of_large();
  const auto all = run(runs_of(plans));
  EXPECT_EQ(order_of(all), (std::vector<size_t>{2, 3, 0, 1}));
  expect_right(all, plans, {0, 1, 3});
  EXPECT_EQ(all[0].result->rows.size(), 5U);
}

// Even if it came last, and an aggregate shares the large table's scan with others.
TEST_P(SharedScansOf, AreNotAwaitedByAScanThatALimitEnds) {
  std::vector<Plan> plans;
  plans.push_back(once(kMiddle));
  plans.push_back(twice(kLarge, kLarge));
  plans.push_back(once(kLarge));
  plans[2].root->children[0]->estimated_rows = kLargeRows;
  const auto all = run(runs_of(plans));
  EXPECT_EQ(order_of(all), (std::vector<size_t>{2, 0, 1}));
  EXPECT_EQ(all[0].result->rows.size(), 5U);
}

// Alone each has the same limit.
TEST_P(SharedScansOf, AreLeftByWhoMayNotRunForSoLong) {
  std::vector<Plan> plans = plans_of_large();
  plans[0].is_analyzed = true;
  plans[0].lines.push_back({.op = plans[0].root->children[0]->children[0].get(), .text = "large"});
  std::vector<QueryRun> queries = runs_of(plans);
  constexpr uint64_t kHour = uint64_t{3'600} * 1'000'000'000;
  for (QueryRun& query : queries) query.run_ns_max = kHour;
  queries[1].run_ns_max = 1;
  const auto all = run(queries);
  ASSERT_EQ(order_of(all), (std::vector<size_t>{2, 3, 0, 1}));
  const std::string line = base::to_string(all[2].result->rows[0][0]);
  EXPECT_NE(line.find("one pass for 3 scans"), std::string::npos) << line;
  EXPECT_EQ(all[3].result.code(), base::ErrorCode::kDeadlineExceeded);
}

// All run alone.
TEST_P(SharedScansOf, ComeBehindWhatGoesThroughFewerRows) {
  std::vector<Plan> plans;
  plans.push_back(twice(kLarge, kMiddle));
  plans.push_back(once(kSmall));
  plans.push_back(once(kMiddle));
  EXPECT_EQ(order_of(run(runs_of(plans))), (std::vector<size_t>{1, 2, 0}));
}

TEST_P(SharedScansOf, SayInAReportHowManyScansTheyHad) {
  std::vector<Plan> plans = plans_of_large();
  plans[0].is_analyzed = true;
  plans[0].lines.push_back({.op = plans[0].root->children[0]->children[0].get(), .text = "large"});
  const auto all = run(runs_of(plans));
  ASSERT_EQ(all[2].query, 0U);
  const std::string line = base::to_string(all[2].result->rows[0][0]);
  EXPECT_NE(line.find("one pass for 4 scans"), std::string::npos) << line;
}

// The first of those with equal predicates, which selects for them all, leaves early: by its limit,
// and by its failure.
TEST_P(SharedScansOf, FailForOnePlanAlone) {
  std::vector<Plan> plans;
  plans.push_back(once(kLarge));
  plans.push_back(dividing(kLarge));
  plans.push_back(dividing(kLarge));
  for (Plan& plan : plans_of_large()) plans.push_back(std::move(plan));
  const auto all = run(runs_of(plans));
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(code_of(all, 1), base::ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(all, 2), base::ErrorCode::kInvalidArgument);
  expect_right(all, plans, {3, 4, 6});
}

TEST_P(SharedScansOf, LeaveOutWhoIsStopped) {
  const std::vector<Plan> plans = plans_of_large();
  for (const bool expires : {false, true}) {
    std::vector<QueryRun> queries = runs_of(plans);
    QueryControl control;
    queries[1].control = &control;
    const auto all = run(queries, [&](size_t query) {
      if (query == 2) expires ? control.expire() : control.cancel();
    });
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(code_of(all, 1), control.error().code);
    expect_right(all, plans, {0, 3});
  }
}

TEST_P(SharedScansOf, EndWhereAllAreStopped) {
  const std::vector<Plan> plans = plans_of_large();
  const auto all = run(runs_of(plans), [&](size_t) { stop_ = true; });
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].query, 2U);
  EXPECT_EQ(code_of(all, 1), base::ErrorCode::kCancelled);
}

// Together they would keep more than they may: each more than half of `alone`, so eight more than
// four times that. One by one they do not, not even where each of three workers has as much as the
// one that did all the work alone.
TEST_P(SharedScansOf, RunAgainAloneWhoHasTooLittleMemoryBesideOthers) {
  std::vector<Plan> plans;
  for (int i = 0; i < 8; ++i) plans.push_back(keeping(kLarge));
  ASSERT_EQ(riding_plans(pointers_to(plans), tables_.replica()).size(), 1U);
  size_t alone = 1024;
  while (!run(
              {{.plan = &plans[0]}}, [](size_t) {}, alone)[0]
              .result.ok())
    alone *= 2;
  const auto all = run(
      runs_of(plans), [](size_t) {}, 3 * alone + alone / 2);
  ASSERT_EQ(all.size(), 8U);
  expect_right(all, plans, {0, 1, 2, 3, 4, 5, 6, 7});
}

INSTANTIATE_TEST_SUITE_P(Threads, SharedScansOf, ::testing::Values(1U, 3U));

// What `above` makes of the scan, then a LIMIT of 5 rows.
Plan limited(const std::function<OperatorPtr(OperatorPtr)>& above, double estimated_rows) {
  OperatorPtr rows = scan(kLarge, kTableTypes);
  rows->estimated_rows = estimated_rows;
  rows = above(std::move(rows));
  rows->estimated_rows = estimated_rows;
  std::vector<DataType> types = rows->output;
  OperatorPtr first = over(OperatorKind::kLimit, std::move(rows), std::move(types));
  first->limit = 5;
  return plan_of(std::move(first));
}

TEST(RidingPlans, HaveNoScanThatALimitEndsEarly) {
  SharedScans tables(1);
  const auto rides = [&](const Plan& plan) {
    const Plan other = twice(kLarge, kMiddle);
    return !riding_plans(std::vector<const Plan*>{&plan, &other}, tables.replica()).empty();
  };
  const auto scanned = [](OperatorPtr rows) { return rows; };
  const auto selected = [](OperatorPtr rows) { return filter(std::move(rows), less(1, 3)); };
  const auto sorted = [](OperatorPtr rows) {
    std::vector<DataType> types = rows->output;
    OperatorPtr sort = over(OperatorKind::kSort, std::move(rows), std::move(types));
    sort->sort_keys.push_back({0, false, false});
    return sort;
  };
  EXPECT_FALSE(rides(limited(scanned, kLargeRows)));
  EXPECT_FALSE(rides(limited(selected, kLargeRows)));
  // A filter that is to let through so little that much is read for five rows.
  EXPECT_TRUE(rides(limited(selected, 20)));
  // All rows are read before the first comes.
  EXPECT_TRUE(rides(limited(sorted, kLargeRows)));
  Plan all = limited(scanned, kLargeRows);
  all.root->limit = kNoLimit;
  EXPECT_TRUE(rides(all));
  Plan far = limited(scanned, kLargeRows);
  far.root->offset = kLargeRows / 2;
  EXPECT_TRUE(rides(far));
}

TEST(RidingPlans, HaveTheirLargestTableInCommonAndKeepLittle) {
  SharedScans tables(1);
  std::vector<Plan> plans;
  plans.push_back(twice(kLarge, kMiddle));
  plans.push_back(twice(kMiddle, kSmall));
  plans.push_back(twice(kSmall, kLarge));
  plans.push_back(once(kSmall));
  plans.push_back(twice(kLarge, kSmall));
  const auto groups = [&] { return riding_plans(pointers_to(plans), tables.replica()); };
  EXPECT_EQ(groups(), (std::vector<std::vector<size_t>>{{0, 2, 4}}));
  // A build side of more rows than all that ride together may keep.
  plans[0].root->children[0]->children[1]->estimated_rows = 1e7;
  EXPECT_EQ(groups(), (std::vector<std::vector<size_t>>{{2, 4}}));
  for (int i = 0; i < 40; ++i) plans.push_back(twice(kMiddle, kMiddle));
  size_t riders = 0;
  for (const std::vector<size_t>& group : groups()) {
    EXPECT_LE(group.size(), 16U);
    riders += group.size();
  }
  EXPECT_EQ(riders, 2U + 41U);
}

}  // namespace
}  // namespace diptych::olap::test
