// Parallel plans and the applier's parallel runs with more threads than cores, for ThreadSanitizer.

#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "olap/execution/group/merged_groups.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/sort/sorted_rows.h"
#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {
namespace {

constexpr uint32_t kThreads = 4;
const std::vector<DataType> kParallelTypes = {kIntType, kBigIntType, kTextType};

class ExecutionStress : public ::testing::Test {
 protected:
  ExecutionStress() {
    replica_.add_table(kParallelTypes);
    for (int64_t i = 0; i < kRows; ++i) {
      replica_.insert(base::TableId(0), {number(i % 97), number(i),
                                         text("a text of some length " + std::to_string(i % 31))});
    }
  }
  static OperatorPtr source() { return scan(base::TableId(0), kParallelTypes); }

  static Plan grouped_join() {
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(2, kTextType));
    std::vector<Aggregate> counts;
    counts.push_back(aggregate_of(AggregateKind::kMax, column(1, kBigIntType)));
    OperatorPtr groups = aggregate(source(), std::move(keys), std::move(counts));
    OperatorPtr joined = join(JoinKind::kInner, source(), std::move(groups), {{2, 0}});
    keys.clear();
    keys.push_back(column(0, kIntType));
    std::vector<Aggregate> sums;
    sums.push_back(aggregate_of(AggregateKind::kSum, column(4, kBigIntType)));
    sums.push_back(aggregate_of(AggregateKind::kCountDistinct, column(2, kTextType)));
    OperatorPtr sorted = aggregate(std::move(joined), std::move(keys), std::move(sums));
    std::vector<DataType> output = sorted->output;
    OperatorPtr op = over(OperatorKind::kSort, std::move(sorted), output);
    op->sort_keys = {{0, false, false}};
    return plan_of(std::move(op));
  }

  static constexpr int64_t kRows = 30'000;
  TestReplica replica_{4};
};

// Groups that are build rows are partitioned by their rows' numbers.
TEST_F(ExecutionStress, GroupsThatAreBuildRowsAreAsOfOneThread) {
  OperatorPtr joined = join(JoinKind::kInner, source(), source(), {{1, 1}});
  joined->estimated_rows = kRows;
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(4, kBigIntType));
  keys.push_back(column(5, kTextType));
  std::vector<Aggregate> sums;
  sums.push_back(aggregate_of(AggregateKind::kSum, column(0, kIntType)));
  const Plan plan = plan_of(aggregate(std::move(joined), std::move(keys), std::move(sums)));
  const auto shared = test::run(plan, replica_.replica(), kThreads);
  const auto alone = test::run(plan, replica_.replica(), 1);
  ASSERT_TRUE(shared.ok() && alone.ok());
  EXPECT_EQ(alone->rows.size(), static_cast<size_t>(kRows));
  EXPECT_EQ(lines(shared->rows), lines(alone->rows));
}

// Queries of one GROUP BY by a dimension's text: its values are numbered by each worker, and groups
// put together.
TEST_F(ExecutionStress, GroupedStarsOfABatchAreAsTheyAreAlone) {
  const base::TableId places = replica_.add_table({kIntType, kTextType}, {0});
  for (int64_t i = 0; i < 97; ++i) {
    replica_.insert(places, {number(i), text("the name of a place " + std::to_string(i % 13))});
  }
  std::vector<Plan> plans;
  for (int64_t i = 0; i < 16; ++i) {
    OperatorPtr place = scan(places, {kIntType, kTextType});
    place->predicates.push_back(make(ExpressionKind::kGreaterEqual, kBooleanType,
                                     column(0, kIntType), literal(kIntType, number(i * 3))));
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(4, kTextType));
    std::vector<Aggregate> sums;
    sums.push_back(aggregate_of(AggregateKind::kSum, column(1, kBigIntType)));
    plans.push_back(plan_of(aggregate(join(JoinKind::kInner, source(), std::move(place), {{0, 0}}),
                                      std::move(keys), std::move(sums))));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  Executor executor(placement(kThreads));
  const StopFlag stop{false};
  const auto results = executor.run_batch(batch, replica_.replica(), stop);
  for (size_t i = 0; i < plans.size(); ++i) {
    const auto alone = test::run(plans[i], replica_.replica(), 1);
    ASSERT_TRUE(results[i].ok() && alone.ok());
    EXPECT_EQ(lines(results[i]->rows), lines(alone->rows)) << i;
  }
}

TEST_F(ExecutionStress, PlansGiveTheSameResultWithAnyThreads) {
  const Plan plan = grouped_join();
  const auto expected = test::run(plan, replica_.replica(), 1);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(expected->rows.size(), 97U);
  Executor executor(placement(kThreads));
  const StopFlag stop{false};
  const Plan* const plans[] = {&plan, &plan};
  for (int round = 0; round < 5; ++round) {
    for (const auto& result : executor.run_batch(plans, replica_.replica(), stop)) {
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(lines(result->rows, false), lines(expected->rows, false));
    }
  }
}

// Scans of several plans in one pass, of which some fail in all workers, and some want few rows.
TEST_F(ExecutionStress, PlansThatScanTogetherAreAsTheyAreAlone) {
  std::vector<Plan> plans;
  for (int64_t i = 0; i < 9; ++i) {
    OperatorPtr rows = source();
    const bool fails = i % 3 == 1;
    rows->predicates.push_back(make(ExpressionKind::kGreaterEqual, kBooleanType,
                                    column(0, kIntType), literal(kIntType, number(i * 7))));
    rows->predicates.push_back(
        make(ExpressionKind::kLess, kBooleanType,
             make(ExpressionKind::kModulo, kBigIntType, column(1, kBigIntType),
                  literal(kBigIntType, number(fails ? 0 : i + 2))),
             literal(kBigIntType, number(1))));
    plans.push_back(plan_of(join(JoinKind::kSemi, std::move(rows), source(), {{0, 0}, {1, 1}})));
    if (i % 3 != 2) continue;
    OperatorPtr few = over(OperatorKind::kLimit, std::move(plans.back().root), kParallelTypes);
    few->limit = 7;
    plans.back().root = std::move(few);
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  Executor executor(placement(kThreads));
  const StopFlag stop{false};
  for (int round = 0; round < 3; ++round) {
    const auto results = executor.run_batch(batch, replica_.replica(), stop);
    for (size_t i = 0; i < plans.size(); ++i) {
      if (i % 3 == 1) {
        EXPECT_EQ(results[i].code(), base::ErrorCode::kInvalidArgument);
        continue;
      }
      ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
      if (i % 3 == 2) {
        EXPECT_EQ(results[i]->rows.size(), 7U);
        continue;
      }
      const auto alone = test::run(plans[i], replica_.replica(), 1);
      EXPECT_EQ(lines(results[i]->rows), lines(alone->rows)) << i;
    }
  }
}

// As large as the steps between pipelines have to be for all workers to take part.
TEST_F(ExecutionStress, StepsBetweenPipelinesAreSharedOut) {
  constexpr size_t kKeys = 90'000;
  const StopFlag never{false};
  const StopSignal stop(&never);
  ExecutionArena arena(placement(kThreads));
  const Workers workers(&arena, stop);
  const DataType types[] = {kBigIntType};
  const PhysicalType physical[] = {PhysicalType::kInt64};
  const KeyPacker packer(physical, NullKeys::kNever);
  ColumnStore rows(types);
  ColumnStore more(types);
  GrowingArray<uint64_t> keys;
  GrowingArray<uint64_t> hashes;
  VectorBuffer values(PhysicalType::kInt64);
  Selection selection;
  select_all(kVectorRows, &selection);
  while (keys.size() < kKeys) {
    const size_t first = keys.size();
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      values.values<int64_t>()[i] = static_cast<int64_t>((first + i) * 7919 % 60'000);
    }
    const Vector vectors[] = {values.view()};
    (first % 2048 == 0 ? rows : more).append(vectors, selection);
    keys.resize(first + kVectorRows);
    hashes.resize(first + kVectorRows);
    packer.pack(vectors, selection, keys.data() + first, hashes.data() + first);
  }
  std::vector<uint32_t> numbers(keys.size());
  MemoryBudget memory{MemoryLimits{}};
  KeyTable table(packer, QueryLimits{&memory, &stop}, "keys");
  table.build(std::move(keys), std::move(hashes), workers, numbers.data());
  EXPECT_EQ(table.size(), 60'000U);
  ColumnStore* const others[] = {&more};
  rows.absorb_all(others, workers);
  const std::vector<uint32_t> order = sorted_rows(rows, {{0, false, false}}, kNoLimit, workers);
  for (size_t i = 1; i < order.size(); ++i) {
    ASSERT_LE(rows.values<int64_t>(0)[order[i - 1]], rows.values<int64_t>(0)[order[i]]);
  }
  // Groups of parts that have the same keys.
  std::vector<ExpressionPtr> group_keys;
  group_keys.push_back(column(0, kBigIntType));
  std::vector<Aggregate> aggregates;
  aggregates.push_back(aggregate_of(AggregateKind::kCountDistinct, column(0, kBigIntType)));
  const OperatorPtr op = aggregate(scan(base::TableId(0), {kBigIntType}), std::move(group_keys),
                                   std::move(aggregates));
  MergedGroups::Tables parts;
  for (uint32_t part = 0; part < kThreads; ++part) {
    parts.push_back(std::make_unique<GroupTable>(*op, QueryLimits{&memory, &stop}));
    for (uint64_t first = 0; first < 20 * kVectorRows; first += kVectorRows) {
      Batch batch;
      batch.selection = &selection;
      for (uint32_t i = 0; i < kVectorRows; ++i) numbers[i] = static_cast<uint32_t>(first + i);
      batch.columns.push_back(rows.gather(0, numbers.data(), selection, &values));
      parts.back()->update(batch);
    }
  }
  const uint32_t groups_of_part = parts[0]->groups();
  const MergedGroups merged(*op, std::move(parts), &memory, workers);
  EXPECT_GE(merged.morsels() * kVectorRows, groups_of_part);
}

TEST_F(ExecutionStress, RunParallelRunsEveryStepOnceAndIsSeenByTheCaller) {
  Executor executor(placement(kThreads));
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> written(37, 0);  // not atomic: the run orders them
    executor.run_parallel(37, [&](uint32_t i) { written[i] += i + 1; });
    EXPECT_EQ(std::accumulate(written.begin(), written.end(), uint64_t{0}), 37U * 38 / 2);
  }
}

TEST_F(ExecutionStress, ALargeResultIsWhole) {
  const auto result = test::run(plan_of(source()), replica_.replica(), kThreads);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(static_cast<int64_t>(result->rows.size()), kRows);
}

TEST_F(ExecutionStress, AStoppedBatchEndsSoonAndCancelled) {
  // Every row with every row: minutes of work.
  OperatorPtr pairs = join(JoinKind::kInner, source(), source(), {});
  std::vector<Aggregate> count;
  count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  OperatorPtr more = join(JoinKind::kInner, std::move(pairs), source(), {});
  const Plan plan = plan_of(aggregate(std::move(more), {}, std::move(count)));
  const Plan* const plans[] = {&plan, &plan};
  Executor executor(placement(kThreads));
  StopFlag stop{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  const auto results = executor.run_batch(plans, replica_.replica(), stop);
  stopper.join();
  for (const auto& result : results) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.code(), base::ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace diptych::olap::test
