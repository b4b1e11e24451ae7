// Star queries of a batch in one pass: who cannot be answered in it leaves it alone, and what is
// said of it. The one test that compares answers is exec_star_model_test.cpp.

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "olap/execution/star/star_groups.h"
#include "olap/query_control.h"
#include "tests/olap/analyzed_plan.h"

namespace diptych::olap::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kStarBlockRows = 1024;
constexpr int64_t kStarFacts = 6000;  // in six blocks
constexpr int64_t kStarPlaces = 30;
const std::vector<DataType> kStarFactTypes = {kBigIntType, kBigIntType, kBigIntType};
const std::vector<DataType> kStarPlaceTypes = {kBigIntType, kBigIntType};

ExpressionPtr star_number(int64_t value) {
  return literal(kBigIntType, number(value));
}
ExpressionPtr is_below(uint32_t c, int64_t bound) {
  return make(ExpressionKind::kLess, kBooleanType, column(c, kBigIntType), star_number(bound));
}
// 60 / column, whose zeros fail.
ExpressionPtr sixty_by(uint32_t c) {
  return make(ExpressionKind::kDivide, kBigIntType, star_number(60), column(c, kBigIntType));
}
ExpressionPtr is_sixty_by(uint32_t c, int64_t quotient) {
  return make(ExpressionKind::kEqual, kBooleanType, sixty_by(c), star_number(quotient));
}
OperatorPtr where(OperatorPtr op, ExpressionPtr predicate) {
  op->predicates.push_back(std::move(predicate));
  return op;
}

// fact:    0 number of the row, 1 its place, 2 number % 4
// place:   0 key, 1 key % 5
// sparse:  0 key, a million times the row's number
class StarPass : public ::testing::TestWithParam<uint32_t> {
 protected:
  StarPass() {
    fact_ = replica_.add_table(kStarFactTypes);
    place_ = replica_.add_table(kStarPlaceTypes, {0});
    sparse_ = replica_.add_table({kBigIntType}, {0});
    for (int64_t i = 0; i < kStarFacts; ++i) {
      replica_.insert(fact_, {number(i), number(i % kStarPlaces), number(i % 4)});
    }
    for (int64_t i = 0; i < kStarPlaces; ++i) {
      replica_.insert(place_, {number(i), number(i % 5)});
      replica_.insert(sparse_, {number(i * 1'000'000)});
    }
    replica_.compact();
  }

  OperatorPtr facts() const { return scan(fact_, kStarFactTypes); }
  OperatorPtr places() const { return scan(place_, kStarPlaceTypes); }
  OperatorPtr at_places(OperatorPtr facts, OperatorPtr places) const {
    return join(JoinKind::kInner, std::move(facts), std::move(places), {{1, 0}});
  }
  static OperatorPtr counted(OperatorPtr rows, ExpressionPtr key = nullptr) {
    std::vector<ExpressionPtr> keys;
    if (key != nullptr) keys.push_back(std::move(key));
    std::vector<Aggregate> count;
    count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return aggregate(std::move(rows), std::move(keys), std::move(count));
  }
  static OperatorPtr with(AggregateKind kind, ExpressionPtr argument, OperatorPtr rows) {
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(kind, std::move(argument)));
    return aggregate(std::move(rows), {}, std::move(aggregates));
  }

  std::vector<base::Result<QueryResult>> run_all(const std::vector<Plan>& plans) {
    std::vector<const Plan*> batch;
    for (const Plan& plan : plans) batch.push_back(&plan);
    Executor executor(placement(GetParam()));
    const StopFlag stop{false};
    return executor.run_batch(batch, replica_.replica(), stop);
  }
  static std::string text_of(const base::Result<QueryResult>& result) {
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    std::string text;
    if (!result.ok()) return text;
    for (const auto& row : result->rows) text += std::get<std::string>(row[0]) + "\n";
    return text;
  }

  // The plan runs beside others of each kind, which are answered in one pass all the same.
  base::Result<QueryResult> beside_others(Plan plan) {
    std::vector<Plan> plans;
    plans.push_back(plan_of(counted(where(facts(), is_below(0, 100)))));
    plans.push_back(plan_of(counted(at_places(facts(), where(places(), is_below(1, 2))))));
    plans.push_back(plan_of(with(AggregateKind::kSum, column(0, kBigIntType), facts())));
    for (int64_t i = 0; i < 12; ++i) {
      OperatorPtr rows = at_places(where(facts(), is_below(0, 1000 + i)), places());
      plans.push_back(plan_of(counted(std::move(rows), column(4, kBigIntType))));
    }
    plans.push_back(analyzed(counted(where(facts(), is_below(0, 2000)))));
    plans.push_back(std::move(plan));
    auto results = run_all(plans);
    EXPECT_EQ(results[0]->rows[0][0], number(100));
    EXPECT_EQ(results[1]->rows[0][0], number(kStarFacts * 2 / 5));
    EXPECT_EQ(results[2]->rows[0][0], decimal(kStarFacts * (kStarFacts - 1) / 2, 0));
    for (int64_t i = 0; i < 12; ++i) {
      int64_t rows = 0;
      for (const auto& row : results[3 + i]->rows) rows += std::get<int64_t>(row[1]);
      EXPECT_EQ(rows, 1000 + i);
      EXPECT_EQ(results[3 + i]->rows.size(), 5U);
    }
    const std::string report = text_of(results[plans.size() - 2]);
    EXPECT_THAT(report, HasSubstr("actual 1 rows"));
    EXPECT_THAT(report, HasSubstr("computed in one pass for"));
    return std::move(results.back());
  }
  void expect_failure(OperatorPtr root) {
    const auto result = beside_others(plan_of(std::move(root)));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "division by zero");
    EXPECT_EQ(result.error().sqlstate(), "22012");
  }

  TestReplica replica_{storage::StorageOptions{.partitions = 1, .block_rows = kStarBlockRows}};
  base::TableId fact_, place_, sparse_;
};

TEST_P(StarPass, ADivisionByZeroIsItsQuerysAlone) {
  expect_failure(counted(where(facts(), is_sixty_by(2, 30))));
  expect_failure(counted(at_places(facts(), where(places(), is_sixty_by(1, 30)))));
  expect_failure(with(AggregateKind::kSum, sixty_by(2), facts()));
  expect_failure(with(AggregateKind::kMin, sixty_by(2), facts()));
  expect_failure(counted(facts(), sixty_by(2)));
  expect_failure(counted(at_places(facts(), places()), sixty_by(4)));
  OperatorPtr joined = at_places(facts(), places());
  joined->probe_keys[0] = sixty_by(2);
  expect_failure(counted(std::move(joined)));
}

// The rows that would fail are those of others in the pass: it is computed at its own.
TEST_P(StarPass, WhoWouldNotHaveDividedByZeroIsAnsweredInIt) {
  const auto some = [&] {
    return where(facts(),
                 make(ExpressionKind::kLess, kBooleanType, star_number(0), column(2, kBigIntType)));
  };
  const auto expect_shared = [&](const std::function<OperatorPtr()>& root, const Value& answer) {
    const auto result = beside_others(plan_of(root()));
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    EXPECT_EQ(result->rows[0][0], answer);
    EXPECT_THAT(text_of(beside_others(analyzed(root()))), HasSubstr("one pass for"));
  };
  expect_shared([&] { return counted(where(some(), is_sixty_by(2, 30))); }, number(kStarFacts / 4));
  expect_shared([&] { return with(AggregateKind::kSum, sixty_by(2), some()); },
                decimal(kStarFacts / 4 * (60 + 30 + 20), 0));
  expect_shared([&] { return with(AggregateKind::kMin, sixty_by(2), some()); }, number(20));
}

// They have one expression.
TEST_P(StarPass, WhomAnotherOnesRowsFailIsAnsweredAlone) {
  std::vector<Plan> plans;
  for (const int64_t least : {0, 1}) {
    OperatorPtr some = where(facts(), make(ExpressionKind::kLessEqual, kBooleanType,
                                           star_number(least), column(2, kBigIntType)));
    plans.push_back(plan_of(counted(where(std::move(some), is_sixty_by(2, 30)))));
  }
  const auto results = run_all(plans);
  EXPECT_FALSE(results[0].ok());
  ASSERT_TRUE(results[1].ok()) << results[1].error().to_string();
  EXPECT_EQ(results[1]->rows[0][0], number(kStarFacts / 4));
}

TEST_P(StarPass, OnlyWhoJoinsAlongSparseKeysIsRunAlone) {
  const auto along_sparse = [&] {
    return counted(join(JoinKind::kInner, where(facts(), is_below(0, 7)),
                        scan(sparse_, {kBigIntType}), {{0, 0}}));
  };
  const auto answer = beside_others(plan_of(along_sparse()));
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->rows[0][0], number(1));
  EXPECT_THAT(text_of(beside_others(analyzed(along_sparse()))), Not(HasSubstr("one pass for")));
  OperatorPtr dense = counted(at_places(facts(), places()));
  EXPECT_THAT(text_of(beside_others(analyzed(std::move(dense)))), HasSubstr("one pass for"));
}

TEST_P(StarPass, ItsScansSayWhatThePassDid) {
  const auto star = [&](int64_t numbers, int64_t fifths, ExplainFormat format) {
    return analyzed(counted(at_places(where(facts(), is_below(0, numbers)),
                                      where(places(), is_below(1, fifths)))),
                    format);
  };
  std::vector<Plan> plans;
  plans.push_back(star(500, 2, ExplainFormat::kJson));
  plans.push_back(star(1500, 5, ExplainFormat::kText));
  plans.push_back(plan_of(counted(where(facts(), is_below(0, 10)))));
  const auto results = run_all(plans);
  const auto json = nlohmann::json::parse(text_of(results[0]));
  EXPECT_EQ(json["plan"]["shared"], "computed in one pass for 3 queries");
  const auto& joined = json["plan"]["children"][0];
  EXPECT_FALSE(joined["ran"]);
  EXPECT_EQ(joined["shared"], "as bitsets in the pass");
  const auto& of_facts = joined["children"][0];
  EXPECT_TRUE(of_facts["ran"]);
  EXPECT_EQ(of_facts["shared"], "in one pass for 3 queries");
  EXPECT_EQ(of_facts["actual_rows"], 1500);
  EXPECT_EQ(of_facts["blocks"], 6);
  EXPECT_EQ(of_facts["blocks_skipped"], 4);
  EXPECT_GT(of_facts["decoded_bytes"], 0);
  EXPECT_GT(of_facts["time_ms"], 0.0);
  const auto& of_places = joined["children"][1];
  EXPECT_EQ(of_places["shared"], "in one pass for 2 queries");
  EXPECT_EQ(of_places["actual_rows"], kStarPlaces);
  EXPECT_EQ(of_places["blocks_skipped"], 0);
  const std::string text = text_of(results[1]);
  EXPECT_THAT(text, HasSubstr("operator 1 (0 rows) (as bitsets in the pass)\n"));
  EXPECT_THAT(text, HasSubstr("4 of 6 blocks skipped, in one pass for 3 queries)\n"));
  EXPECT_THAT(text, Not(HasSubstr("not run")));
}

// What a pass keeps by key and query, nobody needs alone.
TEST_P(StarPass, ThatWouldKeepTooMuchLeavesItsQueriesToRunAlone) {
  const base::TableId large = replica_.add_table({kBigIntType}, {0});
  for (int64_t i = 0; i < 40'000; ++i) replica_.insert(large, {number(i)});
  std::vector<Plan> plans;
  for (int64_t i = 0; i < 100; ++i) {
    OperatorPtr joined = join(JoinKind::kInner, where(facts(), is_below(0, 100 + i)),
                              where(scan(large, {kBigIntType}), is_below(0, 50)), {{0, 0}});
    plans.push_back(i == 0 ? analyzed(counted(std::move(joined)))
                           : plan_of(counted(std::move(joined))));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  const StopFlag stop{false};
  for (const size_t budget : {size_t{256} << 10, size_t{64} << 20}) {
    Executor executor(placement(GetParam()), budget);
    const auto results = executor.run_batch(batch, replica_.replica(), stop);
    const bool is_shared =
        text_of(results[0]).find("one pass for 100 queries") != std::string::npos;
    EXPECT_EQ(is_shared, budget > size_t{1} << 20);
    for (size_t i = 1; i < plans.size(); ++i) {
      ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
      EXPECT_EQ(results[i]->rows[0][0], number(50));
    }
  }
  // Too little for each alone, too.
  Executor executor(placement(GetParam()), 1);
  for (const auto& result : executor.run_batch(batch, replica_.replica(), stop)) {
    EXPECT_EQ(result.code(), base::ErrorCode::kOutOfMemory);
  }
}

// Nor, of what the others' groups take, what is made of one's own.
TEST_P(StarPass, WhoseRowsFindNoRoomBesideItRunAlone) {
  std::vector<Plan> plans;
  for (int64_t i = 0; i < 30; ++i) {
    OperatorPtr groups = counted(where(facts(), is_below(0, 3000 + i)), column(0, kBigIntType));
    OperatorPtr sorted = over(OperatorKind::kSort, std::move(groups), {kBigIntType, kBigIntType});
    sorted->sort_keys.push_back(SortKey{0, true, false});
    plans.push_back(plan_of(std::move(sorted)));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  const StopFlag stop{false};
  for (size_t budget = size_t{1} << 20; budget < size_t{16} << 20; budget += budget / 16) {
    Executor executor(placement(GetParam()), budget);
    const auto results = executor.run_batch(batch, replica_.replica(), stop);
    for (size_t i = 0; i < plans.size(); ++i) {
      ASSERT_TRUE(results[i].ok()) << budget << ": " << results[i].error().to_string();
      EXPECT_EQ(results[i]->rows.size(), 3000 + i);
    }
  }
}

// Nor what it computes with.
TEST_P(StarPass, OfTooManyExpressionsLeavesItsQueriesToRunAlone) {
  std::vector<Plan> plans;
  for (int64_t i = 0; i < 200; ++i) {
    std::vector<Aggregate> sums;
    for (int64_t j = 0; j < 4; ++j) {
      sums.push_back(aggregate_of(
          AggregateKind::kSum,
          make(ExpressionKind::kAdd, kBigIntType, column(0, kBigIntType), star_number(i * 4 + j))));
    }
    OperatorPtr root = aggregate(where(facts(), is_below(0, 100)), {}, std::move(sums));
    plans.push_back(i == 0 ? analyzed(std::move(root)) : plan_of(std::move(root)));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  const StopFlag stop{false};
  for (const size_t budget : {size_t{4} << 20, size_t{256} << 20}) {
    Executor executor(placement(GetParam()), budget);
    const auto results = executor.run_batch(batch, replica_.replica(), stop);
    const bool is_shared =
        text_of(results[0]).find("one pass for 200 queries") != std::string::npos;
    EXPECT_EQ(is_shared, budget > size_t{4} << 20);
    for (int64_t i = 1; i < 200; ++i) {
      ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
      EXPECT_EQ(results[i]->rows[0][1], decimal(99 * 100 / 2 + 100 * (i * 4 + 1), 0));
    }
  }
}

// Nor what its groups are by.
TEST_P(StarPass, OfTooManyValuesLeavesItsQueriesToRunAlone) {
  const base::TableId large = replica_.add_table(kStarPlaceTypes, {0});
  for (int64_t i = 0; i < 40'000; ++i) replica_.insert(large, {number(i), number(i * i)});
  std::vector<Plan> plans;
  for (int64_t i = 0; i < 14; ++i) {
    OperatorPtr joined = join(JoinKind::kInner, scan(large, kStarPlaceTypes),
                              where(facts(), is_below(0, 100 + i)), {{0, 0}});
    OperatorPtr root = counted(std::move(joined), column(1, kBigIntType));
    plans.push_back(i == 0 ? analyzed(std::move(root)) : plan_of(std::move(root)));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  const StopFlag stop{false};
  for (const size_t budget : {size_t{1} << 20, size_t{64} << 20}) {
    Executor executor(placement(GetParam()), budget);
    const auto results = executor.run_batch(batch, replica_.replica(), stop);
    const bool is_shared = text_of(results[0]).find("one pass for 14 queries") != std::string::npos;
    EXPECT_EQ(is_shared, budget > size_t{1} << 20);
    for (size_t i = 1; i < plans.size(); ++i) {
      ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
      EXPECT_EQ(results[i]->rows.size(), 100 + i);
    }
  }
}

// Of some stars with predicates that take long.
class StarPassStop : public StarPass {
 protected:
  StarPassStop() {
    for (int64_t i = 0; i < 120; ++i) {
      ExpressionPtr product = column(0, kBigIntType);
      for (int64_t times = 0; times < 40; ++times) {
        product = make(ExpressionKind::kModulo, kBigIntType,
                       make(ExpressionKind::kAdd, kBigIntType, std::move(product), star_number(i)),
                       star_number(1000 + times));
      }
      plans_.push_back(
          plan_of(counted(where(facts(), make(ExpressionKind::kLess, kBooleanType,
                                              std::move(product), star_number(700))))));
    }
    plans_.push_back(plan_of(counted(facts())));
    for (const Plan& plan : plans_) queries_.push_back({&plan, &controls_.emplace_back()});
  }

  std::vector<Plan> plans_;
  std::deque<QueryControl> controls_;
  std::vector<QueryRun> queries_;
};

TEST_P(StarPassStop, EndsItOnceAllOfItsQueriesAreStopped) {
  for (int64_t i = kStarFacts; i < 600'000; ++i) {
    replica_.insert(fact_, {number(i), number(i % kStarPlaces), number(i % 4)});
  }
  Executor executor(placement(GetParam()));
  const StopFlag stop{false};
  double best_ms = 1e9;  // the machine has other things to do
  for (int attempt = 0; attempt < 40 && best_ms >= 100; ++attempt) {
    controls_.clear();
    for (QueryRun& query : queries_) query.control = &controls_.emplace_back();
    std::atomic<uint64_t> stopped_ns{0};  // writer: the thread that stops
    std::thread stopping([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      for (QueryControl& control : controls_) control.cancel();
      // relaxed: read once the thread has been joined.
      stopped_ns.store(base::steady_ns(), std::memory_order_relaxed);
    });
    size_t cancelled = 0;
    executor.run_batch(queries_, replica_.replica(), stop,
                       [&](size_t, base::Result<QueryResult> result) {
                         cancelled += result.code() == base::ErrorCode::kCancelled ? 1 : 0;
                       });
    const uint64_t end_ns = base::steady_ns();
    stopping.join();
    ASSERT_EQ(cancelled, queries_.size());
    // relaxed: as above.
    const uint64_t ns = end_ns - stopped_ns.load(std::memory_order_relaxed);
    best_ms = std::min(best_ms, static_cast<double>(ns) / 1e6);
  }
  EXPECT_LT(best_ms, 100);
}

TEST_P(StarPassStop, OfSomeLeavesTheOthersTheirAnswers) {
  std::thread stopping([&] {
    for (size_t i = 0; i + 1 < controls_.size(); ++i) controls_[i].cancel();
  });
  Executor executor(placement(GetParam()));
  const StopFlag stop{false};
  size_t answered = 0;
  executor.run_batch(queries_, replica_.replica(), stop,
                     [&](size_t query, base::Result<QueryResult> result) {
                       ++answered;
                       if (query + 1 != queries_.size()) {
                         EXPECT_TRUE(result.ok() || result.code() == base::ErrorCode::kCancelled);
                         return;
                       }
                       ASSERT_TRUE(result.ok()) << result.error().to_string();
                       EXPECT_EQ(result->rows[0][0], number(kStarFacts));
                     });
  stopping.join();
  EXPECT_EQ(answered, queries_.size());
}

INSTANTIATE_TEST_SUITE_P(Threads, StarPassStop, ::testing::Values(1U, 3U));
INSTANTIATE_TEST_SUITE_P(Threads, StarPass, ::testing::Values(1U, 3U));

// The planner may be wrong about the number of groups.
TEST(StarBatchFailure, OfTooManyGroupsIsThatOfTheirGroupByAlone) {
  constexpr int64_t kGroups = 70'000;
  static_assert(kGroups > StarGroups::kGroupsGivenUp);
  TestReplica replica;
  const base::TableId table = replica.add_table({kBigIntType, kBigIntType});
  for (int64_t i = 0; i < kGroups; ++i) replica.insert(table, {number(i), number(i % 3)});
  const auto plan_by = [&](uint32_t key, int64_t first) {
    OperatorPtr op = scan(table, {kBigIntType, kBigIntType});
    op->predicates.push_back(make(ExpressionKind::kGreaterEqual, kBooleanType,
                                  column(0, kBigIntType), literal(kBigIntType, number(first))));
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(key, kBigIntType));
    std::vector<Aggregate> count;
    count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return plan_of(aggregate(std::move(op), std::move(keys), std::move(count)));
  };
  for (const uint32_t threads : {1, 3}) {
    std::vector<Plan> plans;
    for (int64_t i = 0; i < 16; ++i) plans.push_back(plan_by(static_cast<uint32_t>(i % 2), i));
    std::vector<const Plan*> batch;
    for (const Plan& plan : plans) batch.push_back(&plan);
    Executor executor(placement(threads));
    const StopFlag stop{false};
    const auto results = executor.run_batch(batch, replica.replica(), stop);
    for (int64_t i = 0; i < 16; ++i) {
      ASSERT_TRUE(results[i].ok());
      if (i % 2 == 0) {
        EXPECT_EQ(results[i]->rows.size(), static_cast<size_t>(kGroups - i));
        continue;
      }
      int64_t rows = 0;
      for (const auto& row : results[i]->rows) rows += std::get<int64_t>(row[1]);
      EXPECT_EQ(results[i]->rows.size(), 3U);
      EXPECT_EQ(rows, kGroups - i);
    }
  }
}

}  // namespace
}  // namespace diptych::olap::test
