// Joins whose comparisons bound values of the build side, against the naive reference: of all build
// rows, and of a key's, by columns of every type and by computed values.

#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

class RangeJoinModel : public OperatorModel {
 protected:
  static constexpr size_t kPairsMax = 400'000;

  ExpressionKind random_order() {
    static constexpr ExpressionKind kOrders[] = {ExpressionKind::kLess, ExpressionKind::kLessEqual,
                                                 ExpressionKind::kGreater,
                                                 ExpressionKind::kGreaterEqual};
    return kOrders[below(4)];
  }
  // A column of one side, or, of BIGINT, one further on.
  ExpressionPtr value_of(uint32_t side, uint32_t c) {
    ExpressionPtr value = column(side * kColumns + c, kOperatorTypes[c]);
    if (c != 2 || below(2) == 0) return value;
    return make(ExpressionKind::kAdd, kBigIntType, std::move(value),
                literal(kBigIntType, number(static_cast<int64_t>(below(30)))));
  }
  ExpressionPtr random_comparison() {
    const auto c = static_cast<uint32_t>(below(3) == 0 ? 2 : 2 + below(kColumns - 2));
    const auto first = static_cast<uint32_t>(below(2));
    return make(random_order(), kBooleanType, value_of(first, c), value_of(1 - first, c));
  }
  OperatorPtr random_range_join(JoinKind kind) {
    const auto [probe, build] = two_of(4);
    std::vector<std::pair<uint32_t, uint32_t>> keys;
    if (below(2) == 0) keys.emplace_back(below(2) == 0 ? 1 : 7, 0);
    for (auto& [a, b] : keys) b = a;
    OperatorPtr op = join(kind, scan_of(probe), scan_of(build), std::move(keys));
    for (uint64_t i = 1 + below(3); i != 0; --i) op->predicates.push_back(random_comparison());
    return op;
  }
};

TEST_P(RangeJoinModel, JoinsOfEveryKindAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (uint32_t kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    expect_same(plan_of(random_range_join(static_cast<JoinKind>(kind))));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RangeJoinModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 41}));

}  // namespace
}  // namespace diptych::olap::test
