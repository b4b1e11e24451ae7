// Columns that are gathered late, groups that are build rows, and tables that refer to others,
// against the naive reference.

#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

using LateColumnsModel = OperatorModel;

// A build row is a group of its own, by the column that is unique; HAVING, joins and equal groups
// read the keys.
TEST_P(LateColumnsModel, GroupsThatAreBuildRowsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<uint32_t> key_columns = {kColumns};
    while (below(4) != 0) key_columns.push_back(kColumns + static_cast<uint32_t>(below(kColumns)));
    const auto type_of = [](uint32_t c) { return kOperatorTypes[c - kColumns]; };
    const uint64_t computed = below(4);  // keys
    const auto probe = static_cast<uint32_t>(below(2));
    const auto groups = [&] {
      OperatorPtr rows =
          join(JoinKind::kInner, scan(base::TableId(probe), kOperatorTypes), scan_of(2), {{1, 0}});
      rows->estimated_rows = 2000;
      std::vector<ExpressionPtr> keys;
      for (const uint32_t c : key_columns) keys.push_back(column(c, type_of(c)));
      if (computed == 1) {
        keys.push_back(make(ExpressionKind::kConcat, kTextType, column(kColumns + 3, kTextType),
                            literal(kTextType, text("-suffix of a key"))));
      } else if (computed == 2) {
        keys.push_back(
            make(ExpressionKind::kNegate, kBigIntType, column(kColumns + 2, kBigIntType)));
      }
      std::vector<Aggregate> aggregates;
      aggregates.push_back(aggregate_of(AggregateKind::kSum, column(2, kBigIntType)));
      aggregates.push_back(aggregate_of(AggregateKind::kCountDistinct, column(3, kTextType)));
      return aggregate(std::move(rows), std::move(keys), std::move(aggregates));
    };
    OperatorPtr rows = groups();
    const auto counts = static_cast<uint32_t>(rows->output.size() - 1);
    if (below(2) == 0) {
      rows = filter(std::move(rows),
                    make(ExpressionKind::kGreater, kBooleanType, column(counts, kBigIntType),
                         literal(kBigIntType, number(static_cast<int64_t>(below(4))))));
    }
    switch (below(4)) {
      case 0: rows = join(JoinKind::kLeft, std::move(rows), scan_of(2), {{0, 1}}); break;
      case 1: rows = join(JoinKind::kInner, std::move(rows), groups(), {{0, 0}}); break;
      case 2:
        rows = join(JoinKind::kInner, scan_of(3), std::move(rows), {{1, 0}});
        rows = filter(std::move(rows), make(ExpressionKind::kLess, kBooleanType,
                                            column(1, kIntType), literal(kIntType, number(20))));
        break;
      default: break;
    }
    expect_same(plan_of(std::move(rows)));
    if (HasFatalFailure()) return;
  }
}

// Without estimates every build column is late that something above the next operator reads first:
// filters, residual predicates, keys, what collects rows.
TEST_P(LateColumnsModel, ColumnsReadBehindOtherOperatorsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    constexpr JoinKind kKinds[] = {JoinKind::kInner, JoinKind::kLeft, JoinKind::kSemi,
                                   JoinKind::kAnti, JoinKind::kMark};
    const auto first = static_cast<uint32_t>(below(2));
    const int joins_max = tables_[first].size() > 1000 ? 2 : 3;
    OperatorPtr rows = scan_of(first);
    std::vector<uint32_t> sides = {0};  // where the columns of each table begin
    for (int joins = 0; joins < joins_max; ++joins) {
      const auto begin = static_cast<uint32_t>(rows->output.size());
      const JoinKind kind = kKinds[below(joins == 0 ? 2 : 5)];
      const uint32_t side = sides[below(sides.size())];
      const auto key = static_cast<uint32_t>(below(2));
      rows = join(kind, std::move(rows), scan_of(2), {{side + key, key}});
      if (below(2) == 0) {
        rows->predicates.push_back(make(ExpressionKind::kLessEqual, kBooleanType,
                                        column(sides[below(sides.size())] + 2, kBigIntType),
                                        column(begin + 2, kBigIntType)));
      }
      if (kind == JoinKind::kInner || kind == JoinKind::kLeft) sides.push_back(begin);
      if (below(3) == 0) {
        const uint32_t other = sides[below(sides.size())];
        rows = filter(std::move(rows),
                      make(ExpressionKind::kLessEqual, kBooleanType, column(other + 1, kIntType),
                           literal(kIntType, number(static_cast<int64_t>(below(20))))));
      }
    }
    if (below(2) == 0) {
      expect_same(plan_of(std::move(rows)));
    } else {
      std::vector<ExpressionPtr> keys;
      keys.push_back(column(sides.back() + 3, kTextType));
      std::vector<Aggregate> aggregates;
      for (const uint32_t side : sides) {
        aggregates.push_back(aggregate_of(AggregateKind::kSum, column(side + 2, kBigIntType)));
        aggregates.push_back(aggregate_of(AggregateKind::kMax, column(side + 3, kTextType)));
      }
      expect_same(plan_of(aggregate(std::move(rows), std::move(keys), std::move(aggregates))));
    }
    if (HasFatalFailure()) return;
  }
}

// Tables that refer to rows of tables in their own build side, twice over: for columns that are
// read late, and for the keys of groups.
TEST_P(LateColumnsModel, TablesThatReferToOthersAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto inner_or_left = [this] {
      return below(4) == 0 ? JoinKind::kLeft : JoinKind::kInner;
    };
    const auto key = [this] { return static_cast<uint32_t>(below(2)); };
    const auto probe = static_cast<uint32_t>(below(2));
    const bool is_large = tables_[probe].size() > 1000;
    OperatorPtr build = scan_of(2);
    for (uint64_t joins = 1 + below(is_large ? 1 : 2); joins != 0; --joins) {
      const uint32_t other = key();
      OperatorPtr rows = scan_of(2);
      build = below(4) == 0
                  ? join(inner_or_left(), std::move(rows), std::move(build), {{1, other}})
                  : join(inner_or_left(), std::move(build), std::move(rows), {{1, other}});
      if (below(4) == 0) {
        build->predicates.push_back(make(ExpressionKind::kLessEqual, kBooleanType,
                                         column(2, kBigIntType),
                                         column(kColumns + 2, kBigIntType)));
      }
    }
    const auto sides = static_cast<uint32_t>(build->output.size() / kColumns);
    const auto side = [&] { return kColumns * (1 + static_cast<uint32_t>(below(sides))); };
    OperatorPtr rows = join(inner_or_left(), scan_of(probe), std::move(build), {{1, key()}});
    rows->estimated_rows = 2000;
    if (below(2) == 0) {
      rows = filter(std::move(rows),
                    make(ExpressionKind::kLess, kBooleanType, column(2, kBigIntType),
                         literal(kBigIntType, number(static_cast<int64_t>(below(30))))));
    }
    if (below(3) == 0) {
      expect_same(plan_of(std::move(rows)));
    } else {
      std::vector<ExpressionPtr> keys;
      const uint32_t from = side();
      keys.push_back(column(from + 3, kTextType));
      keys.push_back(column(from + 2, kBigIntType));
      if (below(2) == 0) keys.push_back(column(from + key(), kIntType));
      if (below(3) != 0) keys.push_back(column(side() + 3, kTextType));
      std::vector<Aggregate> aggregates;
      aggregates.push_back(aggregate_of(AggregateKind::kSum, column(2, kBigIntType)));
      aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
      if (below(2) == 0) {
        aggregates.push_back(aggregate_of(AggregateKind::kMax, column(side() + 3, kTextType)));
      }
      expect_same(plan_of(aggregate(std::move(rows), std::move(keys), std::move(aggregates))));
    }
    if (HasFatalFailure()) return;
  }
}

// The keys of a group are of two tables, or of one, that the build side refers to.
TEST_P(LateColumnsModel, GroupsByTablesThatAreReferredToAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (const uint32_t other : {2, 3}) {
    OperatorPtr build = join(JoinKind::kInner, scan_of(3), scan_of(2), {{1, 0}});
    build = join(JoinKind::kInner, std::move(build), scan_of(2), {{0, 0}});
    OperatorPtr rows = join(JoinKind::kInner, scan_of(0), std::move(build), {{1, 1}});
    rows->estimated_rows = 2000;
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(2 * kColumns + 3, kTextType));
    keys.push_back(column(other * kColumns + 3, kTextType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kSum, column(2, kBigIntType)));
    expect_same(plan_of(aggregate(std::move(rows), std::move(keys), std::move(aggregates))));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LateColumnsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 7 : 25}));

}  // namespace
}  // namespace diptych::olap::test
