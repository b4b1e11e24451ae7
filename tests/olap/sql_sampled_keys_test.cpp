// How often predicates hold for the keys that another table has, by samples.

#include <gtest/gtest.h>

#include "olap/sql/sampled_keys.h"
#include "olap/table_statistics.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

constexpr int64_t kDays = 73'000;

// A calendar of 200 years. 0: the day, 1: its year, 2: the day of its week.
class SampledKeysTest : public ::testing::Test {
 protected:
  SampledKeysTest() {
    const std::vector<DataType> types = {kIntType, kIntType, kTextType};
    const base::TableId table = replica_.add_table(types);
    for (int64_t day = 0; day < kDays; ++day) {
      replica_.insert(
          table, {number(day), number(1900 + day / 365), text("day " + std::to_string(day % 7))});
    }
    StatisticsKeeper(&replica_.replica().table(table)).refresh(&statistics_);
    scan_ = scan(table, types);
  }

  // Of five years, from the hundredth on.
  static ColumnBounds five_years() { return {true, 36'500, 38'324}; }
  static ExpressionPtr year(ExpressionKind kind, int64_t value) {
    return make(kind, kBooleanType, column(1, kIntType), literal(kIntType, number(value)));
  }

  TestReplica replica_{3};
  TableStatistics statistics_;
  OperatorPtr scan_;
};

TEST_F(SampledKeysTest, AYearIsAFifthOfFiveYears) {
  scan_->predicates.push_back(year(ExpressionKind::kEqual, 2001));
  EXPECT_NEAR(share_of_keys(statistics_, *scan_, base::ColumnId(0), five_years()), 40, 15);
}

TEST_F(SampledKeysTest, AYearOutsideIsNoneOfThem) {
  scan_->predicates.push_back(year(ExpressionKind::kGreaterEqual, 2006));
  EXPECT_LT(share_of_keys(statistics_, *scan_, base::ColumnId(0), five_years()), 0.05);
}

TEST_F(SampledKeysTest, PredicatesHoldTogether) {
  scan_->predicates.push_back(year(ExpressionKind::kGreaterEqual, 2000));
  scan_->predicates.push_back(make(ExpressionKind::kGreater, kBooleanType,
                                   literal(kIntType, number(2003)), column(1, kIntType)));
  EXPECT_NEAR(share_of_keys(statistics_, *scan_, base::ColumnId(0), five_years()), 40, 15);
}

TEST_F(SampledKeysTest, WhatDoesNotDependOnTheKeyHoldsAsOften) {
  scan_->predicates.push_back(make(ExpressionKind::kEqual, kBooleanType, column(2, kTextType),
                                   literal(kTextType, text("day 3"))));
  EXPECT_NEAR(share_of_keys(statistics_, *scan_, base::ColumnId(0), five_years()), 1, 0.5);
}

TEST_F(SampledKeysTest, SaysNothingWithoutBoundsThatLeaveOutMost) {
  scan_->predicates.push_back(year(ExpressionKind::kEqual, 2001));
  const auto share = [&](const ColumnBounds& bounds) {
    return share_of_keys(statistics_, *scan_, base::ColumnId(0), bounds);
  };
  EXPECT_EQ(share({}), 1);
  EXPECT_EQ(share({true, 0, kDays - 1}), 1);
  EXPECT_EQ(share({true, 0, kDays * 2 / 3}), 1);
  EXPECT_EQ(share({true, 100, 100}), 1) << "too few sampled rows";
}

}  // namespace
}  // namespace diptych::olap::test
