// Sorts with a LIMIT that bound the scan below them: random rows, keys and operators between the
// two against the naive reference; when a bound is used, and when not.

#include "olap/execution/scan/scan.h"
#include "tests/olap/analyzed_plan.h"
#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

// A large table, whose bounds are known before all of its rows are read, and a small one.
class TopBoundModel : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint64_t kRows = 25'000;

  TopBoundModel() : random_(GetParam()), replica_(small_blocks(GetParam() % 3 == 0 ? 2 : 1)) {
    fill(kRows);
    fill(60);
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }

  // Values that go up or down with the rows, that are few, or that come in no order; some are NULL.
  void fill(uint64_t count) {
    struct Made {
      uint64_t shape, domain, nulls_in;
    };
    std::vector<Made> made;
    for (uint32_t c = 0; c < kColumns; ++c) {
      static constexpr uint64_t kNullsIn[] = {UINT64_MAX, UINT64_MAX, 3, 3000, 1};
      made.push_back({below(5), below(2) == 0 ? 40U : 100'000U, kNullsIn[below(5)]});
    }
    const auto value = [&, made, count](uint32_t c, uint64_t i) {
      const auto [shape, domain, nulls_in] = made[c];
      if (below(nulls_in) == 0 && (nulls_in != 1 || below(1500) != 0)) return kNull;
      const uint64_t n = shape == 0   ? i
                         : shape == 1 ? count - i
                         : shape == 2 ? i / 700
                                      : below(domain);
      return value_of(kOperatorTypes[c], static_cast<int64_t>(n));
    };
    ModelRows rows{.count = count};
    rows.row = [&](uint64_t i) {
      Row row = {number(static_cast<int64_t>(i))};
      for (uint32_t c = 1; c < kColumns; ++c) row.push_back(value(c, i));
      row[1] = number(static_cast<int64_t>(i % 97));  // of a join
      return row;
    };
    for (uint16_t c = 2; c < kColumns; ++c) rows.updated.push_back(c);
    rows.value = [&](uint16_t c) { return value(c, below(count)); };
    const base::TableId id = replica_.add_table(kOperatorTypes);
    tables_.push_back(ModelTable(&replica_, id, rows, &random_).live());
  }

  static Value value_of(const DataType& type, int64_t n) {
    switch (type.kind) {
      case TypeKind::kInt:
      case TypeKind::kBigInt: return number(n - 20);
      case TypeKind::kDecimal: return decimal(n * 7 - 100, type.scale);
      case TypeKind::kDouble:
        return n == 1 ? -0.0 : n == 2 ? std::nan("") : static_cast<double>(n - 20) / 4;
      case TypeKind::kDate: return base::Date{static_cast<int32_t>(n)};
      case TypeKind::kBoolean: return n % 2 == 0;
      default: return (n % 3 == 0 ? "a long enough text, with key " : "k") + std::to_string(n);
    }
  }

  ExpressionPtr some_condition(const std::vector<DataType>& types) {
    if (below(2) == 0) {
      return make(ExpressionKind::kLess, kBooleanType, column(0, types[0]),
                  literal(kIntType, number(static_cast<int64_t>(below(kRows)))));
    }
    return make(ExpressionKind::kLess, kBooleanType, column(1, types[1]), column(0, types[0]));
  }

  // Columns 0 and 1 stay where they are.
  OperatorPtr something_over(OperatorPtr rows) {
    const std::vector<DataType> types = rows->output;
    switch (below(4)) {
      case 0: return filter(std::move(rows), some_condition(types));
      case 1: {
        std::vector<ExpressionPtr> columns;
        columns.push_back(column(0, types[0]));
        columns.push_back(column(1, types[1]));
        for (uint64_t i = 1 + below(4); i != 0; --i) {
          const auto c = static_cast<uint32_t>(below(types.size()));
          columns.push_back(column(c, types[c]));
        }
        columns.push_back(make(ExpressionKind::kNegate, kIntType, column(0, types[0])));
        return project(std::move(rows), std::move(columns));
      }
      default: {
        static constexpr JoinKind kKinds[] = {JoinKind::kInner, JoinKind::kLeft, JoinKind::kSemi,
                                              JoinKind::kAnti, JoinKind::kMark};
        return join(kKinds[below(std::size(kKinds))], std::move(rows),
                    scan(base::TableId(1), kOperatorTypes), {{1, 0}});
      }
    }
  }

  // Rows of the large table by another key.
  Plan rows_by_another_key() {
    OperatorPtr op =
        over(OperatorKind::kSort, scan(base::TableId(0), kOperatorTypes), kOperatorTypes);
    op->sort_keys.push_back({static_cast<uint32_t>(below(kColumns)), below(2) == 0, false});
    op->sort_keys.push_back({0, false, false});
    op->limit = 1 + below(30);
    return plan_of(std::move(op));
  }

  std::mt19937_64 random_;
  TestReplica replica_;
  NaiveTables tables_;
};

TEST_P(TopBoundModel, TheBestRowsAreThose) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    OperatorPtr rows = scan(base::TableId(0), kOperatorTypes);
    if (below(2) == 0) rows->predicates.push_back(some_condition(kOperatorTypes));
    for (uint64_t i = below(3); i != 0; --i) rows = something_over(std::move(rows));
    const std::vector<DataType> types = rows->output;
    OperatorPtr op = over(OperatorKind::kSort, std::move(rows), types);
    for (uint64_t i = 1 + below(2); i != 0; --i) {
      const auto c = static_cast<uint32_t>(below(types.size()));
      op->sort_keys.push_back({c, below(2) == 0, below(2) == 0});
    }
    op->sort_keys.push_back({0, below(2) == 0, false});  // unique: the order is determined
    op->limit = below(3) == 0 ? 1 + below(3000) : 1 + below(20);
    if (below(3) == 0) op->offset = below(40);
    const Plan plan = plan_of(std::move(op));
    const std::vector<std::string> expected = lines(naive_execute(*plan.root, tables_), false);
    for (const uint32_t threads : {1, 3}) {
      const auto result = run(plan, replica_.replica(), threads);
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      ASSERT_EQ(lines(result->rows, false), expected) << threads << " threads";
    }
    // Two scan together, each with a bound of its own.
    Executor executor(placement(3));
    const StopFlag stop{false};
    const Plan other = rows_by_another_key();
    const Plan* const both[] = {&plan, &other};
    const auto results = executor.run_batch(both, replica_.replica(), stop);
    ASSERT_TRUE(results[0].ok()) << results[0].error().to_string();
    ASSERT_EQ(lines(results[0]->rows, false), expected) << "beside another";
    ASSERT_TRUE(results[1].ok()) << results[1].error().to_string();
    ASSERT_EQ(lines(results[1]->rows, false), lines(naive_execute(*other.root, tables_), false))
        << "beside the first";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TopBoundModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 5 : 17}));

// Rows (i, i % 1000 as a text, i, null where i % 1024 is 0).
class TopBoundTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr int64_t kRows = 200'000;
  inline static const std::vector<DataType> kTypes = {kIntType, kTextType, kDoubleType, kIntType};

  TopBoundTest() : replica_(storage::StorageOptions{.partitions = 1, .block_rows = 16 * 1024}) {
    replica_.add_table(kTypes);
    for (int64_t i = 0; i < kRows; ++i) {
      replica_.insert(base::TableId(0),
                      {number(i), text("text " + std::to_string(i % 1000)), static_cast<double>(i),
                       i % 1024 == 0 ? kNull : number(i)});
    }
    replica_.compact();
  }

  static OperatorPtr rows() { return scan(base::TableId(0), kTypes); }
  static OperatorPtr best_of(OperatorPtr rows, SortKey key, uint64_t limit = 10) {
    const std::vector<DataType> types = rows->output;
    OperatorPtr op = over(OperatorKind::kSort, std::move(rows), types);
    op->sort_keys = {key};
    op->limit = limit;
    return op;
  }

  // Rows that the sort is given.
  uint64_t sorted_rows_of(OperatorPtr sort) const {
    Plan plan = plan_of(std::move(sort));
    plan.is_analyzed = true;
    plan.format = ExplainFormat::kJson;
    add_lines(*plan.root, 0, &plan.lines);
    const auto report = run(plan, replica_.replica(), GetParam());
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    std::string text;
    if (report.ok()) {
      for (const auto& row : report->rows) text += std::get<std::string>(row[0]);
    }
    const std::string_view name = "\"actual_rows\": ";
    const size_t sort_at = text.find(name);
    const size_t below_at = text.find(name, sort_at + 1);
    if (below_at == std::string::npos) ADD_FAILURE() << text;
    return below_at == std::string::npos ? 0 : std::stoull(text.substr(below_at + name.size()));
  }

  // A first morsel a worker, one that it may take before somebody has a bound, and few more.
  static uint64_t few() { return GetParam() * 2 * kMorselRows + 2000; }

  TestReplica replica_;
};

TEST_P(TopBoundTest, WorseRowsAreNotReadOn) {
  for (const bool descending : {false, true}) {
    for (const uint32_t c : {0, 1, 2}) {
      EXPECT_LT(sorted_rows_of(best_of(rows(), {c, descending, false})), few()) << c << descending;
    }
    // NULLs come last.
    EXPECT_LT(sorted_rows_of(best_of(rows(), {3, descending, false})), few()) << descending;
  }
}

TEST_P(TopBoundTest, TheBestLeavesGoFirst) {
  EXPECT_LT(sorted_rows_of(best_of(rows(), {0, true, false})), few());
  EXPECT_LT(sorted_rows_of(best_of(rows(), {2, false, true})), few());
}

TEST_P(TopBoundTest, WhereNullsComeFirstLeavesThatHaveSomeAreRead) {
  EXPECT_EQ(sorted_rows_of(best_of(rows(), {3, true, true}, 5000)), uint64_t{kRows});
  // Once all of the best are NULL, nothing else is wanted.
  EXPECT_LT(sorted_rows_of(best_of(rows(), {3, true, true})), few());
}

TEST_P(TopBoundTest, AKeyThatIsComputedBoundsNothing) {
  std::vector<ExpressionPtr> negated;
  negated.push_back(make(ExpressionKind::kNegate, kIntType, column(0, kIntType)));
  EXPECT_EQ(sorted_rows_of(best_of(project(rows(), std::move(negated)), {0, false, false})),
            uint64_t{kRows});
}

// What a scan finds for another one is all that it may want, not only the best.
TEST_P(TopBoundTest, AnotherScanLooksAtMoreThanTheBest) {
  const base::TableId evens = replica_.add_table({kIntType});
  for (int64_t i = 0; i < kRows; i += 2) replica_.insert(evens, {number(i)});
  const auto even_rows = [&] {
    return join(JoinKind::kSemi, rows(), scan(evens, {kIntType}), {{0, 0}});
  };
  std::vector<ExpressionPtr> numbers;
  numbers.push_back(column(0, kIntType));
  std::vector<Aggregate> count;
  count.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  OperatorPtr both =
      over(OperatorKind::kAppend,
           project(best_of(even_rows(), {0, false, false}, 2), std::move(numbers)), {kIntType});
  OperatorPtr counted = aggregate(even_rows(), {}, std::move(count));
  std::vector<ExpressionPtr> as_int;
  as_int.push_back(make(ExpressionKind::kCast, kIntType, column(0, kBigIntType)));
  both->children.push_back(project(std::move(counted), std::move(as_int)));
  const auto result = run(plan_of(std::move(both)), replica_.replica(), GetParam());
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(lines(result->rows, false), (std::vector<std::string>{"0|", "2|", "100000|"}));
}

INSTANTIATE_TEST_SUITE_P(Threads, TopBoundTest, ::testing::Values(1U, 3U));

}  // namespace
}  // namespace diptych::olap::test
