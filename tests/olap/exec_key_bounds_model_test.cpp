// Joins with an order between a column of each side, which key_bounds.h answers key by key: random
// plans against the naive reference, and values at the ends of their type.

#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

constexpr ExpressionKind kOrders[] = {ExpressionKind::kLess, ExpressionKind::kLessEqual,
                                      ExpressionKind::kGreater, ExpressionKind::kGreaterEqual};
constexpr uint32_t kJoinKinds = 7;

// The sides' columns, in either order.
ExpressionPtr order_of(ExpressionKind kind, uint32_t a, uint32_t b, const DataType& type) {
  return make(kind, kBooleanType, column(a, type), column(b, type));
}

class KeyBoundsModel : public OperatorModel {};

TEST_P(KeyBoundsModel, JoinsThatCompareTheirSidesAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (uint32_t kind = 0; kind < kJoinKinds; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    static constexpr uint32_t kKeys[] = {1, 2, 3, 6};  // with equal ones; of integers and texts
    const uint32_t key = kKeys[below(4)];
    const auto [probe, build] = two_of(4);
    OperatorPtr op =
        join(static_cast<JoinKind>(kind), scan_of(probe), scan_of(build), {{key, key}});
    const auto probe_columns = static_cast<uint32_t>(op->children[0]->output.size());
    for (uint64_t i = 1 + below(2); i != 0; --i) {
      static constexpr uint32_t kCompared[] = {0, 1, 2, 4, 6};
      const uint32_t compared = kCompared[below(5)];
      uint32_t sides[] = {compared, probe_columns + compared};
      if (below(2) == 0) std::swap(sides[0], sides[1]);
      op->predicates.push_back(
          order_of(kOrders[below(4)], sides[0], sides[1], kOperatorTypes[compared]));
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeyBoundsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 3 : 25}));

// Keys with one value, several and none but nulls; of the type's ends each is compared with each.
TEST(KeyBounds, ValuesAtTheEndsOfTheirType) {
  const std::vector<DataType> types = {kIntType, kBigIntType};
  const std::vector<Value> values = {
      kNull,     number(INT64_MIN),     number(INT64_MIN + 1), number(-1),
      number(0), number(INT64_MAX - 1), number(INT64_MAX),
  };
  TestReplica replica;
  NaiveTables tables(2);
  for (uint32_t t = 0; t < 2; ++t) replica.add_table(types);
  const auto insert = [&](uint32_t t, int64_t key, const Value& value) {
    tables[t].push_back({number(key), value});
    replica.insert(base::TableId(t), tables[t].back());
  };
  int64_t key = 0;
  for (const Value& a : values) {
    for (const Value& b : values) {
      insert(1, key, a);
      insert(1, key, b);
      for (const Value& probe : values) insert(0, key, probe);
      ++key;
    }
  }
  for (uint32_t kind = 0; kind < kJoinKinds; ++kind) {
    for (const ExpressionKind order : kOrders) {
      OperatorPtr op = join(static_cast<JoinKind>(kind), scan(base::TableId(0), types),
                            scan(base::TableId(1), types), {{0, 0}});
      op->predicates.push_back(order_of(order, 1, 3, kBigIntType));
      const std::vector<Row> expected = naive_execute(*op, tables);
      const Plan plan = plan_of(std::move(op));
      const auto result = run(plan, replica.replica(), 1);
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      EXPECT_EQ(lines(result->rows, true), lines(expected, true))
          << "join " << kind << ", order " << static_cast<int>(order);
    }
  }
}

}  // namespace
}  // namespace diptych::olap::test
