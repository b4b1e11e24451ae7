// Join orders of many tables: found in milliseconds, without cross products, small things first.

#include "olap/sql/join_order.h"

#include <bit>

#include <gtest/gtest.h>

#include "base/thread.h"
#include "tests/sanitizers.h"

namespace diptych::olap {
namespace {

// A fact table and dimensions of 1,000 rows, each with an outrigger of 10; slot 10 i is the key of
// dimension i.
JoinProblem snowflake(uint32_t dimensions) {
  JoinProblem problem;
  problem.relations.push_back({.rows = 1e6, .unfiltered = 1e6});
  const auto join = [&](size_t from, size_t to, double values, uint32_t slot) {
    problem.equalities.push_back(
        {{MemberSet{1} << from, values, slot + 1}, {MemberSet{1} << to, values, slot}});
  };
  for (uint32_t i = 0; i < dimensions; ++i) {
    const size_t dimension = problem.relations.size();
    problem.relations.push_back({.rows = 1000, .unfiltered = 1000, .unique_keys = {{i * 10}}});
    join(0, dimension, 1000, i * 10);
    problem.relations.push_back({.rows = 10, .unfiltered = 10, .unique_keys = {{i * 10 + 5}}});
    join(dimension, dimension + 1, 10, i * 10 + 5);
  }
  return problem;
}

// Every join is along an equality, and every relation is there once.
void expect_joined(const JoinTree& tree, const JoinProblem& problem) {
  if (tree.probe == nullptr) return;
  EXPECT_EQ(tree.probe->members & tree.build->members, 0U);
  EXPECT_EQ(tree.probe->members | tree.build->members, tree.members);
  bool connected = false;
  for (const JoinEquality& equality : problem.equalities) {
    const MemberSet both = equality.left.members | equality.right.members;
    connected = connected || (within(both, tree.members) && !within(both, tree.probe->members) &&
                              !within(both, tree.build->members));
  }
  EXPECT_TRUE(connected);
  expect_joined(*tree.probe, problem);
  expect_joined(*tree.build, problem);
}

TEST(JoinOrder, OfManyTablesTakesMilliseconds) {
  for (const uint32_t dimensions : {4U, 6U, 10U, 15U, 31U}) {
    const JoinProblem problem = snowflake(dimensions);
    const uint64_t start_ns = base::thread_cpu_ns();  // other tests run beside this one
    const auto tree = order_joins(problem);
    const uint64_t spent_ns = base::thread_cpu_ns() - start_ns;
    EXPECT_EQ(std::popcount(tree->members), static_cast<int>(problem.relations.size()));
    expect_joined(*tree, problem);
    // All five take 20 ms together; under sanitizers, which do not optimise this, up to 1.2 s.
    EXPECT_LT(spent_ns, diptych::test::kSanitized ? 3'000'000'000u : 300'000'000u)
        << problem.relations.size();
  }
}

// What drops most rows is joined with the fact table before the dimensions that drop none.
TEST(JoinOrder, OfThirteenTablesBeginsWithTheSelectiveOne) {
  JoinProblem problem = snowflake(6);
  problem.relations[5].rows = 2;  // of the third dimension
  const auto tree = order_joins(problem);
  EXPECT_NEAR(tree->rows, 2000, 1);
  const MemberSet fact_and_selective = MemberSet{1} | (MemberSet{1} << 5);
  const JoinTree* node = tree.get();
  while (node->probe != nullptr) {
    const JoinTree* const next =
        (node->probe->members & 1) != 0 ? node->probe.get() : node->build.get();
    if (!within(fact_and_selective, next->members)) break;
    node = next;
  }
  EXPECT_LE(node->rows, 2000 + 1e-6);
  EXPECT_LE(std::popcount(node->members), 3);
}

}  // namespace
}  // namespace diptych::olap
