// Samples of columns against the columns: exact where they have all rows, near where they do not;
// and what the planner makes of them.

#include <random>

#include "olap/table_statistics.h"
#include "tests/olap/exec_table.h"
#include "tests/olap/sql_fixture.h"

namespace diptych::olap::test {
namespace {

constexpr int64_t kFewSampleRows = 4000;
constexpr int64_t kManySampleRows = 60'000;

// 0: 0 to 9, nine tenths of it 7; 1: all different; 2: 1,000 values, a quarter of the rows null;
// 3: texts, a tenth ends with b.
class ColumnSampleTest : public ::testing::TestWithParam<int64_t> {
 protected:
  ColumnSampleTest() {
    table_ = replica_.add_table({kIntType, kBigIntType, decimal_type(9, 2), kTextType});
    std::mt19937_64 random(5);
    for (int64_t i = 0; i < GetParam(); ++i) {
      const auto any = static_cast<int64_t>(random() % 1000);
      replica_.insert(table_, {number(any % 10 == 0 ? any / 100 : 7), number(i),
                               any % 4 == 0 ? kNull : decimal(any * 10, 2),
                               text("text " + std::to_string(random() % 500) +
                                    (random() % 10 == 0 ? "b" : "a"))});
    }
  }

  // What the planner is told of it, as `t`.
  void SetUp() override {
    ASSERT_EQ(define(&catalog_,
                     "CREATE TABLE t (a INT, b BIGINT NOT NULL, c DECIMAL(9,2), d TEXT,"
                     " PRIMARY KEY (b))"),
              "");
    StatisticsKeeper(table()).refresh(&statistics_[0]);
  }

  storage::Table* table() { return &replica_.replica().table(table_); }
  ColumnSample sample(uint16_t column) {
    TableStatistics statistics;
    StatisticsKeeper(table()).refresh(&statistics);
    return statistics.samples[column]->summary();
  }
  // The answer of the sample, and the truth, within a share of it.
  static void expect_near(double found, double truth, double share) {
    EXPECT_NEAR(found, truth, truth * share + 1e-9);
  }

  TestReplica replica_{3};
  base::TableId table_;
  base::Catalog catalog_;
  TableRows statistics_ = TableRows(1);
};

TEST_P(ColumnSampleTest, SaysHowManyValuesAreDifferent) {
  const bool whole = GetParam() <= static_cast<int64_t>(kSampledRows);
  EXPECT_EQ(sample(0).is_whole, whole);
  EXPECT_TRUE(sample(0).has_all_values);
  EXPECT_EQ(sample(1).has_all_values, whole);
  expect_near(sample(0).distinct, 10, 0);
  expect_near(sample(1).distinct, static_cast<double>(GetParam()), whole ? 0 : 0.05);
  expect_near(sample(2).distinct, 750, whole ? 0.02 : 0.1);
  expect_near(sample(2).null_share, 0.25, 0.1);
  EXPECT_EQ(sample(0).null_share, 0);
}

TEST_P(ColumnSampleTest, KnowsCommonValuesAndRanges) {
  const auto rows = static_cast<double>(GetParam());
  const ColumnSample skewed = sample(0);
  ASSERT_FALSE(skewed.frequent.empty());
  EXPECT_EQ(skewed.frequent[0].number, 7);
  expect_near(*skewed.share_of(number(7), rows), 0.91, 0.03);
  expect_near(*skewed.share_of(number(3), rows), 0.01, 0.5);
  EXPECT_LT(*skewed.share_of(number(77), rows), 0.01);
  EXPECT_FALSE(skewed.share_of(kNull, rows).has_value());
  const ColumnSample spread = sample(2);
  EXPECT_EQ(*spread.share_below(decimal(0, 2)), 0);
  expect_near(*spread.share_below(decimal(5000, 2)), 0.375, 0.1);
  expect_near(*spread.share_below(decimal(100'000, 2)), 0.75, 0.1);
  const ColumnSample texts = sample(3);
  EXPECT_TRUE(texts.quantiles.empty());
  EXPECT_FALSE(texts.share_below(text("a")).has_value());
  EXPECT_GE(texts.texts.size(), 128U);
}

// The column that is a parent's has no index and no foreign key here.
TEST_P(ColumnSampleTest, PlansGoByIt) {
  EXPECT_FALSE(statistics_[0].lacks_samples);
  const auto expected = [&](const std::string& where, double share, double tolerance) {
    const auto plan = prepare("select b from t where " + where, catalog_, statistics_);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    SCOPED_TRACE(where);
    expect_near(plan->root->estimated_rows / static_cast<double>(GetParam()), share, tolerance);
  };
  expected("a = 7", 0.91, 0.05);
  expected("7 <> a", 0.09, 0.3);
  expected("a in (7, 3)", 0.92, 0.05);
  expected("c is null", 0.25, 0.1);
  expected("c is not null", 0.75, 0.1);
  expected("c > 50", 0.375, 0.15);
  expected("c <= 25", 0.1875, 0.15);
  expected("d like '%b'", 0.1, 0.5);
  expected("d not like '%b'", 0.9, 0.1);
  // Several predicates on one column.
  expected("c between 25 and 50", 0.1875, 0.15);
  expected("50 > c and c > 25 and c > 30 and c < 60", 0.15, 0.2);
  expected("c > 50 and c is not null", 0.375, 0.15);
  expected("a in (3, 7) and (a = 3 or a = 7)", 0.92, 0.05);
  expected("a in (3, 7) and a >= 0", 0.92, 0.05);
  expected("c > 25 and b >= 0 and c < 50 and a = 7", 0.1875 * 0.91, 0.2);
  const auto middle = std::to_string(GetParam() / 2);
  expected("b >= " + middle + " and b < " + middle + " + " + std::to_string(GetParam() / 100), 0.01,
           0.2);
  expected("b >= " + middle + " and b <= " + middle, 1 / static_cast<double>(GetParam()), 4);
  // Of expressions over one column.
  expected("a * 2 = 14", 0.91, 0.05);
  expected("a % 2 = 1", 0.95, 0.05);
  expected("b % 10 = 3", 0.1, 1);
  expected("c * 2 > 100", 0.375, 0.15);
  expected("coalesce(c, 0) = 0", 0.25, 0.1);
  expected("coalesce(c, 0) <> 0", 0.75, 0.1);
  expected("upper(d) like '%B'", 0.1, 0.5);
  expected("d ~ 'b$'", 0.1, 0.5);
  expected("substring(d, 6, 1) in ('1', '2', '3', '4')", 0.888, 0.1);
  expected("not (substring(d, 6, 1) = '1' or d like '%b')", 0.7, 0.15);
  // Where it fails for some value or makes too much of it, and where no value is among the sampled
  // ones, by the kind.
  expected("repeat(d, 100000000) like '%b'", 0.1, 0.01);
  expected("70 / a = 10", 0.1, 0.01);
  expected("b + 1 = 5", 1 / static_cast<double>(GetParam()), 0.1);
}

TEST_P(ColumnSampleTest, GroupsGoByIt) {
  const auto expected = [&](const std::string& sql, double groups, double tolerance) {
    const auto plan = prepare("select count(*) from " + sql, catalog_, statistics_);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    SCOPED_TRACE(sql);
    expect_near(plan->root->estimated_rows, groups, tolerance);
  };
  const auto rows = static_cast<double>(GetParam());
  expected("t group by a", 10, 0.01);
  // Of those that predicates on the key leave.
  expected("t where a = 7 group by a", 1, 0.01);
  expected("t where a in (3, 7, 8) group by a", 3, 0.01);
  expected("t where c > 25 and c < 50 group by c", 187, 0.2);
  // A table has no more combinations than rows, however often it is joined.
  expected("t x, t y where x.a = y.a group by x.a, x.b, x.c, x.d", rows, 0.01);
  expected("t x, t y where x.a = y.a and x.b < 10 group by x.a, x.b, x.c, x.d", 10, 0.3);
  expected("t x, t y where x.a = y.a and x.b < 10 group by x.b, x.c, y.a", 100, 0.3);
  expected("(select x.a as k, x.b as l, x.c as m from t x, t y where x.a = y.a) v group by k, l, m",
           rows, 0.01);
  expected("t group by rollup (a, b)", rows + 10 + 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Rows, ColumnSampleTest,
                         ::testing::Values(kFewSampleRows, kManySampleRows));

}  // namespace
}  // namespace diptych::olap::test
