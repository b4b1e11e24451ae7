// The first row of each partition of a window against the naive reference, and when a filter wants
// no more of a window than these.

#include "olap/execution/window/first_rows.h"
#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

// row_number() over the rows, by these columns.
OperatorPtr numbered(OperatorPtr rows, std::vector<uint32_t> partition, std::vector<SortKey> keys) {
  std::vector<DataType> output = rows->output;
  output.push_back(kBigIntType);
  OperatorPtr op = over(OperatorKind::kWindow, std::move(rows), std::move(output));
  op->window_partition = std::move(partition);
  op->sort_keys = std::move(keys);
  op->window_functions.push_back({.kind = WindowKind::kRowNumber, .type = kBigIntType});
  return op;
}

ExpressionPtr compare_number(ExpressionKind kind, uint32_t c, int64_t value) {
  return make(kind, kBooleanType, column(c, kBigIntType), literal(kBigIntType, number(value)));
}

class FirstRowsModel : public OperatorModel {
 protected:
  ExpressionPtr is_first(uint32_t c) {
    switch (below(4)) {
      case 0: return compare_number(ExpressionKind::kLessEqual, c, 1);
      case 1: return compare_number(ExpressionKind::kLess, c, 2);
      case 2:
        return make(ExpressionKind::kGreater, kBooleanType, literal(kBigIntType, number(2)),
                    column(c, kBigIntType));
      default: return compare_number(ExpressionKind::kEqual, c, 1);
    }
  }

  std::vector<uint32_t> some_columns() {
    std::vector<uint32_t> columns;
    for (uint64_t i = below(4); i != 0; --i) {
      columns.push_back(1 + static_cast<uint32_t>(below(kColumns - 1)));
    }
    return columns;
  }
};

TEST_P(FirstRowsModel, TheFirstOfEachPartitionIsTheOne) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<SortKey> keys;
    for (const uint32_t c : some_columns()) keys.push_back({c, below(2) == 0, below(2) == 0});
    keys.push_back({0, below(2) == 0, false});  // unique: which comes first is determined
    OperatorPtr rows = numbered(scan_of(static_cast<uint32_t>(below(4))), some_columns(), keys);
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
    OperatorPtr op = filter(std::move(rows), is_first(number_at));
    ASSERT_NE(window_of_first_rows(*op), nullptr);
    if (below(3) == 0) {
      op->predicates.push_back(make(ExpressionKind::kIsNotNull, kBooleanType,
                                    column(number_at == 1 ? 0 : 3, kTextType)));
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FirstRowsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 25}));

// Rows that are each before all of their partition that came before them: those are dropped.
TEST(FirstRowsTest, OvertakenRowsAreDropped) {
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
                          compare_number(ExpressionKind::kEqual, 3, 1));
  const Plan plan = plan_of(std::move(op));
  const Plan* const plans[] = {&plan};
  // All rows' texts take 20 MB.
  Executor executor(placement(1), size_t{12} << 20);
  const StopFlag stop{false};
  const auto results = executor.run_batch(plans, replica.replica(), stop);
  ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
  std::vector<std::string> expected;
  for (int64_t p = 0; p <= kPartitions; ++p) {
    const int64_t last = p == kPartitions ? kAlone : kRows - kPartitions + p;
    expected.push_back(std::to_string(p) + "|" + text_of(last) + "|" + std::to_string(last) +
                       "|1|");
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines(results[0]->rows), expected);
}

TEST(FirstRowsTest, OtherFiltersWantMoreOfAWindow) {
  const auto window_of = [](ExpressionPtr predicate, WindowKind kind = WindowKind::kRowNumber) {
    OperatorPtr rows = numbered(scan(base::TableId(0), {kIntType, kBigIntType}), {0}, {});
    rows->window_functions[0].kind = kind;
    const OperatorPtr op = filter(std::move(rows), std::move(predicate));
    return window_of_first_rows(*op) != nullptr;
  };
  using enum ExpressionKind;
  EXPECT_TRUE(window_of(compare_number(kEqual, 2, 1)));
  EXPECT_FALSE(window_of(compare_number(kEqual, 2, 2)));
  EXPECT_FALSE(window_of(compare_number(kLessEqual, 2, 2)));
  EXPECT_FALSE(window_of(compare_number(kLess, 2, 3)));
  EXPECT_FALSE(window_of(compare_number(kGreaterEqual, 2, 1)));
  EXPECT_FALSE(window_of(compare_number(kNotEqual, 2, 1)));
  EXPECT_FALSE(window_of(compare_number(kEqual, 1, 1)));  // of the input
  EXPECT_FALSE(window_of(compare_number(kEqual, 2, 1), WindowKind::kRank));
  EXPECT_FALSE(window_of(compare_number(kEqual, 2, 1), WindowKind::kDenseRank));
  EXPECT_FALSE(window_of(make(kNot, kBooleanType, compare_number(kEqual, 2, 1))));
}

}  // namespace
}  // namespace diptych::olap::test
