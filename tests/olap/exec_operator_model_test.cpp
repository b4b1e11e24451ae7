// Joins, aggregates, sorts and limits over random tables with nulls, duplicates and deleted rows,
// against the naive reference, with one thread and with more threads than cores.

#include "tests/olap/exec_operator_model.h"

#include <gtest/gtest.h>

#include "olap/execution/window/window.h"

namespace diptych::olap::test {
namespace {

TEST(OperatorTables, HaveColumnsInManyForms) {
  storage::test::LeafForms forms;
  for (uint64_t seed = 1; seed < 25; ++seed) count_forms(OperatorTables(seed).replica(), &forms);
  storage::test::expect_forms(
      forms, {"page", "full block", "block with dead rows", "constant", "frame", "packed frame",
              "dictionary", "symbol text", "thawed frame", "thawed plain",
              "thawed spaced dictionary", "thawed patched text"});
}

TEST_P(OperatorModel, JoinsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto [probe, build] = two_of(3);
    expect_same(plan_of(random_join(scan_of(probe), scan_of(build))));
    if (HasFatalFailure()) return;
  }
}

// Many probe rows to one build row, and predicates that decide about the pairs.
TEST_P(OperatorModel, JoinsWithOneMatchAndPredicatesAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (uint32_t kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    OperatorPtr op = join(static_cast<JoinKind>(kind), scan_of(static_cast<uint32_t>(below(3))),
                          scan_of(static_cast<uint32_t>(below(3))), {{1, 0}});
    const auto probe_columns = static_cast<uint32_t>(op->children[0]->output.size());
    op->predicates.push_back(make(ExpressionKind::kLessEqual, kBooleanType, column(2, kBigIntType),
                                  column(probe_columns + 2, kBigIntType)));
    if (below(2) == 0) {
      op->predicates.push_back(make(ExpressionKind::kNotEqual, kBooleanType, column(1, kIntType),
                                    column(probe_columns + 1, kIntType)));
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

TEST_P(OperatorModel, JoinsOfJoinsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  OperatorPtr inner = join(JoinKind::kLeft, scan_of(2), scan_of(0), {{0, 0}});
  expect_same(plan_of(random_join(std::move(inner), scan_of(2))));
}

TEST_P(OperatorModel, AggregatesAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<ExpressionPtr> keys;
    for (uint64_t i = below(4); i != 0; --i) {
      const uint64_t c = below(kColumns);
      keys.push_back(c == 3 ? make(ExpressionKind::kConcat, kTextType, column(3, kTextType),
                                   literal(kTextType, text("-suffix of a key")))
                            : column(static_cast<uint32_t>(c), kOperatorTypes[c]));
    }
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    for (uint64_t i = below(4); i != 0; --i) {
      static constexpr AggregateKind kKinds[] = {AggregateKind::kCount,
                                                 AggregateKind::kCountDistinct, AggregateKind::kMin,
                                                 AggregateKind::kMax};
      const uint64_t c = below(kColumns);
      aggregates.push_back(
          aggregate_of(kKinds[below(4)], column(static_cast<uint32_t>(c), kOperatorTypes[c])));
    }
    for (uint64_t i = below(3); i != 0; --i) {
      const auto c = static_cast<uint32_t>(below(kColumns));
      const double fraction = static_cast<double>(below(33)) / 32;
      ExpressionPtr value = column(c, kOperatorTypes[c]);
      const bool continuous = kOperatorTypes[c].kind == TypeKind::kDouble;
      AggregateKind kind = below(2) == 0 ? AggregateKind::kMode : AggregateKind::kPercentileDisc;
      if (continuous && below(2) == 0) kind = AggregateKind::kPercentileCont;
      aggregates.push_back(ordered_set_of(kind, std::move(value), below(2) == 0, fraction));
    }
    for (const uint32_t c : {0U, 2U, 4U}) {
      aggregates.push_back(aggregate_of(AggregateKind::kSum, column(c, kOperatorTypes[c])));
      aggregates.push_back(aggregate_of(AggregateKind::kAvg, column(c, kOperatorTypes[c])));
    }
    for (const AggregateKind kind :
         {AggregateKind::kBitAnd, AggregateKind::kBitOr, AggregateKind::kBitXor}) {
      const auto c = static_cast<uint32_t>(below(3));
      aggregates.push_back(aggregate_of(kind, column(c, kOperatorTypes[c])));
      aggregates.back().distinct = below(2) == 0;
    }
    expect_same(plan_of(aggregate(scan_of(static_cast<uint32_t>(below(3))), std::move(keys),
                                  std::move(aggregates))));
    if (HasFatalFailure()) return;
  }
}

TEST_P(OperatorModel, SortsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    const uint32_t table = static_cast<uint32_t>(below(3));
    OperatorPtr op = over(OperatorKind::kSort, scan_of(table), kOperatorTypes);
    for (uint64_t i = below(3); i != 0; --i) {
      op->sort_keys.push_back(
          {static_cast<uint32_t>(below(kColumns)), below(2) == 0, below(2) == 0});
    }
    op->sort_keys.push_back({0, below(2) == 0, below(2) == 0});  // unique: the order is determined
    if (below(2) == 0) op->limit = below(40);
    if (below(2) == 0) op->offset = below(40);
    expect_same(plan_of(std::move(op)), true);
    if (HasFatalFailure()) return;
  }
}

// Groups whose keys are a join's build side's, below which and above which other joins and filters
// narrow the rows.
TEST_P(OperatorModel, GroupsByTheBuildSideOfAJoinAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    OperatorPtr rows = scan_of(static_cast<uint32_t>(below(3)));
    const auto key = static_cast<uint32_t>(below(kColumns));
    using Keys = std::vector<std::pair<uint32_t, uint32_t>>;
    const Keys keys_of_join = below(2) == 0 ? Keys() : Keys{{key, key}};
    rows = join(JoinKind::kInner, std::move(rows), scan_of(2), keys_of_join);
    // With as many rows as are said below, keys that the probe side has are computed from it.
    rows->children[1]->estimated_rows = below(2) == 0 ? 0 : 1000;
    const auto at = [](uint32_t c) { return column(kColumns + c, kOperatorTypes[c]); };
    if (below(2) == 0) {
      rows = filter(std::move(rows),
                    make(ExpressionKind::kLessEqual, kBooleanType, column(2, kBigIntType), at(2)));
    }
    if (below(2) == 0) {
      constexpr JoinKind kKinds[] = {JoinKind::kInner, JoinKind::kLeft, JoinKind::kSemi,
                                     JoinKind::kAnti, JoinKind::kMark};
      rows = join(kKinds[below(5)], std::move(rows), scan_of(2), {{1, 1}});
    }
    rows->estimated_rows = 2000;
    std::vector<ExpressionPtr> keys;
    keys.push_back(at(below(3) == 0 ? key : 3));
    if (below(2) == 0) keys.push_back(at(1 + static_cast<uint32_t>(below(kColumns - 1))));
    if (below(2) == 0) keys.push_back(at(key));  // where it is unique, each build row is a group
    if (below(2) == 0) {
      keys.push_back(make(ExpressionKind::kConcat, kTextType, at(3),
                          literal(kTextType, text("-suffix of a key"))));
    }
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    aggregates.push_back(aggregate_of(AggregateKind::kSum, column(2, kBigIntType)));
    aggregates.push_back(aggregate_of(AggregateKind::kMax, at(2)));
    aggregates.push_back(aggregate_of(AggregateKind::kCountDistinct, column(1, kIntType)));
    expect_same(plan_of(aggregate(std::move(rows), std::move(keys), std::move(aggregates))));
    if (HasFatalFailure()) return;
  }
}

// Operators that have gone by the time that their rows are read: groups below a sort, a join's
// build side below groups below a sort.
TEST_P(OperatorModel, TextsOutliveTheOperatorsThatKeptThem) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const auto longer = [](uint32_t c) {
    return make(ExpressionKind::kConcat, kTextType, column(c, kTextType),
                literal(kTextType, text("-suffix of a key")));
  };
  std::vector<ExpressionPtr> built;
  for (uint32_t c = 0; c < kColumns; ++c) built.push_back(column(c, kOperatorTypes[c]));
  built.push_back(longer(3));
  OperatorPtr joined =
      join(JoinKind::kInner, scan_of(0), project(scan_of(1), std::move(built)), {{1, 1}});
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(2 * kColumns, kTextType));
  keys.push_back(longer(3));
  std::vector<Aggregate> aggregates;
  aggregates.push_back(aggregate_of(AggregateKind::kMax, longer(3)));
  OperatorPtr groups = aggregate(std::move(joined), std::move(keys), std::move(aggregates));
  const std::vector<DataType> output = groups->output;
  OperatorPtr sorted = over(OperatorKind::kSort, std::move(groups), output);
  sorted->sort_keys = {{0, false, false}, {1, true, false}};
  expect_same(plan_of(std::move(sorted)), true);
}

// As where a CTE is used twice: the second reads what the first computed.
TEST_P(OperatorModel, EqualGroupsOfAPlanAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const auto bound = number(static_cast<int64_t>(below(20)));
  const auto groups = [&](const Value& limit) {
    OperatorPtr rows = scan(base::TableId(0), kOperatorTypes);
    rows->predicates.push_back(make(ExpressionKind::kLess, kBooleanType, column(2, kBigIntType),
                                    literal(kBigIntType, limit)));
    std::vector<ExpressionPtr> keys;
    keys.push_back(column(1, kIntType));
    keys.push_back(column(3, kTextType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    return aggregate(std::move(rows), std::move(keys), std::move(aggregates));
  };
  using Keys = std::vector<std::pair<uint32_t, uint32_t>>;
  const Keys keys = tables_[0].size() > 1000 ? Keys{{0, 0}, {1, 1}} : Keys{{0, 0}};
  expect_same(plan_of(join(JoinKind::kLeft, groups(bound), groups(bound), keys)));
  expect_same(plan_of(join(JoinKind::kLeft, groups(bound), groups(number(21)), keys)));
}

// A function whose value does not depend on the order of peers, unless the order is unique. Column
// 2 is a BIGINT, 3 a text, 4 a DECIMAL(9,2).
WindowFunction random_function(OperatorTables* model, bool unique_order) {
  static constexpr AggregateKind kAggregates[] = {
      AggregateKind::kCount, AggregateKind::kSum,    AggregateKind::kMin,   AggregateKind::kMax,
      AggregateKind::kAvg,   AggregateKind::kBitAnd, AggregateKind::kBitOr, AggregateKind::kBitXor};
  WindowFunction f;
  f.type = kBigIntType;
  const uint64_t choice = model->below(unique_order ? 9 : 5);
  if (choice == 8) {
    f.kind = WindowKind::kRowNumber;
    return f;
  }
  if (choice == 7) {
    f.kind = WindowKind::kAggregate;
    f.aggregate = AggregateKind::kStringAgg;
    f.type = kTextType;
    f.arguments = {3, 3};
  } else if (choice >= 5) {
    f.kind = choice == 5 ? WindowKind::kFirstValue : WindowKind::kLastValue;
    f.type = kTextType;
    f.arguments = {3};
  } else if (choice == 4) {
    f.kind = model->below(2) == 0 ? WindowKind::kRank : WindowKind::kDenseRank;
    return f;
  } else {
    f.kind = WindowKind::kAggregate;
    f.aggregate = kAggregates[model->below(std::size(kAggregates))];
    const bool sums = f.aggregate == AggregateKind::kSum || f.aggregate == AggregateKind::kAvg;
    const bool bits = f.aggregate >= AggregateKind::kBitAnd;
    f.arguments = {bits ? 2U : 4U};
    f.argument_scale = bits ? 0 : 2;
    if (f.aggregate != AggregateKind::kCount && !bits)
      f.type = sums ? decimal_type(38, 2) : decimal_type(9, 2);
  }
  f.frame.mode = unique_order ? static_cast<FrameMode>(2 * model->below(2)) : FrameMode::kGroups;
  f.frame.start = static_cast<FrameBound>(model->below(4));
  f.frame.end = static_cast<FrameBound>(1 + model->below(4));
  // Beyond a segment tree's leaves, too.
  const uint64_t offset_max = model->below(2) == 0 ? 4 : 4 * kSegmentTreeLeafRows;
  f.frame.start_offset = model->below(offset_max + 1);
  f.frame.end_offset = model->below(offset_max + 1);
  f.frame.exclusion = static_cast<FrameExclusion>(model->below(4));
  if (!unique_order && f.frame.exclusion != FrameExclusion::kNone) {
    f.frame.exclusion = FrameExclusion::kGroup;
  }
  return f;
}

TEST_P(OperatorModel, WindowsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    const bool unique_order = below(2) == 0;
    const uint32_t table = below(2) == 0 ? 2 : 3;
    OperatorPtr op = over(OperatorKind::kWindow, scan_of(table), kOperatorTypes);
    if (below(3) != 0) op->window_partition.push_back(static_cast<uint32_t>(1 + below(7)));
    op->sort_keys.push_back({static_cast<uint32_t>(1 + below(7)), below(2) == 0, below(2) == 0});
    if (unique_order) op->sort_keys.push_back({0, false, false});
    for (uint64_t i = 1 + below(3); i != 0; --i) {
      op->window_functions.push_back(random_function(this, unique_order));
      op->output.push_back(op->window_functions.back().type);
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

// Equal windows, one in another too, whose readers want different columns.
TEST_P(OperatorModel, RepeatedWindowsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const base::TableId table(below(2) == 0 ? 2 : 3);
    const WindowFunction functions[] = {random_function(this, true), random_function(this, true)};
    const auto partition = static_cast<uint32_t>(1 + below(7));
    const auto windows = [&](OperatorPtr rows, uint64_t times) {
      for (uint64_t i = 0; i < times; ++i) {
        std::vector<DataType> output = rows->output;
        output.push_back(functions[i].type);
        rows = over(OperatorKind::kWindow, std::move(rows), std::move(output));
        rows->window_functions.push_back(functions[i]);
        if (i == 0) rows->window_partition.push_back(partition);
        rows->sort_keys.push_back({0, i == 0, false});
      }
      return rows;
    };
    const auto some_columns = [&](OperatorPtr rows) {
      std::vector<ExpressionPtr> columns;
      columns.push_back(column(0, kIntType));
      for (uint32_t c = 1; c < rows->output.size(); ++c) {
        if (below(3) == 0) columns.push_back(column(c, rows->output[c]));
      }
      return project(std::move(rows), std::move(columns));
    };
    const auto one = [&] {
      return some_columns(windows(scan(table, kOperatorTypes), 1 + below(2)));
    };
    expect_same(plan_of(
        join(JoinKind::kLeft, join(JoinKind::kInner, one(), one(), {{0, 0}}), one(), {{0, 0}})));
    if (HasFatalFailure()) return;
  }
}

TEST_P(OperatorModel, AppendedExpandedAndRepeatedRowsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  OperatorPtr append = over(OperatorKind::kAppend, scan_of(0), kOperatorTypes);
  append->children.push_back(scan_of(1));
  append->children.push_back(scan_of(2));
  std::vector<DataType> expanded = kOperatorTypes;
  expanded.push_back(kBigIntType);
  OperatorPtr expand = over(OperatorKind::kExpand, std::move(append), expanded);
  for (uint64_t sets = 1 + below(3); sets != 0; --sets) {
    expand->grouping_sets.push_back({below(2) == 0, below(2) == 0, below(2) == 0, below(2) == 0});
  }
  // The set's number is how often a row comes.
  OperatorPtr repeat = over(OperatorKind::kRepeat, std::move(expand), expanded);
  if (below(2) == 0) {  // nobody reads the copies' numbers
    std::vector<ExpressionPtr> columns;
    for (uint32_t c = 0; c < kColumns; ++c) columns.push_back(column(c, kOperatorTypes[c]));
    repeat = project(std::move(repeat), std::move(columns));
  }
  expect_same(plan_of(std::move(repeat)));
}

// Also where the input's groups are expanded in place of its rows.
TEST_P(OperatorModel, GroupingSetsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    constexpr uint32_t kSetColumns = 3;
    // What the sets leave columns out of, then the columns as they are.
    std::vector<DataType> types;
    std::vector<ExpressionPtr> columns;
    const auto add = [&](uint64_t c) {
      types.push_back(kOperatorTypes[c]);
      columns.push_back(column(static_cast<uint32_t>(c), kOperatorTypes[c]));
    };
    for (uint32_t c = 0; c < kSetColumns; ++c) add(below(kColumns));
    for (uint32_t c = 0; c < kColumns; ++c) add(c);
    OperatorPtr project =
        over(OperatorKind::kProject, scan_of(static_cast<uint32_t>(below(3))), types);
    project->expressions = std::move(columns);
    types.push_back(kBigIntType);
    OperatorPtr expand = over(OperatorKind::kExpand, std::move(project), types);
    for (uint64_t sets = 1 + below(4); sets != 0; --sets) {
      expand->grouping_sets.push_back({below(2) == 0, below(2) == 0, below(2) == 0});
    }
    std::vector<ExpressionPtr> keys;
    for (uint32_t c = 0; c < kSetColumns; ++c) keys.push_back(column(c, types[c]));
    keys.push_back(column(kSetColumns + kColumns, kBigIntType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    for (const AggregateKind kind :
         {AggregateKind::kCount, AggregateKind::kMin, AggregateKind::kMax}) {
      const auto c = static_cast<uint32_t>(kSetColumns + below(kColumns));
      aggregates.push_back(aggregate_of(kind, column(c, types[c])));
    }
    for (const uint32_t c : {0U, 2U, 4U}) {
      const uint32_t value = kSetColumns + c;
      aggregates.push_back(aggregate_of(AggregateKind::kSum, column(value, types[value])));
      aggregates.push_back(aggregate_of(AggregateKind::kAvg, column(value, types[value])));
    }
    const uint64_t other = below(4);  // of the rows: their values, or columns that sets leave out
    if (other == 0) {
      aggregates.push_back(aggregate_of(AggregateKind::kCountDistinct, column(5, types[5])));
    } else if (other == 1) {
      aggregates.push_back(aggregate_of(AggregateKind::kMax, column(0, types[0])));
    }
    expect_same(plan_of(aggregate(std::move(expand), std::move(keys), std::move(aggregates))));
    if (HasFatalFailure()) return;
  }
}

TEST_P(OperatorModel, LimitsDeliverThatManyRowsOfTheInput) {
  const uint64_t limit = below(1200);
  const uint64_t offset = below(300);
  OperatorPtr op =
      over(OperatorKind::kLimit, scan(base::TableId(0), kOperatorTypes), kOperatorTypes);
  op->limit = limit;
  op->offset = offset;
  const Plan plan = plan_of(std::move(op));
  const uint64_t rows = tables_[0].size();
  const uint64_t expected = std::min(limit, rows - std::min(rows, offset));
  const std::vector<std::string> all = lines(tables_[0]);
  for (const uint32_t threads : {1, 3}) {
    const base::Result<QueryResult> result = test::run(plan, replica_.replica(), threads);
    ASSERT_TRUE(result.ok());
    const std::vector<std::string> some = lines(result->rows);
    EXPECT_EQ(some.size(), expected);
    EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OperatorModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 7 : 25}));

}  // namespace
}  // namespace diptych::olap::test
