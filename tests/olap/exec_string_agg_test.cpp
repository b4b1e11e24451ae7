// string_agg(DISTINCT ...): of many rows with few texts, and of ever new ones.

#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/olap/exec_table.h"
#include "tests/olap/test_replica.h"

namespace diptych::olap::test {
namespace {

class DistinctTexts : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr int64_t kGroups = 3;
  static constexpr int64_t kRows = 300'000;

  // Row i has this text; NULL where it is empty.
  void expect_of_all(const std::function<std::string(int64_t)>& text_of) {
    TestReplica replica(storage::StorageOptions{.partitions = 1, .block_rows = 16 * 1024});
    const base::TableId table = replica.add_table({kIntType, kTextType});
    std::map<int64_t, std::set<std::string>> texts;
    for (int64_t i = 0; i < kRows; ++i) {
      const std::string one = text_of(i);
      replica.insert(table, {number(i % kGroups), one.empty() ? kNull : text(one)});
      if (!one.empty()) texts[i % kGroups].insert(one);
    }
    replica.compact();
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(0, kIntType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kStringAgg, column(1, kTextType)));
    aggregates.back().distinct = true;
    aggregates.back().further.push_back(literal(kTextType, text(",")));
    const Plan plan = plan_of(
        aggregate(scan(table, {kIntType, kTextType}), std::move(keys), std::move(aggregates)));
    const auto result = run(plan, replica.replica(), GetParam());
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    ASSERT_EQ(result->rows.size(), static_cast<size_t>(kGroups));
    for (const auto& row : result->rows) {
      std::string joined;
      for (const std::string& one : texts[std::get<int64_t>(row[0])]) {
        joined += (joined.empty() ? "" : ",") + one;
      }
      ASSERT_EQ(std::get<std::string>(row[1]), joined);
    }
  }
};

TEST_P(DistinctTexts, OfFewAreTheseInOrder) {
  expect_of_all([](int64_t i) {
    return i % 11 == 0 ? "" : "a text that is long enough, of number " + std::to_string(i % 70);
  });
}

TEST_P(DistinctTexts, OfManyAreAll) {
  expect_of_all([](int64_t i) { return std::to_string(i / 2); });
}

// So that it is given up to look for the first ones, which are met again later.
TEST_P(DistinctTexts, OfManyBehindFewAreAll) {
  expect_of_all([](int64_t i) { return std::to_string(i < 50'000 || i > 280'000 ? i % 40 : i); });
}

INSTANTIATE_TEST_SUITE_P(Threads, DistinctTexts, ::testing::Values(1U, 3U));

}  // namespace
}  // namespace diptych::olap::test
