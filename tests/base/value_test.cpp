#include "base/value.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace diptych::base {
namespace {

constexpr DataType kIntType{.kind = TypeKind::kInt};
constexpr DataType kBigIntType{.kind = TypeKind::kBigInt};
constexpr DataType kDoubleType{.kind = TypeKind::kDouble};
constexpr DataType kBooleanType{.kind = TypeKind::kBoolean};
constexpr DataType kDateType{.kind = TypeKind::kDate};
constexpr DataType kTimestampType{.kind = TypeKind::kTimestamp};
constexpr DataType kTextType{.kind = TypeKind::kVarchar};
constexpr DataType kDecimal5_2{.kind = TypeKind::kDecimal, .precision = 5, .scale = 2};

DataType decimal(uint8_t precision, uint8_t scale) {
  return {.kind = TypeKind::kDecimal, .precision = precision, .scale = scale};
}

DataType varchar(uint32_t length) {
  return {.kind = TypeKind::kVarchar, .length = length};
}

Value parsed(const DataType& type, std::string_view text) {
  auto value = parse_value(type, text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().to_string());
  return value.ok() ? *value : Value();
}

std::string parse_error(const DataType& type, std::string_view text) {
  const auto value = parse_value(type, text);
  if (value.ok()) return "no error: " + to_string(*value);
  EXPECT_EQ(value.code(), ErrorCode::kInvalidArgument);
  return value.error().message;
}

void expect_round_trip(const DataType& type, const Value& value) {
  const std::string text = to_string(value);
  const auto back = parse_value(type, text);
  ASSERT_TRUE(back.ok()) << type.to_string() << " " << text << ": " << back.error().message;
  EXPECT_EQ(*back, value) << type.to_string() << " " << text;
}

TEST(ValueText, IntegersReadBackAtTheirLimits) {
  for (const int64_t number : {int64_t{INT32_MIN}, int64_t{-1}, int64_t{0}, int64_t{INT32_MAX}}) {
    expect_round_trip(kIntType, Value(number));
  }
  expect_round_trip(kBigIntType, Value(int64_t{INT64_MIN}));
  expect_round_trip(kBigIntType, Value(int64_t{INT64_MAX}));
  EXPECT_EQ(parsed(kIntType, " +7\t"), Value(int64_t{7}));
}

TEST(ValueText, IntegerErrorsSayWhy) {
  EXPECT_EQ(parse_error(kIntType, "12x"), "\"12x\" is not a whole number");
  EXPECT_EQ(parse_error(kIntType, ""), "\"\" is not a whole number");
  EXPECT_EQ(parse_error(kIntType, "+-1"), "\"+-1\" is not a whole number");
  EXPECT_EQ(parse_error(kIntType, "1.5"), "\"1.5\" is not a whole number");
  EXPECT_EQ(parse_error(kIntType, "2147483648"),
            "\"2147483648\" is out of range for INT (-2147483648 to 2147483647)");
  EXPECT_EQ(parse_error(kBigIntType, "9223372036854775808"),
            "\"9223372036854775808\" is out of range for BIGINT "
            "(-9223372036854775808 to 9223372036854775807)");
}

TEST(ValueText, DecimalsReadBack) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto precision = static_cast<uint8_t>(1 + random() % kDecimalDigitsMax);
    const auto scale = static_cast<uint8_t>(random() % (precision + 1u));
    int64_t limit = 1;
    for (int i = 0; i < precision; ++i) limit *= 10;
    const auto units = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
    expect_round_trip(decimal(precision, scale),
                      Value(DecimalValue{round % 2 == 0 ? units : -units, scale}));
  }
}

TEST(ValueText, DecimalsPrintWithTheirScale) {
  EXPECT_EQ(decimal_to_string(350, 2), "3.50");
  EXPECT_EQ(decimal_to_string(-5, 2), "-0.05");
  EXPECT_EQ(decimal_to_string(0, 2), "0.00");
  EXPECT_EQ(decimal_to_string(-42, 0), "-42");
  const int128_t least = -(int128_t{1} << 126) * 2;
  EXPECT_EQ(decimal_to_string(least, 4), "-17014118346046923173168730371588410.5728");
}

TEST(ValueText, DecimalsMayHaveAnExponent) {
  EXPECT_EQ(parsed(kDecimal5_2, "1e2"), Value(DecimalValue{10000, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, " -12.5E+1 "), Value(DecimalValue{-12500, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, ".0012e4"), Value(DecimalValue{1200, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, "12300e-4"), Value(DecimalValue{123, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, "500e-2"), Value(DecimalValue{500, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, "0.00e99999999999999999999"), Value(DecimalValue{0, 2}));
  EXPECT_EQ(parse_error(kDecimal5_2, "1e3"),
            "\"1e3\" is out of range for DECIMAL(5,2): at most 3 digits before the point");
  EXPECT_EQ(parse_error(kDecimal5_2, "1e99999999999999999999"),
            "\"1e99999999999999999999\" is out of range for DECIMAL(5,2): at most 3 digits before "
            "the point");
  EXPECT_EQ(parse_error(kDecimal5_2, "1e-3"),
            "\"1e-3\" has 3 digits after the point; DECIMAL(5,2) keeps 2");
  for (const char* text : {"e2", "1e", "1e+", "1e+-2", "1e2.5", "1e2e3", ".e1", "1 e2"}) {
    EXPECT_EQ(parse_error(kDecimal5_2, text),
              "\"" + std::string(text) + "\" is not a decimal number");
  }
}

TEST(ValueText, DecimalsAreNeverRounded) {
  EXPECT_EQ(parsed(kDecimal5_2, "1.500"), Value(DecimalValue{150, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, ".5"), Value(DecimalValue{50, 2}));
  EXPECT_EQ(parsed(kDecimal5_2, "0000123."), Value(DecimalValue{12300, 2}));
  EXPECT_EQ(parse_error(kDecimal5_2, "1.234"),
            "\"1.234\" has 3 digits after the point; DECIMAL(5,2) keeps 2");
  EXPECT_EQ(parse_error(kDecimal5_2, "1000"),
            "\"1000\" is out of range for DECIMAL(5,2): at most 3 digits before the point");
  EXPECT_EQ(parse_error(kDecimal5_2, "."), "\".\" is not a decimal number");
  EXPECT_EQ(parse_error(kDecimal5_2, "-"), "\"-\" is not a decimal number");
  EXPECT_EQ(parse_error(kDecimal5_2, "1.2.3"), "\"1.2.3\" is not a decimal number");
}

TEST(ValueText, DoublesReadBackEqual) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    const auto number = std::bit_cast<double>(random());
    if (std::isnan(number)) continue;
    expect_round_trip(kDoubleType, Value(number));
  }
  expect_round_trip(kDoubleType, Value(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(to_string(Value(0.1)), "0.1");
  EXPECT_EQ(parse_error(kDoubleType, "1e999"), "\"1e999\" is out of range for DOUBLE");
  EXPECT_EQ(parse_error(kDoubleType, "one"), "\"one\" is not a number");
}

TEST(ValueText, BooleansHaveSixSpellings) {
  for (const char* text : {"true", "T", "1"}) EXPECT_EQ(parsed(kBooleanType, text), Value(true));
  for (const char* text : {"FALSE", "f", "0"}) EXPECT_EQ(parsed(kBooleanType, text), Value(false));
  EXPECT_EQ(parse_error(kBooleanType, "maybe"), "\"maybe\" is not a BOOLEAN (true or false)");
}

TEST(ValueText, DatesReadBack) {
  const int32_t first = date_from_civil({1, 1, 1}).days;
  const int32_t last = date_from_civil({9999, 12, 31}).days;
  for (int32_t days = first; days <= last; days += 37) {
    expect_round_trip(kDateType, Value(Date{days}));
  }
  EXPECT_EQ(to_string(Date{0}), "1970-01-01");
  const int32_t end = date_from_civil({5'874'897, 12, 31}).days;
  for (int64_t days = last; days <= end; days += 1'234'567) {
    expect_round_trip(kDateType, Value(Date{static_cast<int32_t>(days)}));
  }
  expect_round_trip(kDateType, Value(Date{end}));
  EXPECT_EQ(to_string(Date{end}), "5874897-12-31");
}

TEST(ValueText, DateErrorsSayWhy) {
  EXPECT_EQ(parse_error(kDateType, "2026-02-30"), "\"2026-02-30\" names no day of the calendar");
  EXPECT_EQ(parse_error(kDateType, "0000-12-31"), "\"0000-12-31\" names no day of the calendar");
  EXPECT_EQ(parse_error(kDateType, "5874898-01-01"),
            "\"5874898-01-01\" names no day of the calendar");
  EXPECT_EQ(parse_error(kDateType, "10001-02-29"), "\"10001-02-29\" names no day of the calendar");
  EXPECT_EQ(to_string(parsed(kDateType, "12000/2/29")), "12000-02-29");
  EXPECT_EQ(parse_error(kTimestampType, "300000-01-01 00:00"),
            "\"300000-01-01 00:00\" is beyond the last TIMESTAMP, in January of 294247");
  EXPECT_EQ(to_string(parsed(kTimestampType, "294247-01-10 04:00:54.775807")),
            "294247-01-10 04:00:54.775807");
  EXPECT_EQ(parsed(kDateType, "2026-2-3"), parsed(kDateType, "2026-02-03"));
  EXPECT_EQ(parsed(kDateType, "2026/2/03"), parsed(kDateType, "20260203"));
  for (const char* const text :
       {"2026-2/3", "2026-2", "2026--3", "2026-002-3", "202623", "02026-2", "00002026-01-01"}) {
    EXPECT_EQ(parse_error(kDateType, text), fmt::format("\"{}\" is not a DATE (YYYY-MM-DD)", text));
  }
  EXPECT_EQ(parse_error(kDateType, "2026-02-30x"), "\"2026-02-30x\" is not a DATE (YYYY-MM-DD)");
  EXPECT_EQ(parse_error(kDateType, "21.11.2026"), "\"21.11.2026\" names no day of the calendar");
  EXPECT_EQ(parse_error(kDateType, "Jan 2026"), "\"Jan 2026\" is not a DATE (YYYY-MM-DD)");
}

TEST(ValueText, DatesAreReadAsPeopleWriteThem) {
  for (const char* const text :
       {"5-Jan-2026", "jan 5, 2026", "Jan 5 26", "January 5, 2026 10:00", "2026-Jan-05", "5Jan2026",
        "Fri, 05 Jan 2026 10:20:30 GMT", "1/5/2026", "01.05.26", "1-5-2026", "2026-01-05 UTC"}) {
    EXPECT_EQ(parsed(kDateType, text), parsed(kDateType, "2026-01-05")) << text;
  }
  EXPECT_EQ(to_string(parsed(kDateType, "1/5/70")), "1970-01-05");
  EXPECT_EQ(to_string(parsed(kDateType, "1/5/69")), "2069-01-05");
}

TEST(ValueText, TimestampsReadBackOnBothSidesOfTheEpoch) {
  std::mt19937_64 random(3);
  const int64_t reach = int64_t{1900} * 365 * 86'400 * 1'000'000;
  for (int round = 0; round < 2000; ++round) {
    const auto micros = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * reach)) - reach;
    expect_round_trip(kTimestampType, Value(Timestamp{micros}));
  }
  EXPECT_EQ(to_string(Timestamp{-1}), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(to_string(Timestamp{1'000'000}), "1970-01-01 00:00:01");
}

TEST(ValueText, TimestampsTakeShorterForms) {
  const Value noon(Timestamp{int64_t{12} * 3600 * 1'000'000});
  EXPECT_EQ(parsed(kTimestampType, "1970-01-01T12:00"), noon);
  EXPECT_EQ(parsed(kTimestampType, "1970-01-01 12:00:00.0"), noon);
  EXPECT_EQ(parsed(kTimestampType, "1970-01-01"), Value(Timestamp{0}));
  const std::string form = " is not a TIMESTAMP (YYYY-MM-DD HH:MM:SS.ffffff)";
  EXPECT_EQ(parsed(kTimestampType, "1970-01-01 24:00"), parsed(kTimestampType, "1970-01-02"));
  EXPECT_EQ(parsed(kTimestampType, "1970-1-1 2:3:4"), Value(Timestamp{7'384'000'000}));
  for (const char* const text : {"1970-01-01 1", "1970-01-01 1::2", "1970-01-01 001:00"}) {
    EXPECT_EQ(parse_error(kTimestampType, text), fmt::format("\"{}\"{}", text, form));
  }
  for (const char* const text : {"1970-01-01 24:00:01", "1970-01-01 1:60", "1970-01-01 13:00 PM"}) {
    EXPECT_EQ(parse_error(kTimestampType, text),
              fmt::format("\"{}\" names no time of a day", text));
  }
  EXPECT_EQ(parse_error(kTimestampType, "1970-01-01 "), "no error: 1970-01-01 00:00:00");
  EXPECT_EQ(parsed(kTimestampType, "1970-01-01 12:00:00.0000004"), noon);
  EXPECT_EQ(parsed(kTimestampType, "1970-01-01 11:59:59.9999995"), noon);
}

TEST(ValueText, TimestampsIgnoreAZone) {
  const Value noon(Timestamp{int64_t{12} * 3600 * 1'000'000});
  for (const char* const text :
       {"1970-01-01T12:00:00Z", "1970-01-01 12:00z", "1970-01-01 12:00:00.0 utc",
        "1970-01-01 12:00 GMT", "1970-01-01 12:00+00:00", "1970-01-01 12:00:00 -03:30:15",
        "1970-01-01 12:00+2", "19700101T1200+0200", "1970-01-01 12:00 PM +01"}) {
    EXPECT_EQ(parsed(kTimestampType, text), noon) << text;
  }
  for (const char* const text : {"1970-01-01 12:00+16", "1970-01-01 12:00+02:60"}) {
    EXPECT_EQ(parse_error(kTimestampType, text), fmt::format("\"{}\" names no time zone", text));
  }
  for (const char* const text : {"1970-01-01 12:00 XYZ", "1970-01-01 12:00Z+1", "1970-01-01 12:00+",
                                 "1970-01-01 12:00+02x"}) {
    EXPECT_EQ(parse_error(kTimestampType, text),
              fmt::format("\"{}\" is not a TIMESTAMP (YYYY-MM-DD HH:MM:SS.ffffff)", text));
  }
}

TEST(ValueText, StringsKeepTheirBytesUpToTheLimit) {
  EXPECT_EQ(parsed(varchar(3), " a "), Value(std::string(" a ")));
  EXPECT_EQ(parsed({.kind = TypeKind::kChar, .length = 3}, "ab    "), Value(std::string("ab")));
  EXPECT_EQ(parse_error(varchar(3), "abcd"), "\"abcd\" has 4 bytes; VARCHAR(3) keeps 3");
  EXPECT_EQ(parse_error(varchar(3), "\u20ac."), "\"\u20ac.\" has 4 bytes; VARCHAR(3) keeps 3");
}

TEST(ValueText, LongOffendersAreCutBetweenCharacters) {
  const std::string text = std::string(39, 'x') + "\u20ac and more";
  EXPECT_EQ(parse_error(kIntType, text),
            "\"" + std::string(39, 'x') + "...\" is not a whole number");
}

TEST(ValueText, OffendersStayOnOneLine) {
  EXPECT_EQ(parse_error(kIntType, "1\n\x1b[31m"), "\"1\\x0a\\x1b[31m\" is not a whole number");
}

TEST(CivilDates, AgreeWithTheCalendarOfTheStandardLibrary) {
  using std::chrono::sys_days;
  sys_days day = std::chrono::year(-4800) / 3 / 1;
  for (int step = 0; step < 20'000; ++step, day += std::chrono::days(367)) {
    const std::chrono::year_month_day expected(day);
    const Date date{static_cast<int32_t>(day.time_since_epoch().count())};
    const CivilDate civil = civil_from_date(date);
    EXPECT_EQ(civil.year, static_cast<int>(expected.year()));
    EXPECT_EQ(civil.month, static_cast<unsigned>(expected.month()));
    EXPECT_EQ(civil.day, static_cast<unsigned>(expected.day()));
    EXPECT_EQ(date_from_civil(civil), date);
  }
}

TEST(CivilDates, GoOnWhereTheStandardLibrarysYearsEnd) {
  EXPECT_EQ(civil_from_date(Date{15'908 + 35'796'000}).year, 100'019);
  for (const int64_t days : {int64_t{INT32_MIN}, int64_t{-12'000'000}, int64_t{11'960'000},
                             int64_t{11'980'000}, int64_t{INT32_MAX}}) {
    const Date date{static_cast<int32_t>(days)};
    EXPECT_EQ(date_from_civil(civil_from_date(date)), date) << days;
  }
}

Value converted(const DataType& type, const Value& value) {
  auto result = convert_value(type, value);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().to_string());
  return result.ok() ? *result : Value();
}

std::string convert_error(const DataType& type, const Value& value) {
  const auto result = convert_value(type, value);
  return result.ok() ? "no error: " + to_string(*result) : result.error().message;
}

TEST(ConvertValue, TakesWhatLosesNothing) {
  EXPECT_EQ(converted(kDecimal5_2, Value(int64_t{3})), Value(DecimalValue{300, 2}));
  EXPECT_EQ(converted(kDecimal5_2, Value(DecimalValue{15, 1})), Value(DecimalValue{150, 2}));
  EXPECT_EQ(converted(kDecimal5_2, Value(DecimalValue{15000, 4})), Value(DecimalValue{150, 2}));
  EXPECT_EQ(converted(kIntType, Value(DecimalValue{300, 2})), Value(int64_t{3}));
  EXPECT_EQ(converted(kDoubleType, Value(int64_t{3})), Value(3.0));
  EXPECT_EQ(converted(kDoubleType, Value(DecimalValue{1, 1})), Value(0.1));
  EXPECT_EQ(converted(kTimestampType, Value(Date{1})), Value(Timestamp{86'400'000'000}));
  EXPECT_EQ(converted(kDateType, Value(Timestamp{-86'400'000'000})), Value(Date{-1}));
  EXPECT_EQ(converted(kDateType, Value(std::string("1970-01-02"))), Value(Date{1}));
  EXPECT_EQ(converted(kIntType, Value()), Value());
}

TEST(ConvertValue, RefusesWhatLosesSomething) {
  EXPECT_EQ(convert_error(kIntType, Value(int64_t{1} << 31)),
            "\"2147483648\" is out of range for INT (-2147483648 to 2147483647)");
  EXPECT_EQ(convert_error(kIntType, Value(DecimalValue{15, 1})),
            "DECIMAL \"1.5\" cannot be taken as INT");
  EXPECT_EQ(convert_error(kDecimal5_2, Value(DecimalValue{1, 3})),
            "\"0.001\" has more digits after the point than DECIMAL(5,2) keeps");
  EXPECT_EQ(convert_error(kDecimal5_2, Value(int64_t{-1000})),
            "\"-1000\" is out of range for DECIMAL(5,2): at most 3 digits before the point");
  EXPECT_EQ(convert_error(kDecimal5_2, Value(int64_t{INT64_MAX})),
            "\"9223372036854775807\" is out of range for DECIMAL(5,2): "
            "at most 3 digits before the point");
  EXPECT_EQ(convert_error(kDecimal5_2, Value(0.5)),
            "DOUBLE \"0.5\" cannot be taken as DECIMAL(5,2)");
  EXPECT_EQ(convert_error(kDoubleType, Value(int64_t{INT64_MAX})),
            "BIGINT \"9223372036854775807\" cannot be taken as DOUBLE");
  EXPECT_EQ(convert_error(kDateType, Value(Timestamp{1})),
            "TIMESTAMP \"1970-01-01 00:00:00.000001\" cannot be taken as DATE");
  EXPECT_EQ(convert_error(kTextType, Value(int64_t{1})), "BIGINT \"1\" cannot be taken as TEXT");
  EXPECT_EQ(convert_error(kBooleanType, Value(int64_t{1})),
            "BIGINT \"1\" cannot be taken as BOOLEAN");
}

struct TypedValue {
  DataType type;
  Value value;
};

std::vector<TypedValue> one_of_each() {
  return {{kIntType, Value(int64_t{-5})},
          {kBigIntType, Value(int64_t{1} << 40)},
          {decimal(12, 2), Value(DecimalValue{-1234, 2})},
          {kDoubleType, Value(2.5)},
          {kBooleanType, Value(true)},
          {kDateType, Value(Date{20'000})},
          {kTimestampType, Value(Timestamp{-17})},
          {{.kind = TypeKind::kChar, .length = 2}, Value(std::string("GC"))},
          {{.kind = TypeKind::kChar, .length = 100}, Value(std::string(100, 'c'))},
          {varchar(16), Value(std::string("OUGHTABLEESE"))},
          {varchar(64), Value(std::string(64, 'v'))},
          {varchar(500), Value(std::string(500, 'w'))},
          {kTextType, Value(std::string())}};
}

TEST(Cells, LoadReturnsWhatStorePutForEveryType) {
  for (const Nullability nullability : {Nullability::kNotNull, Nullability::kNullable}) {
    TableSchema schema;
    const std::vector<TypedValue> cells = one_of_each();
    for (size_t i = 0; i < cells.size(); ++i) {
      schema.columns.push_back({"c" + std::to_string(i), cells[i].type, nullability});
    }
    const RowLayout layout(schema);
    std::vector<std::byte> row(layout.bytes, std::byte{0xaa});
    for (size_t i = 0; i < cells.size(); ++i) {
      ASSERT_TRUE(store_value(layout.columns[i], cells[i].value, row.data()).ok());
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      EXPECT_EQ(load_value(layout.columns[i], row.data()), cells[i].value)
          << cells[i].type.to_string();
    }
  }
}

TEST(Cells, NullsAreKeptOrRefused) {
  for (const TypedValue& cell : one_of_each()) {
    TableSchema schema;
    schema.columns = {{"kept", cell.type, Nullability::kNullable},
                      {"refused", cell.type, Nullability::kNotNull}};
    const RowLayout layout(schema);
    std::vector<std::byte> row(layout.bytes, std::byte{0xaa});
    ASSERT_TRUE(store_value(layout.columns[0], cell.value, row.data()).ok());
    EXPECT_FALSE(is_null_cell(layout.columns[0], row.data()));
    ASSERT_TRUE(store_value(layout.columns[0], Value(), row.data()).ok());
    EXPECT_TRUE(is_null_cell(layout.columns[0], row.data()));
    EXPECT_EQ(load_value(layout.columns[0], row.data()), Value());
    const auto refused = store_value(layout.columns[1], Value(), row.data());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), ErrorCode::kNotNull);
    EXPECT_EQ(refused.error().message,
              "NULL, and the column is " + cell.type.to_string() + " NOT NULL");
  }
}

TEST(Cells, ARefusedValueLeavesTheCellAlone) {
  TableSchema schema;
  schema.columns = {{"s", varchar(3), Nullability::kNotNull}};
  const RowLayout layout(schema);
  std::vector<std::byte> row(layout.bytes);
  ASSERT_TRUE(store_value(layout.columns[0], Value(std::string("abc")), row.data()).ok());
  ASSERT_FALSE(store_value(layout.columns[0], Value(std::string("abcd")), row.data()).ok());
  EXPECT_EQ(load_string(layout.columns[0], row.data()), "abc");
}

// Nobody reads the bytes: there are fewer than the view says.
TEST(Cells, ALongStringOfMoreBytesThanItsSizeCanSayDoesNotFit) {
  const std::string_view text("x", (size_t{1} << 32) + 1);
  EXPECT_FALSE(LongVarchar<100>(text).fits());
  EXPECT_EQ(Text(text).size, Text::kSizeMax);
}

TEST(Cells, EqualValuesHaveEqualBytes) {
  TableSchema schema;
  schema.columns = {{"s", varchar(16), Nullability::kNullable}};
  const RowLayout layout(schema);
  std::vector<std::byte> one(layout.bytes);
  std::vector<std::byte> other(layout.bytes);
  ASSERT_TRUE(store_value(layout.columns[0], Value(std::string("longer before")), one.data()).ok());
  ASSERT_TRUE(store_value(layout.columns[0], Value(std::string("now")), one.data()).ok());
  ASSERT_TRUE(store_value(layout.columns[0], Value(std::string("now")), other.data()).ok());
  EXPECT_EQ(one, other);
}

TEST(Cells, ALongStringPointsAtTheValuesOwnBytes) {
  TableSchema schema;
  schema.columns = {{"s", kTextType, Nullability::kNotNull}};
  const RowLayout layout(schema);
  std::vector<std::byte> row(layout.bytes);
  const Value value(std::string(200, 'x'));
  ASSERT_TRUE(store_value(layout.columns[0], value, row.data()).ok());
  EXPECT_EQ(load_string(layout.columns[0], row.data()).data(), std::get<std::string>(value).data());
}

}  // namespace
}  // namespace diptych::base
