#include "base/row_binding.h"

#include <set>

#include <gtest/gtest.h>

#include "base/value.h"

namespace diptych::base {

// Namespace-level, as Boost.Describe wants it. The order mixes alignments on purpose.
struct EveryCell {
  bool flag;
  int32_t number;
  Nullable<bool> maybe_flag;
  int64_t big;
  Char<2> short_char;
  Decimal<12, 2> amount;
  Nullable<int32_t> maybe_number;
  Varchar<64> inline_text;
  Date day;
  Nullable<Date> maybe_day;
  Varchar<65> long_text;
  Nullable<Varchar<3>> maybe_short;
  Timestamp moment;
  Nullable<Timestamp> maybe_moment;
  Char<100> long_char;
  Nullable<Char<1>> maybe_char;
  double ratio;
  Nullable<Decimal<4, 4>> maybe_rate;
  Text text;
  Nullable<Text> maybe_text;
  Nullable<Varchar<500>> maybe_long;
  Nullable<bool> last;
};
BOOST_DESCRIBE_STRUCT(EveryCell, (),
                      (flag, number, maybe_flag, big, short_char, amount, maybe_number, inline_text,
                       day, maybe_day, long_text, maybe_short, moment, maybe_moment, long_char,
                       maybe_char, ratio, maybe_rate, text, maybe_text, maybe_long, last))

struct Pair {
  int32_t key;
  Nullable<Decimal<12, 2>> amount;
};
BOOST_DESCRIBE_STRUCT(Pair, (), (key, amount))

// A column as another table could have it under the same name.
template <class Cell>
struct OneColumn {
  Cell a;
  BOOST_DESCRIBE_CLASS(OneColumn, (), (a), (), ())
};
struct OtherName {
  int32_t b;
};
BOOST_DESCRIBE_STRUCT(OtherName, (), (b))

namespace {

TableSchema schema_of(std::string name, const std::vector<BoundColumn>& columns) {
  TableSchema schema;
  schema.name = std::move(name);
  for (const BoundColumn& column : columns) {
    schema.columns.push_back({column.name, column.type, column.nullability});
  }
  return schema;
}

TEST(RowBinding, TheLayoutRuleAgreesWithTheCompilerForEveryCellType) {
  const TableSchema schema = schema_of("every", bound_columns<EveryCell>());
  ASSERT_EQ(schema.columns.size(), 22u);
  EXPECT_TRUE(check_binding<EveryCell>(schema).ok());
  const RowLayout layout(schema);
  EXPECT_EQ(layout.bytes, sizeof(EveryCell));
  EXPECT_EQ(layout.alignment, alignof(EveryCell));
  EXPECT_EQ(layout.long_strings.size(), 5u);
}

TEST(RowBinding, TheHashTellsApartNamesAndTypesAndAgreesWithTheSchemas) {
  const std::set<uint64_t> hashes = {
      columns_hash<OneColumn<int32_t>>(),           columns_hash<OneColumn<Date>>(),
      columns_hash<OneColumn<int64_t>>(),           columns_hash<OneColumn<Decimal<4, 2>>>(),
      columns_hash<OneColumn<Decimal<5, 2>>>(),     columns_hash<OneColumn<Decimal<4, 1>>>(),
      columns_hash<OneColumn<Varchar<4>>>(),        columns_hash<OneColumn<Varchar<5>>>(),
      columns_hash<OneColumn<Char<4>>>(),           columns_hash<OneColumn<Text>>(),
      columns_hash<OneColumn<Nullable<int32_t>>>(), columns_hash<OtherName>()};
  EXPECT_EQ(hashes.size(), 12U);
  EXPECT_EQ(columns_hash<EveryCell>(),
            columns_hash(schema_of("every", bound_columns<EveryCell>())));
}

TEST(RowBinding, TheRowDrawnInTheHeaderIsLaidOutSo) {
  TableSchema schema;
  schema.columns = {{"a", {.kind = TypeKind::kInt}, Nullability::kNotNull},
                    {"b", {.kind = TypeKind::kBigInt}, Nullability::kNullable},
                    {"c", {.kind = TypeKind::kVarchar, .length = 3}, Nullability::kNotNull}};
  const RowLayout layout(schema);
  EXPECT_EQ(layout.columns[0].offset, 0u);
  EXPECT_EQ(layout.columns[1].offset, 8u);
  EXPECT_EQ(layout.columns[1].null_offset, 16u);
  EXPECT_EQ(layout.columns[1].bytes, 16u);
  EXPECT_EQ(layout.columns[2].offset, 24u);
  EXPECT_EQ(layout.columns[2].bytes, 4u);
  EXPECT_EQ(layout.bytes, 32u);
}

TEST(RowBinding, ABoundStructIsTheRowsBytes) {
  const TableSchema schema = schema_of("every", bound_columns<EveryCell>());
  const RowLayout layout(schema);
  EveryCell row{};
  row.number = -3;
  row.short_char = std::string_view("GC");
  row.amount = {-1050};
  row.maybe_day = Date{17};
  row.long_text = std::string_view("long");
  row.maybe_short = Varchar<3>("abc");
  row.maybe_text = Text("tail");
  const auto* bytes = reinterpret_cast<const std::byte*>(&row);
  const auto value = [&](auto column) { return load_value(layout.column(column), bytes); };
  EXPECT_EQ(value(kColumn<&EveryCell::number>), Value(int64_t{-3}));
  EXPECT_EQ(value(kColumn<&EveryCell::short_char>), Value(std::string("GC")));
  EXPECT_EQ(value(kColumn<&EveryCell::amount>), Value(DecimalValue{-1050, 2}));
  EXPECT_EQ(value(kColumn<&EveryCell::maybe_day>), Value(Date{17}));
  EXPECT_EQ(value(kColumn<&EveryCell::maybe_number>), Value());
  EXPECT_EQ(value(kColumn<&EveryCell::long_text>), Value(std::string("long")));
  EXPECT_EQ(value(kColumn<&EveryCell::maybe_short>), Value(std::string("abc")));
  EXPECT_EQ(value(kColumn<&EveryCell::maybe_text>), Value(std::string("tail")));
  EXPECT_EQ(value(kColumn<&EveryCell::last>), Value());
}

TEST(RowBinding, ColumnOfIsThePositionInTheStruct) {
  static_assert(column_of<&EveryCell::flag>() == 0);
  static_assert(column_of<&EveryCell::maybe_flag>() == 2);
  static_assert(column_of<&EveryCell::last>() == 21);
  static_assert(kColumn<&Pair::amount> == ColumnId(1));
}

class Mismatch : public testing::Test {
 protected:
  TableSchema schema_ = schema_of("pairs", bound_columns<Pair>());

  std::string message() const {
    const auto checked = check_binding<Pair>(schema_);
    if (checked.ok()) return "no error";
    EXPECT_EQ(checked.code(), ErrorCode::kInvalidArgument);
    return checked.error().message;
  }
};

TEST_F(Mismatch, OfTheCount) {
  schema_.columns.push_back({"more", {.kind = TypeKind::kInt}});
  EXPECT_EQ(
      message(),
      "row struct does not fit table \"pairs\": the struct has 2 members, the table 3 columns: "
      "\"more\" is no member");
  schema_.columns.insert(schema_.columns.begin(), {"first", {.kind = TypeKind::kInt}});
  EXPECT_EQ(
      message(),
      "row struct does not fit table \"pairs\": the struct has 2 members, the table 4 columns: "
      "member 1 is \"key\", column 1 is \"first\"");
  schema_.columns.erase(schema_.columns.begin() + 2, schema_.columns.end());
  schema_.columns.erase(schema_.columns.begin());
  EXPECT_EQ(
      message(),
      "row struct does not fit table \"pairs\": the struct has 2 members, the table 1 columns: "
      "\"amount\" is no column");
}

TEST_F(Mismatch, OfANameOrTheOrder) {
  std::swap(schema_.columns[0], schema_.columns[1]);
  EXPECT_EQ(message(),
            "row struct does not fit table \"pairs\": member 1 is \"key\", column 1 is \"amount\"");
}

TEST_F(Mismatch, OfTheKind) {
  schema_.columns[0].type.kind = TypeKind::kBigInt;
  EXPECT_EQ(
      message(),
      "row struct does not fit table \"pairs\": member \"key\" is INT NOT NULL, the column is "
      "BIGINT NOT NULL");
}

TEST_F(Mismatch, OfTheScale) {
  schema_.columns[1].type.scale = 4;
  EXPECT_EQ(
      message(),
      "row struct does not fit table \"pairs\": member \"amount\" is DECIMAL(12,2), the column "
      "is DECIMAL(12,4)");
}

TEST_F(Mismatch, OfTheNullability) {
  schema_.columns[1].nullability = Nullability::kNotNull;
  EXPECT_EQ(
      message(),
      "row struct does not fit table \"pairs\": member \"amount\" is DECIMAL(12,2), the column "
      "is DECIMAL(12,2) NOT NULL");
}

TEST(Types, AStringThatIsTooLongForItsCellDoesNotFit) {
  EXPECT_TRUE(Varchar<3>("abc").fits());
  EXPECT_FALSE(Varchar<3>("abcd").fits());
  EXPECT_NE(Varchar<3>("abcd"), Varchar<3>("abc"));
  EXPECT_EQ(Varchar<3>("abcd").view(), "abc");
  EXPECT_TRUE(Varchar<100>(std::string(100, 'x')).fits());
  EXPECT_FALSE(Varchar<100>(std::string(101, 'x')).fits());
}

TEST(Types, CharKeepsNoTrailingBlanks) {
  EXPECT_EQ(Char<5>("ab  "), Char<5>("ab"));
  EXPECT_EQ(Char<3>("ab   ").view(), "ab");
  EXPECT_EQ(Char<100>("ab  ").view(), "ab");
  EXPECT_EQ(Varchar<5>("ab  ").view(), "ab  ");
}

}  // namespace
}  // namespace diptych::base
