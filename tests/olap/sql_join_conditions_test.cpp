// Conditions of a join beside its keys: which are asked behind it, once its keys have dropped most
// rows, so that what other joins have joined to these is gathered for the rest alone.

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

class SqlJoinConditionsTest : public SqlTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(define(&catalog_, R"(
      CREATE TABLE buyer (b_id INT PRIMARY KEY, b_place INT, b_name VARCHAR(20));
      CREATE TABLE item (i_id INT PRIMARY KEY, i_place INT, i_price INT);
      CREATE TABLE sale (x_id INT PRIMARY KEY, x_item INT, x_buyer INT, x_paid INT,
                         FOREIGN KEY (x_item) REFERENCES item,
                         FOREIGN KEY (x_buyer) REFERENCES buyer);)"),
              "");
    rows_ = {1000, 10'000, 1'000'000};
  }

  std::string plan_with(std::string_view conditions) const {
    return plan(
        "select count(*) from sale, buyer, item where x_buyer = b_id and x_item = i_id and " +
        std::string(conditions));
  }
};

// b_name comes from a join below.
TEST_F(SqlJoinConditionsTest, AreAskedBehindKeysThatDropMostRows) {
  const std::string text = plan_with("b_id < 9 and i_price = 7 and ascii(b_name) < i_place");
  EXPECT_NE(text.find("filter (ascii(b_name) < i_place)"), std::string::npos) << text;
  EXPECT_NE(text.find("inner join on x_item = i_id\n"), std::string::npos) << text;
}

TEST_F(SqlJoinConditionsTest, AreAskedWithKeysThatDropFew) {
  const std::string text = plan_with("b_id < 9 and ascii(b_name) < i_place");
  EXPECT_EQ(text.find("filter ("), std::string::npos) << text;
  EXPECT_NE(text.find(" where (ascii(b_name) < i_place)"), std::string::npos) << text;
}

TEST_F(SqlJoinConditionsTest, AreAskedWithTheKeysWhereTheyReadWhatIsThereAnyway) {
  const std::string text = plan_with("i_price = 7 and x_paid < i_place");
  EXPECT_EQ(text.find("filter ("), std::string::npos) << text;
  EXPECT_NE(text.find(" where (x_paid < i_place)"), std::string::npos) << text;
}

// The second one may fail where the first one does not hold.
TEST_F(SqlJoinConditionsTest, KeepTheirOrder) {
  const std::string text = plan_with(
      "b_id < 9 and i_price = 7 and ascii(b_name) < i_place and 10 / (b_place - i_place) > 1");
  const size_t filter = text.find("filter (");
  ASSERT_NE(filter, std::string::npos) << text;
  const std::string line = text.substr(filter, text.find('\n', filter) - filter);
  EXPECT_LT(line.find("ascii(b_name) < i_place"), line.find("10 / ")) << line;
}

}  // namespace
}  // namespace diptych::olap
