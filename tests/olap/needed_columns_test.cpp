// Which build columns of a join are late, and where they are gathered.

#include "olap/execution/needed_columns.h"

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

}  // namespace
}  // namespace diptych::olap::test
