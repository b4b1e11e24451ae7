// Joins in which a few probe rows have many build rows each, against the naive reference: such a
// row is repeated beside vectors of them.

#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

class FewProbeRowsModel : public OperatorModel {
 protected:
  // A few rows of a table; of its first column's values, each row has another.
  OperatorPtr few_of(uint32_t table) {
    OperatorPtr few = scan(base::TableId(table), kOperatorTypes);
    few->predicates.push_back(make(ExpressionKind::kLess, kBooleanType, column(0, kIntType),
                                   literal(kIntType, number(static_cast<int64_t>(1 + below(20))))));
    return few;
  }
  // By a column of two values, or of a few.
  OperatorPtr random_few_join(JoinKind kind) {
    const uint32_t key = below(3) == 0 ? 1 : 7;
    OperatorPtr op = join(kind, few_of(static_cast<uint32_t>(below(4))),
                          scan_of(static_cast<uint32_t>(below(2))), {{key, key}});
    if (below(2) == 0) {
      op->predicates.push_back(
          make(below(2) == 0 ? ExpressionKind::kLessEqual : ExpressionKind::kEqual, kBooleanType,
               column(2, kBigIntType), column(kColumns + 2, kBigIntType)));
    }
    return op;
  }
};

TEST_P(FewProbeRowsModel, JoinsOfEveryKindAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (uint32_t kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    expect_same(plan_of(random_few_join(static_cast<JoinKind>(kind))));
    if (HasFatalFailure()) return;
  }
}

// Of the rows below a second join, and in groups by what the build side of the first one has.
TEST_P(FewProbeRowsModel, WhatIsAboveThemAgrees) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    OperatorPtr first = join(JoinKind::kInner, few_of(3), scan_of(2), {{1, 1}});
    OperatorPtr op = join(below(2) == 0 ? JoinKind::kInner : JoinKind::kLeft, std::move(first),
                          scan_of(static_cast<uint32_t>(below(2))), {{7, 7}});
    std::vector<ExpressionPtr> keys;
    const auto key = static_cast<uint32_t>(below(3) * kColumns + 1 + below(kColumns - 1));
    keys.push_back(column(key, kOperatorTypes[key % kColumns]));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    const auto summed = static_cast<uint32_t>(below(3) * kColumns + 4);
    aggregates.push_back(aggregate_of(AggregateKind::kSum, column(summed, kOperatorTypes[4])));
    expect_same(plan_of(aggregate(std::move(op), std::move(keys), std::move(aggregates))));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FewProbeRowsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 7 : 25}));

}  // namespace
}  // namespace diptych::olap::test
