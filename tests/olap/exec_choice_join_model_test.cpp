// Joins on an OR of equalities, against the naive reference: branches of one equality and more, and
// with further conditions, by columns of every type and by computed values.

#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

class ChoiceJoinModel : public OperatorModel {
 protected:
  // A column of one side, or, of BIGINT, some further on.
  ExpressionPtr value_of(uint32_t side, uint32_t c) {
    ExpressionPtr value = column(side * kColumns + c, kOperatorTypes[c]);
    if (c != 2 || below(2) == 0) return value;
    return make(ExpressionKind::kAdd, kBigIntType, std::move(value),
                literal(kBigIntType, number(static_cast<int64_t>(below(3)))));
  }
  ExpressionPtr random_comparison(ExpressionKind kind) {
    const auto c = static_cast<uint32_t>(1 + below(kColumns - 1));
    const auto first = static_cast<uint32_t>(below(2));
    return make(kind, kBooleanType, value_of(first, c), value_of(1 - first, c));
  }
  ExpressionPtr random_branch() {
    ExpressionPtr branch = random_comparison(ExpressionKind::kEqual);
    for (uint64_t i = below(3); i != 0; --i) {
      const ExpressionKind kind =
          below(2) == 0 ? ExpressionKind::kEqual : ExpressionKind::kLessEqual;
      branch = make(ExpressionKind::kAnd, kBooleanType, std::move(branch), random_comparison(kind));
    }
    return branch;
  }
  OperatorPtr random_choice_join(JoinKind kind) {
    const auto [probe, build] = two_of(4);
    OperatorPtr op = join(kind, scan_of(probe), scan_of(build), {});
    ExpressionPtr any = random_branch();
    for (uint64_t i = 1 + below(3); i != 0; --i) {
      any = make(ExpressionKind::kOr, kBooleanType, std::move(any), random_branch());
    }
    op->predicates.push_back(std::move(any));
    if (below(3) == 0) op->predicates.push_back(random_comparison(ExpressionKind::kGreaterEqual));
    return op;
  }
};

TEST_P(ChoiceJoinModel, JoinsOfEveryKindAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (uint32_t kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    expect_same(plan_of(random_choice_join(static_cast<JoinKind>(kind))));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChoiceJoinModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 41}));

}  // namespace
}  // namespace diptych::olap::test
