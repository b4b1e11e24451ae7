// Semi and anti joins that mark the rows of their build side: a row that has a mark takes no time
// again (OperatorModel has random plans).

#include <ctime>

#include <gtest/gtest.h>

#include "tests/olap/exec_table.h"
#include "tests/sanitizers.h"

namespace diptych::olap::test {
namespace {

constexpr int64_t kMarkRows = 60'000;
constexpr double kMsMax = diptych::test::kSanitized ? 20'000 : 800;  // all pairs: from 1900 on
const std::vector<DataType> kMarkTypes = {kIntType, kIntType};

double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Rows (i, i % 2), joined with each other by the second column: pairs are half of the square.
class BuildMarksTest : public ::testing::TestWithParam<JoinKind> {
 protected:
  BuildMarksTest() {
    const base::TableId table = replica_.add_table(kMarkTypes);
    for (int64_t i = 0; i < kMarkRows; ++i) replica_.insert(table, {number(i), number(i % 2)});
  }

  void expect_rows(std::vector<ExpressionPtr> predicates, int64_t matched) {
    OperatorPtr root = join(GetParam(), scan(base::TableId(0), kMarkTypes),
                            scan(base::TableId(0), kMarkTypes), {{1, 1}});
    root->predicates = std::move(predicates);
    const Plan plan = plan_of(std::move(root));
    const double before_ms = thread_ms();
    const auto result = run(plan, replica_.replica(), 1);
    EXPECT_LT(thread_ms() - before_ms, kMsMax);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    EXPECT_EQ(static_cast<int64_t>(result->rows.size()),
              GetParam() == JoinKind::kBuildSemi ? matched : kMarkRows - matched);
  }

  TestReplica replica_;
};

TEST_P(BuildMarksTest, RowsOfAKeyAreMarkedOnce) {
  expect_rows({}, kMarkRows);
}

TEST_P(BuildMarksTest, PairsAreAskedOfRowsWithoutAMark) {
  std::vector<ExpressionPtr> differ;
  differ.push_back(
      make(ExpressionKind::kNotEqual, kBooleanType, column(0, kIntType), column(2, kIntType)));
  expect_rows(std::move(differ), kMarkRows);
}

// The first rows of each key never match, and are asked to the end.
TEST_P(BuildMarksTest, SomeNeverMatch) {
  std::vector<ExpressionPtr> predicates;
  predicates.push_back(
      make(ExpressionKind::kLess, kBooleanType, column(0, kIntType), column(2, kIntType)));
  predicates.push_back(make(ExpressionKind::kGreater, kBooleanType, column(2, kIntType),
                            literal(kIntType, number(9))));
  expect_rows(std::move(predicates), kMarkRows - 10);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BuildMarksTest,
                         ::testing::Values(JoinKind::kBuildSemi, JoinKind::kBuildAnti));

}  // namespace
}  // namespace diptych::olap::test
