// Restrictions that equalities carry to a member which no condition joins with it: where a plan
// has them, and where it would be wrong or of no use.

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

constexpr std::string_view kJoins =
    "select count(*) from buyer, sale, seller, place, area where x_seller = s_id and "
    "x_buyer = b_id and s_place = p_id and p_area = a_id and ";

class SqlRestrictionTest : public SqlTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(define(&catalog_, R"(
      CREATE TABLE area (a_id INT PRIMARY KEY, a_name VARCHAR(20) NOT NULL);
      CREATE TABLE place (p_id INT PRIMARY KEY, p_area INT, FOREIGN KEY (p_area) REFERENCES area);
      CREATE TABLE seller (s_id INT PRIMARY KEY, s_place INT,
                           FOREIGN KEY (s_place) REFERENCES place);
      CREATE TABLE buyer (b_id INT PRIMARY KEY, b_place INT, b_code VARCHAR(8),
                          FOREIGN KEY (b_place) REFERENCES place);
      CREATE TABLE sale (x_id INT PRIMARY KEY, x_seller INT, x_buyer INT,
                         FOREIGN KEY (x_seller) REFERENCES seller,
                         FOREIGN KEY (x_buyer) REFERENCES buyer);)"),
              "");
    rows_ = {5, 50, 1000, 100'000, 1'000'000};
  }

  std::string plan_with(std::string_view conditions) const {
    return plan(std::string(kJoins) + std::string(conditions));
  }
};

TEST_F(SqlRestrictionTest, RowsGoBelowAllOtherJoins) {
  const std::string text = plan_with("b_place = s_place and a_name = 'x'");
  EXPECT_NE(text.find("semi join on b_place = p_id\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("scan area"), text.find("scan area [a_id, a_name] where (a_name = 'x')"));
  EXPECT_NE(text.find("scan area"), text.rfind("scan area")) << "a copy\n" << text;
}

TEST_F(SqlRestrictionTest, ByWhatIsComputedOfTexts) {
  const std::string text =
      plan_with("ascii(left(b_code, 1)) = s_place and s_place > 0 and a_name = 'x'");
  EXPECT_NE(text.find("semi join on ascii(left(b_code, 1)) = p_id"), std::string::npos) << text;
}

TEST_F(SqlRestrictionTest, NotWithoutOne) {
  EXPECT_EQ(plan_with("b_place = s_place").find("semi join"), std::string::npos);
}

TEST_F(SqlRestrictionTest, NotByWhatMayFail) {
  for (const char* conditions :
       {"100 / b_place = s_place and a_name = 'x'", "b_place = s_place and 10 / a_id > 2",
        "left(b_code, -1) = s_place::varchar and a_name = 'x'"}) {
    const std::string text = plan_with(conditions);
    EXPECT_NE(text.find("scan buyer"), std::string::npos) << text;
    EXPECT_EQ(text.find("semi join"), std::string::npos) << text;
  }
}

TEST_F(SqlRestrictionTest, NotOfTablesThatAreNotSmallBesideIt) {
  rows_[1] = 50'000;
  const std::string text = plan_with("b_place = s_place and a_name = 'x'");
  EXPECT_EQ(text.find("semi join"), std::string::npos) << text;
}

TEST_F(SqlRestrictionTest, NotWhereAJoinSaysIt) {
  const std::string text = plan_with("b_place = p_id and b_place = s_place and a_name = 'x'");
  EXPECT_EQ(text.find("semi join"), std::string::npos) << text;
}

}  // namespace
}  // namespace diptych::olap
