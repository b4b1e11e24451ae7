// The leading rows of each partition of a window against the naive reference, and when a filter
// wants no more of a window than these.

#include "olap/execution/window/leading_rows.h"
#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

// The rows with their numbers or ranks by these columns.
OperatorPtr numbered(OperatorPtr rows, std::vector<uint32_t> partition, std::vector<SortKey> keys,
                     WindowKind kind = WindowKind::kRowNumber) {
  std::vector<DataType> output = rows->output;
  output.push_back(kBigIntType);
  OperatorPtr op = over(OperatorKind::kWindow, std::move(rows), std::move(output));
  op->window_partition = std::move(partition);
  op->sort_keys = std::move(keys);
  op->window_functions.push_back({.kind = kind, .type = kBigIntType});
  return op;
}

ExpressionPtr compare_number(ExpressionKind kind, uint32_t c, int64_t value) {
  return make(kind, kBooleanType, column(c, kBigIntType), literal(kBigIntType, number(value)));
}

class LeadingRowsModel : public OperatorModel {
 protected:
  ExpressionPtr at_most(uint32_t c, int64_t most) {
    switch (below(4)) {
      case 0: return compare_number(ExpressionKind::kLessEqual, c, most);
      case 1: return compare_number(ExpressionKind::kLess, c, most + 1);
      case 2:
        return make(ExpressionKind::kGreater, kBooleanType, literal(kBigIntType, number(most + 1)),
                    column(c, kBigIntType));
      default: return compare_number(ExpressionKind::kEqual, c, most);
    }
  }

  WindowKind some_kind() {
    static constexpr WindowKind kKinds[] = {WindowKind::kRowNumber, WindowKind::kRank,
                                            WindowKind::kDenseRank};
    return kKinds[below(3)];
  }

  std::vector<uint32_t> some_columns() {
    std::vector<uint32_t> columns;
    for (uint64_t i = below(4); i != 0; --i) {
      columns.push_back(1 + static_cast<uint32_t>(below(kColumns - 1)));
    }
    return columns;
  }
};

TEST_P(LeadingRowsModel, TheFirstOfEachPartitionAreTheSame) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<SortKey> keys;
    for (const uint32_t c : some_columns()) keys.push_back({c, below(2) == 0, below(2) == 0});
    const WindowKind kind = some_kind();
    if (kind == WindowKind::kRowNumber) {
      keys.push_back({0, below(2) == 0, false});  // unique: which comes first is determined
    }
    OperatorPtr rows =
        numbered(scan_of(static_cast<uint32_t>(below(4))), some_columns(), keys, kind);
    uint32_t number_at = kColumns;
    if (below(3) == 0) {
      rows = filter(std::move(rows), make(ExpressionKind::kLess, kBooleanType, column(1, kIntType),
                                          column(0, kIntType)));
    }
    if (below(3) == 0) {
      std::vector<ExpressionPtr> columns;
      columns.push_back(column(3, kTextType));
      columns.push_back(column(kColumns, kBigIntType));
      columns.push_back(column(0, kIntType));
      rows = project(std::move(rows), std::move(columns));
      number_at = 1;
    }
    const auto most = static_cast<int64_t>(below(2) == 0 ? 1 : 1 + below(20));
    OperatorPtr op = filter(std::move(rows), at_most(number_at, most));
    const auto wanted = leading_numbers(*op);
    ASSERT_TRUE(wanted.has_value());
    ASSERT_EQ(wanted->most, most);
    if (below(3) == 0) {
      op->predicates.push_back(make(ExpressionKind::kIsNotNull, kBooleanType,
                                    column(number_at == 1 ? 0 : 3, kTextType)));
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LeadingRowsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 25}));

// Each row comes before all of its partition that came before it: those are dropped.
class OvertakenRows : public ::testing::TestWithParam<int64_t> {};

TEST_P(OvertakenRows, AreDropped) {
  TestReplica replica(storage::StorageOptions{.partitions = 1, .block_rows = 16 * 1024});
  const std::vector<DataType> types = {kIntType, kTextType, kIntType};
  const base::TableId table = replica.add_table(types);
  constexpr int64_t kRows = 300'000;
  constexpr int64_t kPartitions = 50;
  constexpr int64_t kAlone = 61'007;  // the row of a partition that nothing overtakes
  const auto text_of = [](int64_t i) {
    return "a text that is too long for its place, " + std::to_string(i);
  };
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t partition = i == kAlone ? kPartitions : i % kPartitions;
    replica.insert(table, {number(partition), text(text_of(i)), number(i)});
  }
  replica.compact();
  OperatorPtr op = filter(numbered(scan(table, types), {0}, {{2, true, false}}),
                          compare_number(ExpressionKind::kLessEqual, 3, GetParam()));
  const Plan plan = plan_of(std::move(op));
  const Plan* const plans[] = {&plan};
  // All rows' texts take 20 MB.
  Executor executor(placement(1), size_t{12} << 20);
  const StopFlag stop{false};
  const auto results = executor.run_batch(plans, replica.replica(), stop);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  std::vector<std::string> expected;
  const auto expect = [&](int64_t partition, int64_t row, int64_t number) {
    expected.push_back(std::to_string(partition) + "|" + text_of(row) + "|" + std::to_string(row) +
                       "|" + std::to_string(number) + "|");
  };
  for (int64_t p = 0; p < kPartitions; ++p) {
    for (int64_t n = 1; n <= GetParam(); ++n) expect(p, kRows + p - n * kPartitions, n);
  }
  expect(kPartitions, kAlone, 1);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines(results[0]->rows), expected);
}

INSTANTIATE_TEST_SUITE_P(Most, OvertakenRows, ::testing::Values(1, 3));

// Ties come with their rank, however many they are, and whenever they come.
TEST(LeadingRowsTest, TiesWithTheLastStay) {
  TestReplica replica(storage::StorageOptions{.partitions = 1, .block_rows = 16 * 1024});
  const std::vector<DataType> types = {kIntType, kTextType};
  const base::TableId table = replica.add_table(types);
  constexpr int64_t kRows = 300'000;
  // Texts that agree in their first bytes; a third of the rows has each of the two least.
  const auto text_of = [](int64_t i) {
    return "a common beginning " + std::to_string(i % 3 == 2 ? 2 + i : i % 3);
  };
  for (int64_t i = 0; i < kRows; ++i) replica.insert(table, {number(i), text(text_of(i))});
  replica.compact();
  for (const auto& [kind, most, expected] :
       {std::tuple(WindowKind::kRank, 1, kRows / 3), std::tuple(WindowKind::kRank, 1000, kRows / 3),
        std::tuple(WindowKind::kDenseRank, 1, kRows / 3),
        std::tuple(WindowKind::kDenseRank, 2, kRows / 3 * 2),
        std::tuple(WindowKind::kDenseRank, 3, kRows / 3 * 2 + 1),
        std::tuple(WindowKind::kRowNumber, 1000, int64_t{1000})}) {
    OperatorPtr op = filter(numbered(scan(table, types), {}, {{1, false, false}}, kind),
                            compare_number(ExpressionKind::kLessEqual, 2, most));
    const Plan plan = plan_of(std::move(op));
    const Plan* const plans[] = {&plan};
    Executor executor(placement(1), size_t{1} << 30);
    const StopFlag stop{false};
    const auto results = executor.run_batch(plans, replica.replica(), stop);
    ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
    EXPECT_EQ(results[0]->rows.size(), expected) << most;
  }
}

TEST(LeadingRowsTest, OtherFiltersWantMoreOfAWindow) {
  const auto most = [](ExpressionPtr predicate, WindowKind kind = WindowKind::kRowNumber) {
    OperatorPtr rows = numbered(scan(base::TableId(0), {kIntType, kBigIntType}), {0}, {}, kind);
    const OperatorPtr op = filter(std::move(rows), std::move(predicate));
    const auto wanted = leading_numbers(*op);
    return wanted.has_value() ? wanted->most : 0;
  };
  using enum ExpressionKind;
  EXPECT_EQ(most(compare_number(kEqual, 2, 1)), 1);
  EXPECT_EQ(most(compare_number(kEqual, 2, 2)), 2);
  EXPECT_EQ(most(compare_number(kLessEqual, 2, 2)), 2);
  EXPECT_EQ(most(compare_number(kLess, 2, 3)), 2);
  EXPECT_EQ(most(compare_number(kLessEqual, 2, 3), WindowKind::kRank), 3);
  EXPECT_EQ(most(compare_number(kLessEqual, 2, 3), WindowKind::kDenseRank), 3);
  EXPECT_EQ(most(compare_number(kLess, 2, 1)), 0);
  EXPECT_EQ(most(compare_number(kLessEqual, 2, 0)), 0);
  EXPECT_EQ(most(compare_number(kLessEqual, 2, 1'000'000)), 0);
  EXPECT_EQ(most(compare_number(kGreaterEqual, 2, 1)), 0);
  EXPECT_EQ(most(compare_number(kNotEqual, 2, 1)), 0);
  EXPECT_EQ(most(compare_number(kEqual, 1, 1)), 0);  // of the input
  EXPECT_EQ(most(compare_number(kEqual, 2, 1), WindowKind::kNtile), 0);
  EXPECT_EQ(most(make(kNot, kBooleanType, compare_number(kEqual, 2, 1))), 0);
}

}  // namespace
}  // namespace diptych::olap::test
