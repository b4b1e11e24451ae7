// What each supported expression becomes: types through casts, constants folded.

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

struct Bound {
  std::string_view written;
  std::string_view bound;
};

constexpr Bound kExpressions[] = {
    {"c_id + 1", "(c_id + 1)"},
    {"c_id + c_big", "(c_id::BIGINT + c_big)"},
    {"c_amount + 1", "(c_amount + 1.00)"},
    {"c_amount * c_amount", "(c_amount * c_amount)"},
    {"c_amount * (1 - 0.05)", "(c_amount * 0.95)"},
    {"c_amount / 2", "(c_amount::DECIMAL(38,2) / 2)"},
    {"c_id / 2", "(c_id / 2)"},
    {"-c_id", "-c_id"},
    {"- 5", "-5"},
    {"-c_amount", "-c_amount"},
    {"c_id % 3", "(c_id % 3)"},
    {"mod(c_id, 3)", "(c_id % 3)"},
    {"c_big * c_amount", "(c_big::DECIMAL(38,0) * c_amount::DECIMAL(38,2))"},
    {"c_ratio * c_amount", "(c_ratio * c_amount::DOUBLE)"},
    {"1 + 2 * 3", "7"},
    {"7 / 2", "3"},
    {"1.50 + 2", "3.50"},
    {"c_day + 1", "add_days(c_day, 1)"},
    {"1 + c_day", "add_days(c_day, 1)"},
    {"c_day - 7", "add_days(c_day, -7)"},
    {"c_day + interval '1' month", "add_months(c_day, 1)::TIMESTAMP"},
    {"c_at - interval '1 year 2 days'", "add_days(add_months(c_at, -12), -2)"},
    {"interval '90 minutes' + c_at", "add_micros(c_at, 5400000000)"},
    {"date '2001-01-31' + interval '1 month'", "'2001-02-28 00:00:00'"},
    {"timestamp '2001-01-01' - interval '1' day", "'2000-12-31 00:00:00'"},
    {"c_at >= '2007-01-02 00:00:00.000000'", "(c_at >= '2007-01-02 00:00:00')"},
    {"c_day = '2001-01-01'", "(c_day = '2001-01-01')"},
    {"c_day < c_at", "(c_day::TIMESTAMP < c_at)"},
    {"c_day < timestamp '2001-01-01 10:00:00'", "(c_day <= '2001-01-01')"},
    {"c_day >= timestamp '1969-12-31 10:00:00'", "(c_day > '1969-12-31')"},
    {"timestamp '2001-01-01 10:00:00' < c_day", "(c_day > '2001-01-01')"},
    {"timestamp '2001-01-01' > c_day", "(c_day < '2001-01-01')"},
    {"c_day <= date '2001-03-31' - interval '90' day", "(c_day <= '2000-12-31')"},
    {"c_day <> timestamp '2001-01-01'", "(c_day <> '2001-01-01')"},
    {"c_day = timestamp '2001-01-01 10:00:00'", "(c_day::TIMESTAMP = '2001-01-01 10:00:00')"},
    {"c_id = 3000000000", "(c_id::BIGINT = 3000000000)"},
    {"c_id = 3.5", "((c_id <= 3) and (c_id > 3))"},
    {"c_amount > 100", "(c_amount > 100.00)"},
    {"c_amount > 100.125", "(c_amount > 100.12)"},
    {"c_big = '12'", "(c_big = 12)"},
    {"p_kind = 'ab  '", "(p_kind = 'ab')"},
    {"p_name = p_kind", "(p_name::CHAR(20) = p_kind)"},
    {"c_id between 1 and 3", "((c_id >= 1) and (c_id <= 3))"},
    {"c_id not between 1 and c_big", "not ((c_id >= 1) and (c_id::BIGINT <= c_big))"},
    {"c_id in (1, 2, 3)", "(c_id in (1, 2, 3))"},
    {"c_id not in (1)", "not (c_id = 1)"},
    {"c_id in (1, c_big, null)", "((c_id = 1) or (c_id::BIGINT = c_big) or NULL)"},
    {"p_name like 'a%'", "(p_name like 'a%')"},
    {"p_name not like 'a%'", "not (p_name like 'a%')"},
    {"c_id is null", "(c_id is null)"},
    {"c_p_id is not null", "(c_p_id is not null)"},
    {"c_flag is true", "coalesce(c_flag, false)"},
    {"c_flag is not false", "not coalesce(not c_flag, false)"},
    {"c_flag is unknown", "(c_flag is null)"},
    {"not c_flag", "not c_flag"},
    {"case when c_id = 1 then 'a' when c_id = 2 then 'b' end",
     "case when (c_id = 1) then 'a' when (c_id = 2) then 'b' else NULL end"},
    {"case c_id when 1 then 1.5 else c_amount end",
     "case when (c_id = 1) then 1.50 else c_amount end"},
    {"coalesce(c_p_id, 0)", "coalesce(c_p_id, 0)"},
    {"nullif(c_p_id, 0)", "nullif(c_p_id, 0)"},
    {"nullif(0, 0)", "NULL"},
    {"nullif(1, 2.0)", "1.0"},
    {"nullif(null, 2)", "NULL"},
    {"nullif(c_p_id, null)", "nullif(c_p_id, NULL)"},
    {"coalesce(null, c_p_id, 7, c_id)", "coalesce(c_p_id, 7)"},
    {"coalesce(null, 2.5, c_id)", "2.5"},
    {"coalesce(null, c_id)", "c_id"},
    {"case when 1 = 2 then c_id when c_flag then 5 when true then 6 else c_id end",
     "case when c_flag then 5 else 6 end"},
    {"case when null then c_id else c_amount end", "c_amount"},
    {"case c_id * c_id when nullif(0, 0) then 1 end", "NULL"},
    {"case 1 when 1 then c_id else c_amount end", "c_id::DECIMAL(12,2)"},
    {"c_id::bigint", "c_id::BIGINT"},
    {"cast(c_amount as decimal(10,1))", "c_amount::DECIMAL(10,1)"},
    {"'5'::int", "5"},
    {"c_day::timestamp", "c_day::TIMESTAMP"},
    {"c_id::text", "c_id::TEXT"},
    {"c_text || c_id", "(c_text || c_id::TEXT)"},
    {"extract(year from c_at)", "extract_year(c_at)"},
    {"extract(month from c_day)", "extract_month(c_day)"},
    {"date_trunc('month', c_day)", "truncate_month(c_day)::TIMESTAMP"},
    {"substring(c_text from 2 for 3)", "substring(c_text, 2, 3)"},
    {"substr(c_text, 2)", "substring(c_text, 2, 2147483647)"},
    {"ascii(c_text)", "ascii(c_text)"},
    {"length(c_text)", "char_length(c_text)"},
    {"upper(c_text)", "upper(c_text)"},
    {"trim(c_text)", "trim(c_text)"},
    {"abs(c_id)", "abs(c_id)"},
    {"round(c_amount)", "round(c_amount, 0)"},
    {"round(c_amount, 1)", "round(c_amount, 1)"},
    {"round(c_ratio, 2)", "round(c_ratio, 2)"},
    {"floor(c_amount)", "floor(c_amount)"},
    {"ceil(c_ratio)", "ceil(c_ratio)"},
    {"null", "NULL"},
    {"null + c_id", "NULL"},
    {"c_id = null", "NULL"},
    {"true and c_flag", "c_flag"},
    {"c_flag or false", "c_flag"},
    {"1e3 * c_id", "(1000 * c_id::DOUBLE)"},
    {"123456789012345678901", "123456789012345678901"},
    {"0.5", "0.5"},
    {".5", "0.5"},
    {"'a' || 'b'", "'ab'"},
    {"1 = 1 and 2 < 3", "true"},
    {"-(-5)", "5"},
    {"- 2147483648", "-2147483648"},
    {"c_ratio > 1", "(c_ratio > 1)"},
    {"c_amount = c_id", "(c_amount = c_id::DECIMAL(12,2))"},
    {"c_flag = true", "(c_flag = true)"},
    {"c_flag > false", "(c_flag > false)"},
    {"c_amount + c_big", "(c_amount::DECIMAL(22,2) + c_big::DECIMAL(22,2))"},
    {"c_at between date '2001-01-01' and date '2001-02-01'",
     "((c_at >= '2001-01-01 00:00:00') and (c_at <= '2001-02-01 00:00:00'))"},
};

using SqlExpressionTest = SqlTest;

TEST_F(SqlExpressionTest, ExpressionsGetTypesCastsAndFoldedConstants) {
  for (const Bound& e : kExpressions) {
    const std::string sql = "select " + std::string(e.written) + " from child, parent";
    const std::string text = plan(sql);
    EXPECT_EQ(text.substr(0, text.find('\n')), "project [" + std::string(e.bound) + "]") << sql;
  }
}

TEST_F(SqlExpressionTest, ResultTypesFollowTheRules) {
  struct Typed {
    std::string_view written;
    std::string_view type;
  };
  constexpr Typed kTyped[] = {
      {"c_id + 1", "INT"},
      {"c_id + c_big", "BIGINT"},
      {"c_id * 3000000000", "BIGINT"},
      {"c_id + '3'", "INT"},
      {"c_id % 7", "INT"},
      {"c_big % 7", "BIGINT"},
      {"-2147483648", "INT"},
      {"-2147483649", "BIGINT"},
      {"-c_big", "BIGINT"},
      {"c_id - c_id", "INT"},
      {"abs(c_id)", "INT"},
      {"abs(c_big)", "BIGINT"},
      {"ascii(c_text)", "INT"},
      {"length(c_text)", "INT"},
      {"octet_length(c_text)", "INT"},
      {"strpos(c_text, 'a')", "INT"},
      {"sum(c_id + 1)", "BIGINT"},
      {"c_id", "INT"},
      {"c_amount + c_amount", "DECIMAL(13,2)"},
      {"c_amount * c_amount", "DECIMAL(24,4)"},
      {"c_amount / 2", "DECIMAL(38,16)"},
      {"c_id / 2", "INT"},
      {"c_big * c_amount", "DECIMAL(31,2)"},
      {"sum(c_id)", "BIGINT"},
      {"sum(c_big)", "DECIMAL(38,0)"},
      {"sum(c_amount)", "DECIMAL(38,2)"},
      {"sum(c_ratio)", "DOUBLE"},
      {"avg(c_amount)", "DECIMAL(38,16)"},
      {"avg(c_ratio)", "DOUBLE"},
      {"min(c_day)", "DATE"},
      {"count(c_text)", "BIGINT"},
      {"c_day + 1", "DATE"},
      {"c_day + interval '1' day", "TIMESTAMP"},
      {"round(c_amount, 1)", "DECIMAL(12,1)"},
      {"case when c_flag then 1 else 2.5 end", "DECIMAL(11,1)"},
      {"extract(year from c_at)", "BIGINT"},
      {"substr(c_text, 1, 1)", "TEXT"},
      {"c_id = 1", "BOOLEAN"},
  };
  for (const Typed& t : kTyped) {
    const std::string sql = "select " + std::string(t.written) + " from child" +
                            (t.written.starts_with("c_") ? " where c_id > 0" : "");
    const auto prepared = prepare(sql, catalog_, rows_);
    ASSERT_TRUE(prepared.ok()) << sql << ": " << prepared.error().to_string();
    EXPECT_EQ(prepared->root->output[0].to_string(), t.type) << sql;
  }
}

}  // namespace
}  // namespace diptych::olap
