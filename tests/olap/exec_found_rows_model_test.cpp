// Scans that look at rows which an earlier one found: scans of a table with conditions that often
// imply each other's, against the naive reference; when they may do so, and when not.

#include "tests/olap/analyzed_plan.h"
#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

constexpr const char* kSaysSo = "only rows that an earlier scan found";

// What EXPLAIN ANALYZE says of the plan.
std::string report_of(Plan* plan, const storage::Replica& replica, uint32_t threads) {
  plan->is_analyzed = true;
  add_lines(*plan->root, 0, &plan->lines);
  const auto report = run(*plan, replica, threads);
  std::string text = report.ok() ? "" : report.error().to_string();
  if (!report.ok()) return text;
  for (const auto& row : report->rows) text += std::get<std::string>(row[0]) + "\n";
  return text;
}

class FoundRowsModel : public OperatorModel {
 protected:
  static ExpressionPtr compare(ExpressionKind kind, uint32_t c, int64_t value) {
    return make(kind, kBooleanType, column(c, kOperatorTypes[c]),
                literal(kOperatorTypes[c], number(value)));
  }

  // A scan with some of a few conditions, so that two often have the same or implied ones.
  OperatorPtr scan_where(uint32_t t) {
    OperatorPtr op = scan(base::TableId(t), kOperatorTypes);
    const auto add = [&](ExpressionPtr condition) {
      op->predicates.push_back(std::move(condition));
    };
    if (below(3) == 0) {
      add(compare(below(3) == 0 ? ExpressionKind::kGreater : ExpressionKind::kLess, 2,
                  static_cast<int64_t>(below(3)) * 6));
    }
    if (below(3) == 0) {
      add(compare(ExpressionKind::kGreaterEqual, 1, static_cast<int64_t>(below(3))));
    }
    if (below(3) == 0) {
      add(make(ExpressionKind::kLess, kBooleanType, column(3, kTextType),
               literal(kTextType, text("k4"))));
    }
    if (below(4) == 0) {  // which codes do not answer
      add(make(ExpressionKind::kLess, kBooleanType, column(1, kIntType), column(0, kIntType)));
    }
    op->estimated_rows = below(2) == 0 ? 0 : 1e6;  // for sets of the columns of hashed keys
    return op;
  }

  // The scan's rows that join some of table 3, by column `key`, and some of them by another, too.
  OperatorPtr some_of(OperatorPtr rows, uint32_t key) {
    OperatorPtr items = scan(base::TableId(3), kOperatorTypes);
    items->predicates.push_back(
        compare(below(2) == 0 ? ExpressionKind::kLess : ExpressionKind::kGreater,
                below(2) == 0 ? 0 : 2, static_cast<int64_t>(below(60))));
    std::vector<std::pair<uint32_t, uint32_t>> keys = {{key, key}};
    if (below(4) == 0) keys.emplace_back(6, 6);
    return join(below(2) == 0 ? JoinKind::kSemi : JoinKind::kInner, std::move(rows),
                std::move(items), std::move(keys));
  }

  // count(*) and the least of column 2, by column `key`.
  static OperatorPtr groups(OperatorPtr rows, uint32_t key) {
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(key, kOperatorTypes[key]));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    aggregates.push_back(aggregate_of(AggregateKind::kMin, column(2, kBigIntType)));
    return aggregate(std::move(rows), std::move(keys), std::move(aggregates));
  }

  // A scan joined with groups of another.
  OperatorPtr joined_with_groups() {
    static constexpr JoinKind kKinds[] = {JoinKind::kInner, JoinKind::kSemi, JoinKind::kBuildSemi,
                                          JoinKind::kBuildAnti, JoinKind::kLeft};
    const auto t = static_cast<uint32_t>(below(2));
    const uint32_t key = 1 + static_cast<uint32_t>(below(4) == 0);
    OperatorPtr first = scan_where(t);
    if (below(4) != 0) first = some_of(std::move(first), key);
    OperatorPtr second = scan_where(t);
    if (below(3) == 0) second = some_of(std::move(second), key);
    const JoinKind kind = kKinds[below(std::size(kKinds))];
    const auto columns = static_cast<uint32_t>(second->output.size());
    OperatorPtr op = join(kind, std::move(second), groups(std::move(first), key), {{key, 0}});
    if (below(2) == 0) {  // than the least of the group
      op->predicates.push_back(make(ExpressionKind::kGreater, kBooleanType, column(2, kBigIntType),
                                    column(columns + 2, kBigIntType)));
    }
    return op;
  }
};

TEST_P(FoundRowsModel, RowsThatAnEarlierScanFoundAreEnough) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    expect_same(plan_of(joined_with_groups()));
    if (HasFatalFailure()) return;
  }
}

// Of which each may find rows for any that comes later.
TEST_P(FoundRowsModel, AnyNumberOfScansAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto t = static_cast<uint32_t>(below(2));
    const uint32_t key = 1 + static_cast<uint32_t>(below(3) == 0);
    const auto one = [&] {
      OperatorPtr rows = scan_where(t);
      return groups(below(4) == 0 ? std::move(rows) : some_of(std::move(rows), key), key);
    };
    OperatorPtr all = one();
    std::vector<DataType> output = all->output;
    all = over(OperatorKind::kAppend, std::move(all), std::move(output));
    for (uint64_t more = 1 + below(4); more != 0; --more) all->children.push_back(one());
    expect_same(plan_of(std::move(all)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FoundRowsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 41}));

// Rows (i, i % 100, i % 7, null where i % 5 is 0).
class FoundRowsTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr int64_t kRows = 20'000;
  inline static const std::vector<DataType> kTypes = {kIntType, kIntType, kIntType, kIntType};

  FoundRowsTest() : replica_(storage::StorageOptions{.partitions = 1, .block_rows = 1024}) {
    replica_.add_table(kTypes);
    replica_.add_table({kIntType});
    for (int64_t i = 0; i < kRows; ++i) {
      replica_.insert(base::TableId(0),
                      {number(i), number(i % 100), number(i % 7), i % 5 == 0 ? kNull : number(i)});
    }
    replica_.compact();
    for (const int64_t key : {3, 14, 15, 92}) replica_.insert(base::TableId(1), {number(key)});
  }

  static OperatorPtr rows() { return scan(base::TableId(0), kTypes); }
  static OperatorPtr rows_where(ExpressionPtr condition) {
    OperatorPtr op = rows();
    op->predicates.push_back(std::move(condition));
    return op;
  }
  static ExpressionPtr compare(ExpressionKind kind, uint32_t c, int64_t value) {
    return make(kind, kBooleanType, column(c, kIntType), literal(kIntType, number(value)));
  }
  static OperatorPtr of_some_keys(OperatorPtr rows) {
    return join(JoinKind::kSemi, std::move(rows), scan(base::TableId(1), {kIntType}), {{1, 0}});
  }
  // count(*) by column 1.
  static OperatorPtr counts(OperatorPtr rows) {
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(1, kIntType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return aggregate(std::move(rows), std::move(keys), std::move(aggregates));
  }

  // Of a plan of so many rows.
  bool looks_within(OperatorPtr root, size_t rows) {
    Plan plan = plan_of(std::move(root));
    const auto result = run(plan, replica_.replica(), GetParam());
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    if (result.ok()) {
      EXPECT_EQ(result->rows.size(), rows);
    }
    return report_of(&plan, replica_.replica(), GetParam()).find(kSaysSo) != std::string::npos;
  }

  TestReplica replica_;
};

TEST_P(FoundRowsTest, OfTheKeysOfGroupsAreLookedAtAgain) {
  EXPECT_TRUE(
      looks_within(join(JoinKind::kInner, rows(), counts(of_some_keys(rows())), {{1, 0}}), 800));
  // Whose first scan had all rows, or others.
  EXPECT_FALSE(looks_within(join(JoinKind::kInner, rows(), counts(rows()), {{1, 0}}), kRows));
  EXPECT_FALSE(looks_within(
      join(JoinKind::kInner, rows(),
           counts(of_some_keys(rows_where(compare(ExpressionKind::kEqual, 2, 1)))), {{1, 0}}),
      800));
}

TEST_P(FoundRowsTest, AnEqualOrWiderConditionIsKnown) {
  const auto below = [](int64_t bound) { return compare(ExpressionKind::kLess, 3, bound); };
  const auto plan = [&](int64_t first, int64_t second) {
    return join(JoinKind::kInner, rows_where(below(second)),
                counts(of_some_keys(rows_where(below(first)))), {{1, 0}});
  };
  EXPECT_TRUE(looks_within(plan(10'000, 10'000), 300));
  EXPECT_TRUE(looks_within(plan(10'000, 5'000), 150));
  EXPECT_FALSE(looks_within(plan(5'000, 10'000), 300));
}

TEST_P(FoundRowsTest, KeysThatTheFirstScanDidNotAskForAreLookedForEverywhere) {
  const auto of_keys_below = [](int64_t bound) {
    OperatorPtr keys = scan(base::TableId(1), {kIntType});
    keys->predicates.push_back(compare(ExpressionKind::kLess, 0, bound));
    return counts(join(JoinKind::kSemi, rows(), std::move(keys), {{1, 0}}));
  };
  const auto both = [&](int64_t first, int64_t second) {
    OperatorPtr op = over(OperatorKind::kAppend, of_keys_below(first), {kIntType, kBigIntType});
    op->children.push_back(of_keys_below(second));
    return op;
  };
  EXPECT_TRUE(looks_within(both(100, 15), 4 + 2));
  EXPECT_TRUE(looks_within(both(50, 49), 3 + 3));
  EXPECT_FALSE(looks_within(both(15, 100), 2 + 4));
}

// The first scan's join has a hash table, so that leaves alone are skipped by its keys: what is
// found is not within their bounds.
TEST_P(FoundRowsTest, WhatAJoinWantsIsNotKnownOfRows) {
  const base::TableId sparse = replica_.add_table({kIntType});
  for (const int64_t key : {3, 14, 1'000'000'000}) replica_.insert(sparse, {number(key)});
  const base::TableId keys = replica_.add_table({kIntType});
  for (const int64_t key : {1, 14}) replica_.insert(keys, {number(key)});
  OperatorPtr op = over(OperatorKind::kAppend,
                        counts(join(JoinKind::kSemi, rows(), scan(sparse, {kIntType}), {{1, 0}})),
                        {kIntType, kBigIntType});
  op->children.push_back(
      counts(join(JoinKind::kSemi, rows_where(compare(ExpressionKind::kGreaterEqual, 1, 3)),
                  scan(keys, {kIntType}), {{1, 0}})));
  EXPECT_TRUE(looks_within(std::move(op), 2 + 1));
}

// Keys of two columns, which are hashed because of a pair that lies far apart: the first scan asks
// for the values of column 1.
TEST_P(FoundRowsTest, ValuesOfAKeysColumnAreThoseThatTheFirstScanAskedFor) {
  const auto of_pairs = [&](std::initializer_list<int64_t> keys) {
    const base::TableId pairs = replica_.add_table({kIntType, kIntType});
    for (const int64_t key : keys) replica_.insert(pairs, {number(key), number(key)});
    replica_.insert(pairs, {number(50), number(1'000'000'000)});
    OperatorPtr probe = rows();
    probe->estimated_rows = kRows;
    return counts(join(JoinKind::kSemi, std::move(probe), scan(pairs, {kIntType, kIntType}),
                       {{1, 0}, {0, 1}}));
  };
  const auto both = [&](OperatorPtr first, OperatorPtr second) {
    OperatorPtr op = over(OperatorKind::kAppend, std::move(first), {kIntType, kBigIntType});
    op->children.push_back(std::move(second));
    return op;
  };
  EXPECT_TRUE(looks_within(both(of_pairs({3, 14, 92}), of_pairs({14, 92})), 3 + 2));
  EXPECT_FALSE(looks_within(both(of_pairs({3, 14, 92}), of_pairs({14, 15})), 3 + 2));
}

TEST_P(FoundRowsTest, OfAScanThatWasCutShortAreNotAll) {
  OperatorPtr first = over(OperatorKind::kLimit, of_some_keys(rows()), kTypes);
  first->limit = 5;
  OperatorPtr apart =
      over(OperatorKind::kAppend, counts(std::move(first)), {kIntType, kBigIntType});
  apart->children.push_back(counts(of_some_keys(rows())));
  Plan plan = plan_of(std::move(apart));
  const auto result = run(plan, replica_.replica(), GetParam());
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  int64_t all = 0;
  for (const auto& row : result->rows) all += std::get<int64_t>(row[1]);
  EXPECT_EQ(all, 805);
  EXPECT_EQ(report_of(&plan, replica_.replica(), GetParam()).find(kSaysSo), std::string::npos);
}

// 7 / c2 fails where c2 is 0: in rows of all keys, but not in those of the first scan.
TEST_P(FoundRowsTest, AConditionThatMayFailIsAskedOfAllRows) {
  OperatorPtr first = rows_where(compare(ExpressionKind::kGreater, 2, 0));
  OperatorPtr second = rows_where(compare(ExpressionKind::kGreaterEqual, 2, 0));
  const auto quotient = [] {
    return make(
        ExpressionKind::kGreater, kBooleanType,
        make(ExpressionKind::kDivide, kIntType, literal(kIntType, number(7)), column(2, kIntType)),
        literal(kIntType, number(0)));
  };
  second->predicates.push_back(quotient());
  OperatorPtr op =
      join(JoinKind::kInner, std::move(second), counts(of_some_keys(std::move(first))), {{1, 0}});
  op->predicates.push_back(compare(ExpressionKind::kGreater, 2, 0));
  const auto result = run(plan_of(std::move(op)), replica_.replica(), GetParam());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "division by zero");
}

INSTANTIATE_TEST_SUITE_P(Threads, FoundRowsTest, ::testing::Values(1U, 3U));

}  // namespace
}  // namespace diptych::olap::test
