// Which build columns of a join are late, and where they are gathered.

#include "olap/execution/pipeline/needed_columns.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

const std::vector<DataType> kTypes = {kIntType, kIntType, kTextType};

// Lines and items by column 0, with as many rows as they are said to have; then a condition on the
// given column that leaves so many.
OperatorPtr filtered_join(JoinKind kind, double joined, double left, uint32_t read) {
  OperatorPtr rows =
      join(kind, scan(base::TableId(0), kTypes), scan(base::TableId(1), kTypes), {{0, 0}});
  rows->estimated_rows = joined;
  rows = filter(std::move(rows), make(ExpressionKind::kLess, kBooleanType, column(read, kIntType),
                                      literal(kIntType, number(5))));
  rows->estimated_rows = left;
  return rows;
}

TEST(NeededColumns, AreLateBehindWhatDropsHalfOfTheRows) {
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kLeft}) {
    const OperatorPtr root = filtered_join(kind, 1000, 500, 1);
    const Operator& joined = *root->children[0];
    const NeededColumns needed(*root, root->output.size());
    ASSERT_FALSE(needed.late_behind(*root).empty());
    const LateColumn& text = needed.late_behind(*root).back();
    EXPECT_EQ(text.join, &joined);
    EXPECT_EQ(text.build_column, 2U);
    EXPECT_EQ(text.column, 5U);
    EXPECT_TRUE(needed.late_of(joined)[2]);
    EXPECT_FALSE(needed.gathered_by(joined)[2]);
    EXPECT_TRUE(needed.kept_by(joined)[2]);
    EXPECT_TRUE(needed.late_behind(joined).empty());
  }
}

TEST(NeededColumns, AreGatheredAtOnceWhereMostRowsStay) {
  const OperatorPtr root = filtered_join(JoinKind::kInner, 1000, 501, 1);
  const NeededColumns needed(*root, root->output.size());
  EXPECT_TRUE(needed.late_behind(*root).empty());
  EXPECT_TRUE(needed.gathered_by(*root->children[0])[2]);
}

TEST(NeededColumns, AreGatheredBeforeWhatReadsThem) {
  const OperatorPtr root = filtered_join(JoinKind::kInner, 1000, 10, 4);
  const Operator& joined = *root->children[0];
  const NeededColumns needed(*root, root->output.size());
  EXPECT_FALSE(needed.late_of(joined)[1]);
  EXPECT_TRUE(needed.gathered_by(joined)[1]);
  EXPECT_TRUE(needed.late_of(joined)[2]);
}

// Items, and texts that are joined to them, are the build side of lines.
OperatorPtr lines_of_items() {
  OperatorPtr items = join(JoinKind::kInner, scan(base::TableId(1), kTypes),
                           scan(base::TableId(2), kTypes), {{0, 0}});
  items->estimated_rows = 100;
  OperatorPtr rows =
      join(JoinKind::kInner, scan(base::TableId(0), kTypes), std::move(items), {{0, 0}});
  rows->estimated_rows = 1000;
  rows = filter(std::move(rows), make(ExpressionKind::kLess, kBooleanType, column(1, kIntType),
                                      literal(kIntType, number(5))));
  rows->estimated_rows = 100;
  return rows;
}

TEST(NeededColumns, OfATableAreNumbersOfAnothersRows) {
  const OperatorPtr root = lines_of_items();
  const Operator& lines = *root->children[0];
  const Operator& items = *lines.children[1];
  const NeededColumns needed(*root, root->output.size());
  EXPECT_EQ(needed.referred(lines, 2), nullptr);  // the items' own
  const ReferredColumn* const text = needed.referred(lines, 5);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->join, &items);
  EXPECT_EQ(text->build_column, 2U);
  EXPECT_TRUE(needed.kept_by(lines)[text->numbers]);
  EXPECT_EQ(needed.kept_types(lines)[text->numbers], kIntType);
  EXPECT_TRUE(text->numbers == 5 || !needed.kept_by(lines)[5]);
  EXPECT_TRUE(needed.is_referred_to(items));
  EXPECT_TRUE(needed.kept_by(items)[2]);
}

TEST(NeededColumns, OfATableAreValuesWhereTheOtherTableIsLarge) {
  const OperatorPtr root = lines_of_items();
  Operator& items = *root->children[0]->children[1];
  for (const double rows : {200, 201}) {
    items.children[1]->estimated_rows = rows;
    const NeededColumns needed(*root, root->output.size());
    EXPECT_EQ(needed.is_referred_to(items), rows == 200);
  }
}

TEST(NeededColumns, OfATableAreValuesWhereMoreRowsWouldBeGathered) {
  const OperatorPtr root = lines_of_items();
  root->estimated_rows = 101;
  const Operator& lines = *root->children[0];
  const NeededColumns needed(*root, root->output.size());
  EXPECT_EQ(needed.referred(lines, 5), nullptr);
  EXPECT_TRUE(needed.late_of(lines)[5]);
}

TEST(NeededColumns, AreNotLateBehindWhatKeepsRows) {
  OperatorPtr sorted = over(OperatorKind::kSort, filtered_join(JoinKind::kInner, 1000, 1000, 1),
                            {kIntType, kIntType, kTextType, kIntType, kIntType, kTextType});
  sorted->sort_keys = {{0, false, false}};
  sorted->limit = 1;
  sorted->estimated_rows = 1;
  const NeededColumns needed(*sorted, sorted->output.size());
  EXPECT_TRUE(needed.late_behind(*sorted).empty());
  EXPECT_TRUE(needed.gathered_by(*sorted->children[0]->children[0])[2]);
}

// Items that lines have, 100 groups, joined with so many lines again.
OperatorPtr joined_groups(double joined) {
  OperatorPtr rows = join(JoinKind::kInner, scan(base::TableId(0), kTypes),
                          scan(base::TableId(1), kTypes), {{0, 0}});
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(3, kIntType));
  keys.push_back(column(5, kTextType));
  rows = aggregate(std::move(rows), std::move(keys), {});
  rows->estimated_rows = 100;
  rows = join(JoinKind::kLeft, std::move(rows), scan(base::TableId(0), kTypes), {{0, 0}});
  rows->estimated_rows = joined;
  return rows;
}

TEST(NeededColumns, KeysThatAreBuildRowsAreGatheredBeforeRowsBecomeMore) {
  for (const double joined : {10.0, 100.0, 101.0}) {
    const OperatorPtr root = joined_groups(joined);
    const Operator& groups = *root->children[0];
    const NeededColumns needed(*root, root->output.size());
    const auto texts = [&](const Operator& op) {
      const std::span<const LateColumn> late = needed.late_behind(op);
      return std::count_if(late.begin(), late.end(), [&](const LateColumn& column) {
        return column.groups == &groups && column.column == 1;
      });
    };
    EXPECT_EQ(texts(groups), joined > 100 ? 1 : 0);
    EXPECT_EQ(texts(*root), joined > 100 ? 0 : 1);
  }
}

}  // namespace
}  // namespace diptych::olap::test
