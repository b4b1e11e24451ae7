// $1, $2 and so on: values that are given with the statement.

#include "tests/olap/exec_table.h"
#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

class SqlParameterTest : public SqlTest {
 protected:
  // The plan's first line without its estimate, or the error.
  std::string first_line(std::string_view sql, const std::vector<base::Value>& parameters) const {
    const auto prepared = prepare(sql, catalog_, rows_, parameters);
    if (!prepared) return prepared.error().to_string();
    const std::string text = explain(*prepared, catalog_);
    const std::string line = text.substr(0, text.find('\n'));
    return line.substr(0, line.rfind(" ("));
  }
  std::string type_of(const base::Value& parameter) const {
    const std::vector<base::Value> parameters = {parameter};
    const auto prepared = prepare("select $1", catalog_, rows_, parameters);
    return prepared ? prepared->root->output[0].to_string() : prepared.error().to_string();
  }
};

TEST_F(SqlParameterTest, ValuesStandWhereLiteralsWould) {
  EXPECT_EQ(first_line("select c_id from child limit $1", {int64_t{5}}), "limit 5");
  EXPECT_EQ(first_line("select c_id from child limit $1 + 2 * 3", {int64_t{5}}), "limit 11");
  EXPECT_EQ(first_line("select * from parent where p_id = $1 and p_kind = $2",
                       {int64_t{7}, std::string("it's")}),
            "scan parent [p_id, p_name, p_kind] where (p_id = 7) and (p_kind = 'it's')");
  EXPECT_EQ(first_line("select $2 || $1", {std::string("a"), std::string("b")}), "values ['ba']");
  EXPECT_EQ(first_line("select $1 + 1 as x", {base::DecimalValue{250, 2}}), "values [3.50]");
  EXPECT_EQ(first_line("select $1 * 2", {base::Interval{1, 2, 3'000'000}}),
            "values ['2 mons 4 days 00:00:06']");
  EXPECT_EQ(first_line("select date '2024-01-31' - $1", {base::Interval{0, 1, 0}}),
            "values ['2024-01-30 00:00:00']");
  EXPECT_EQ(first_line("select interval '1 day' < $1", {std::string("25 hours")}), "values [true]");
}

TEST_F(SqlParameterTest, ATextTakesTheTypeOfItsPlace) {
  EXPECT_EQ(first_line("select date '2024-01-02' = $1", {std::string("2024-01-02")}),
            "values [true]");
  EXPECT_EQ(first_line("select c_id = $1 from child", {std::string("x")}),
            "invalid argument: \"x\" is not a whole number (line 1, column 15: \"$1\")");
  EXPECT_EQ(first_line("select coalesce($1, 3)", {base::Value()}), "values [3]");
}

// As the program gives them: all values are texts.
TEST_F(SqlParameterTest, TextsAreNumbersAndDatesWhereTheseAreAskedFor) {
  EXPECT_EQ(first_line("select c_id from child limit $1", {std::string("5")}), "limit 5");
  EXPECT_EQ(first_line("select 2 + $1", {std::string("40")}), "values [42]");
  EXPECT_EQ(first_line("select 1.55 < $1", {std::string("1.2")}), "values [false]");
  EXPECT_EQ(first_line("select * from parent where p_id in ($1, $2)",
                       {std::string("7"), std::string("8")}),
            "scan parent [p_id, p_name, p_kind] where (p_id in (7, 8))");
  EXPECT_EQ(first_line("select cast($1 as date) + 1", {std::string("2024-02-28")}),
            "values ['2024-02-29']");
  const auto error_of = [&](std::string_view sql, const std::string& value) {
    const std::vector<base::Value> parameters = {value};
    return prepare(sql, catalog_, rows_, parameters).error();
  };
  EXPECT_EQ(error_of("select c_id from child limit $1", "many").sqlstate(), "22P02");
  EXPECT_EQ(error_of("select c_id from child limit $1", "-1").sqlstate(), "2201W");
  EXPECT_EQ(error_of("select c_id from child where c_id = $1", "x").sqlstate(), "22P02");
  EXPECT_EQ(error_of("select date '2024-01-02' < $1", "someday").sqlstate(), "22007");
}

TEST_F(SqlParameterTest, ATextCanBeAnArray) {
  EXPECT_EQ(first_line("select * from parent where p_id = any ($1)", {std::string("{7, 8}")}),
            "scan parent [p_id, p_name, p_kind] where (p_id in (7, 8))");
  EXPECT_EQ(first_line("select 2 = any ($1::int[])", {std::string("{1,2}")}),
            "values [(2 in (1, 2))]");
  EXPECT_EQ(first_line("select 2 = any ($1)", {base::Value()}), "values [NULL]");
  EXPECT_EQ(first_line("select 2 = any ($1)", {std::string("1,2")}),
            "invalid argument: malformed array literal: \"1,2\" (line 1, column 17: \"$1\")");
}

TEST_F(SqlParameterTest, TypesFollowValues) {
  EXPECT_EQ(type_of(int64_t{1}), "INT");
  EXPECT_EQ(type_of(int64_t{3'000'000'000}), "BIGINT");
  EXPECT_EQ(type_of(1.5), "DOUBLE");
  EXPECT_EQ(type_of(true), "BOOLEAN");
  EXPECT_EQ(type_of(base::DecimalValue{-12345, 2}), "DECIMAL(5,2)");
  EXPECT_EQ(type_of(base::DecimalValue{5, 3}), "DECIMAL(3,3)");
  EXPECT_EQ(type_of(base::Date{1}), "DATE");
  EXPECT_EQ(type_of(base::Timestamp{1}), "TIMESTAMP");
  EXPECT_EQ(type_of(std::string("a")), "TEXT");
}

TEST_F(SqlParameterTest, StatementsOfABatchShareARunOnlyWhereTheirValuesAreTheSame) {
  const std::vector<std::vector<base::Value>> given = {
      {int64_t{1}, std::string("a")},    {int64_t{2}, std::string("a")},
      {int64_t{1}, std::string("b")},    {std::string("1"), std::string("a")},
      {base::Value(), std::string("a")}, {std::string("NULL"), std::string("a")},
      {int64_t{1}, std::string("a")}};
  std::vector<Plan> plans;
  for (const auto& parameters : given) {
    auto prepared = prepare("select $1, $2", base::Catalog(), {}, parameters);
    ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
    plans.push_back(std::move(*prepared));
  }
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) batch.push_back(&plan);
  const test::TestReplica replica;
  Executor executor(test::placement(1));
  const StopFlag stop{false};
  const auto results = executor.run_batch(batch, replica.replica(), stop);
  for (size_t i = 0; i < given.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
    EXPECT_EQ(std::vector<base::Value>(results[i]->rows[0]), given[i]);
  }
  EXPECT_EQ(results.front()->rows.table(), results.back()->rows.table());
}

TEST_F(SqlParameterTest, AMissingOneIsNamedWithItsPlace) {
  const std::vector<base::Value> one = {int64_t{1}};
  const auto prepared = prepare("select $1, $2", catalog_, rows_, one);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().sqlstate(), "42P02");
  EXPECT_EQ(prepared.error().position, 12U);
  EXPECT_EQ(prepared.error().message,
            "there is no parameter $2: 1 is given (line 1, column 12: \"$2\")");
}

// Of which 32 bits make another one: 1, 1 and 1,215,752,191.
TEST_F(SqlParameterTest, ANumberOfAnyLengthIsWhatIsWritten) {
  const std::vector<base::Value> one = {std::string("{7}")};
  for (const std::string written :
       {"$4294967297", "$18446744073709551617", "$99999999999", "$1000000001", "$0"}) {
    for (const std::string before : {"select ", "select 7 = any (", "select * from unnest("}) {
      const std::string sql = before + written + (before.ends_with('(') ? ")" : "");
      const auto prepared = prepare(sql, catalog_, rows_, one);
      ASSERT_FALSE(prepared.ok()) << sql;
      EXPECT_EQ(prepared.error().sqlstate(), "42P02") << sql;
      EXPECT_EQ(prepared.error().message,
                "there is no parameter " + written + ": 1 is given (line 1, column " +
                    std::to_string(before.size() + 1) + ": \"" + written + "\")");
    }
  }
  EXPECT_EQ(first_line("select $000000000000000000000001", one), "values ['{7}']");
  EXPECT_EQ(first_line("select 7 = any ($01::int[])", one), "values [true]");
}

TEST_F(SqlParameterTest, ATextThatIsNotUtf8IsRefused) {
  const std::vector<base::Value> texts = {std::string("\u00df"), std::string("a\xff")};
  const auto prepared = prepare("select $1, $2", catalog_, rows_, texts);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().sqlstate(), "22021");
  EXPECT_EQ(prepared.error().message,
            "parameter $2 has a byte at offset 1 (0xff) that is not UTF-8");
}

TEST_F(SqlParameterTest, ErrorsHaveTheirStateAndPosition) {
  const auto prepared = prepare("select 'ß', nope from child", catalog_, rows_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().sqlstate(), "42703");
  EXPECT_EQ(prepared.error().position, 13U);  // in characters
  EXPECT_EQ(prepare("selec", catalog_, rows_).error().sqlstate(), "42601");
  EXPECT_EQ(prepare("table parent; select 1", catalog_, rows_).error().sqlstate(), "42601");
  EXPECT_EQ(prepare("delete from parent", catalog_, rows_).error().sqlstate(), "0A000");
}

}  // namespace
}  // namespace diptych::olap
