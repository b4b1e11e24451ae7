// Plans of INTERSECT and EXCEPT, by the sizes of their sides.

#include <gmock/gmock.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

class SqlSetTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    rows_ = {100, 1'000'000, 1};
  }
};

TEST_F(SqlSetTest, AreJoinsThatBuildOnTheSmallerSide) {
  EXPECT_EQ(plan("SELECT c_id FROM child INTERSECT SELECT p_id FROM parent"),
            "aggregate [] by [c_id]\n"
            "  semi join on c_id = p_id\n"
            "    scan child [c_id]\n"
            "    scan parent [p_id]\n");
  EXPECT_EQ(plan("SELECT p_id FROM parent EXCEPT SELECT c_id FROM child"),
            "aggregate [] by [p_id]\n"
            "  build anti join on c_id = p_id\n"
            "    scan child [c_id]\n"
            "    scan parent [p_id]\n");
}

}  // namespace
}  // namespace diptych::olap
