// Which sums are computed from one sum, and which stay.

#include <string>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

using ShiftedSumsTest = SqlTest;

TEST_F(ShiftedSumsTest, OfOneColumnTheyAddOnceForEachRow) {
  EXPECT_EQ(plan("select c_flag, sum(c_id + 1), min(c_day), sum(3 - c_id), sum(c_id), "
                 "sum(c_id - 7) from child group by c_flag"),
            "project [c_flag, (sum(c_id) + (count(c_id) * 1)), min(c_day), "
            "((count(c_id) * 3) - sum(c_id)), sum(c_id), (sum(c_id) + (count(c_id) * -7))]\n"
            "  filter (((min(c_id) - 7) is not null) or (min(c_id) is null)) and "
            "(((max(c_id) + 1) is not null) or (max(c_id) is null)) and "
            "(((3 - max(c_id)) is not null) or (max(c_id) is null)) and "
            "(((3 - min(c_id)) is not null) or (min(c_id) is null))\n"
            "    aggregate [sum(c_id), count(c_id), min(c_id), max(c_id), min(c_day)] "
            "by [c_flag]\n"
            "      scan child [c_id, c_day, c_flag]\n");
}

class ShiftedSums : public ShiftedSumsTest {
 protected:
  // Whether the aggregates are computed from others.
  bool are_shared(const std::string& aggregates) const {
    return plan("select " + aggregates + " from child").find("count(") != std::string::npos;
  }
};

TEST_F(ShiftedSums, ExactOnesAreSharedFromFourOn) {
  EXPECT_FALSE(are_shared("sum(c_id), sum(c_id + 1), sum(c_id + 2)"));
  EXPECT_TRUE(are_shared("sum(c_id), sum(c_id + 1), sum(c_id + 2), sum(2 - c_id)"));
  EXPECT_TRUE(are_shared("sum(c_id + 1), sum(c_id + 2), sum(c_id - 1), sum(9 + c_id)"));
  EXPECT_TRUE(are_shared("sum(c_big), sum(c_big + 1), sum(c_big + 2), sum(c_big + 3)"));
  EXPECT_TRUE(
      are_shared("sum(c_amount), sum(c_amount + 1), sum(c_amount + 2.5), "
                 "sum(c_amount + 0.25)"));
  EXPECT_TRUE(
      are_shared("sum(c_id * c_big), sum(c_id * c_big + 1), sum(c_id * c_big + 2), "
                 "sum(c_id * c_big + 3)"));
}

TEST_F(ShiftedSums, OthersStay) {
  EXPECT_FALSE(are_shared("sum(c_ratio), sum(c_ratio + 1), sum(c_ratio + 2), sum(c_ratio + 3)"));
  EXPECT_FALSE(
      are_shared("sum(distinct c_id), sum(distinct c_id + 1), sum(distinct c_id + 2), "
                 "sum(distinct c_id + 3)"));
  EXPECT_FALSE(are_shared("sum(c_id), sum(c_id + c_p_id), sum(c_id + 1), sum(c_p_id + 1)"));
  EXPECT_FALSE(are_shared("min(c_id), min(c_id + 1), min(c_id + 2), min(c_id + 3)"));
}

}  // namespace
}  // namespace diptych::olap
