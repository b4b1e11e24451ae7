// Plans of outer joins, by the sizes of their sides.

#include <gmock/gmock.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

class SqlOuterJoinTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    rows_ = {100, 1'000'000, 1};
  }
};

TEST_F(SqlOuterJoinTest, FewRowsAndManyAreAnInnerJoinAndTheRest) {
  EXPECT_EQ(plan("SELECT p_id, c_id FROM parent LEFT JOIN child ON c_p_id = p_id"),
            "project [p_id, c_id]\n"
            "  append\n"
            "    inner join on c_p_id = p_id\n"
            "      scan child [c_id, c_p_id]\n"
            "      scan parent [p_id]\n"
            "    project [NULL, NULL, p_id]\n"
            "      build anti join on c_p_id = p_id\n"
            "        scan child [c_id, c_p_id]\n"
            "        scan parent [p_id]\n");
}

TEST_F(SqlOuterJoinTest, ManyRowsAndFewAreALeftJoin) {
  EXPECT_EQ(plan("SELECT c_id, p_id FROM child LEFT JOIN parent ON c_p_id = p_id"),
            "project [c_id, p_id]\n"
            "  left join on c_p_id = p_id\n"
            "    scan child [c_id, c_p_id]\n"
            "    scan parent [p_id]\n");
}

TEST_F(SqlOuterJoinTest, OnWhatIsNoEqualityStaysALeftJoin) {
  EXPECT_THAT(plan("SELECT p_id, c_id FROM parent LEFT JOIN child ON c_p_id > p_id"),
              testing::HasSubstr("  left join"));
}

// Which rows a LIMIT gives may differ from one run to the next.
TEST_F(SqlOuterJoinTest, OfRowsThatMayDifferRunsOnce) {
  EXPECT_THAT(
      plan("SELECT p_id, c_id FROM (SELECT p_id FROM parent LIMIT 5) p LEFT JOIN child ON c_p_id "
           "= p_id"),
      testing::HasSubstr("  left join"));
}

TEST_F(SqlOuterJoinTest, ANullThatNoMatchHasAsksForTheRest) {
  EXPECT_EQ(plan("SELECT p_id FROM parent LEFT JOIN child ON c_p_id = p_id WHERE c_id IS NULL"),
            "project [p_id]\n"
            "  project [NULL, NULL, p_id]\n"
            "    build anti join on c_p_id = p_id\n"
            "      scan child [c_id, c_p_id]\n"
            "      scan parent [p_id]\n");
  EXPECT_THAT(plan("SELECT p_id FROM parent LEFT JOIN child ON c_p_id = p_id WHERE c_day IS NULL"),
              testing::HasSubstr("inner join"))
      << "a match may have it";
}

}  // namespace
}  // namespace diptych::olap
