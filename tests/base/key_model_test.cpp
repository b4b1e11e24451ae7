#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <random>

#include <gtest/gtest.h>

#include "base/key.h"
#include "base/value.h"

namespace diptych::base {
namespace {

using Random = std::mt19937_64;

template <class... Parts>
Key make_key(const Parts&... parts) {
  Key key;
  (key.append(parts), ...);
  return key;
}

// The order that SQL gives two values of one column; nulls last.
std::strong_ordering compare(const Value& left, const Value& right) {
  if (is_null(left) || is_null(right)) return is_null(left) <=> is_null(right);
  EXPECT_EQ(left.index(), right.index());
  if (const auto* number = std::get_if<double>(&left)) {
    const double other = std::get<double>(right);
    if (std::isnan(*number) || std::isnan(other)) return std::isnan(*number) <=> std::isnan(other);
    return *number < other   ? std::strong_ordering::less
           : *number > other ? std::strong_ordering::greater
                             : std::strong_ordering::equal;
  }
  if (const auto* decimal = std::get_if<DecimalValue>(&left)) {
    return decimal->units <=> std::get<DecimalValue>(right).units;
  }
  if (const auto* text = std::get_if<std::string>(&left)) {
    return text->compare(std::get<std::string>(right)) <=> 0;
  }
  if (const auto* date = std::get_if<Date>(&left)) return *date <=> std::get<Date>(right);
  if (const auto* time = std::get_if<Timestamp>(&left)) return *time <=> std::get<Timestamp>(right);
  if (const auto* flag = std::get_if<bool>(&left)) return *flag <=> std::get<bool>(right);
  return std::get<int64_t>(left) <=> std::get<int64_t>(right);
}

// Mostly values near each other and near the limits: there the order is easiest to get wrong.
int64_t any_integer(Random& random, int64_t least, int64_t most) {
  switch (random() % 4) {
    case 0: return static_cast<int64_t>(random() % 7) - 3;
    case 1: return least + static_cast<int64_t>(random() % 3);
    case 2: return most - static_cast<int64_t>(random() % 3);
    default:
      return least == INT64_MIN ? static_cast<int64_t>(random()) : static_cast<int32_t>(random());
  }
}

double any_double(Random& random) {
  constexpr double kCorners[] = {0.0,    -0.0,    1.0,      -1.0,      1e308, -1e308,
                                 5e-324, -5e-324, INFINITY, -INFINITY, NAN,   -NAN};
  if (random() % 3 == 0) return kCorners[random() % std::size(kCorners)];
  return std::bit_cast<double>(random());
}

std::string any_string(Random& random, size_t bytes_max) {
  constexpr char kBytes[] = {'\0', '\1', 'a', 'b', '\xfe', '\xff'};
  std::string text(random() % (bytes_max + 1), '\0');
  for (char& c : text) c = kBytes[random() % std::size(kBytes)];
  return text;
}

Value any_value(Random& random, const ColumnSchema& column) {
  if (column.nullability == Nullability::kNullable && random() % 5 == 0) return {};
  switch (column.type.kind) {
    case TypeKind::kInt: return Value(any_integer(random, INT32_MIN, INT32_MAX));
    case TypeKind::kBigInt: return Value(any_integer(random, INT64_MIN, INT64_MAX));
    case TypeKind::kDecimal:
      return Value(DecimalValue{static_cast<int64_t>(random() % 1999) - 999, column.type.scale});
    case TypeKind::kDouble: return Value(any_double(random));
    case TypeKind::kBoolean: return Value(random() % 2 == 0);
    case TypeKind::kDate:
      return Value(Date{static_cast<int32_t>(any_integer(random, INT32_MIN, INT32_MAX))});
    case TypeKind::kTimestamp: return Value(Timestamp{any_integer(random, INT64_MIN, INT64_MAX)});
    case TypeKind::kChar:
    case TypeKind::kVarchar: return Value(any_string(random, 5));
    case TypeKind::kInterval: break;  // no column's
  }
  return {};
}

TableSchema every_column() {
  TableSchema schema;
  schema.name = "every";
  constexpr uint32_t kNotPadded = kPaddedTextBytesMax + 1;
  const std::vector<DataType> types = {{.kind = TypeKind::kInt},
                                       {.kind = TypeKind::kBigInt},
                                       {.kind = TypeKind::kDecimal, .precision = 3, .scale = 1},
                                       {.kind = TypeKind::kDouble},
                                       {.kind = TypeKind::kBoolean},
                                       {.kind = TypeKind::kDate},
                                       {.kind = TypeKind::kTimestamp},
                                       {.kind = TypeKind::kVarchar, .length = 5},
                                       {.kind = TypeKind::kVarchar, .length = kNotPadded},
                                       {.kind = TypeKind::kVarchar}};
  for (const DataType& type : types) {
    for (const auto nullability : {Nullability::kNotNull, Nullability::kNullable}) {
      schema.columns.push_back({"c" + std::to_string(schema.columns.size()), type, nullability});
    }
  }
  return schema;
}

struct KeyedRow {
  std::vector<Value> values;  // of the index columns
  Key key;
};

KeyedRow any_row(Random& random, const TableSchema& schema, const RowLayout& layout,
                 const std::vector<ColumnId>& columns) {
  KeyedRow row;
  std::vector<std::byte> bytes(layout.bytes);
  for (const ColumnId column : columns) {
    row.values.push_back(any_value(random, schema.column(column)));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    EXPECT_TRUE(store_value(layout.column(columns[i]), row.values[i], bytes.data()).ok());
  }
  KeyEncoder(layout, columns).encode(bytes.data(), &row.key);
  EXPECT_TRUE(row.key.ok());
  return row;
}

std::strong_ordering compare_rows(const KeyedRow& left, const KeyedRow& right, size_t columns) {
  for (size_t i = 0; i < columns; ++i) {
    const auto order = compare(left.values[i], right.values[i]);
    if (order != std::strong_ordering::equal) return order;
  }
  return std::strong_ordering::equal;
}

void expect_key_order(uint64_t seed, size_t columns_max) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const TableSchema schema = every_column();
  const RowLayout layout(schema);
  std::vector<ColumnId> columns;
  for (size_t wanted = 1 + random() % columns_max; columns.size() < wanted;) {
    const ColumnId column(static_cast<uint16_t>(random() % schema.columns.size()));
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
      columns.push_back(column);
    }
  }
  std::vector<KeyedRow> rows;
  for (int i = 0; i < 60; ++i) rows.push_back(any_row(random, schema, layout, columns));
  for (const KeyedRow& left : rows) {
    for (const KeyedRow& right : rows) {
      ASSERT_EQ(left.key.bytes() <=> right.key.bytes(), compare_rows(left, right, columns.size()));
    }
  }
}

TEST(KeyModel, KeyOrderIsValueOrderForEveryType) {
  for (uint64_t seed = 0; seed < 200; ++seed) expect_key_order(seed, 1);
}

TEST(KeyModel, KeyOrderIsValueOrderForCompositeKeys) {
  for (uint64_t seed = 0; seed < 300; ++seed) expect_key_order(seed, 4);
}

TEST(KeyModel, EncodedRowsEqualKeysMadeOfParts) {
  const TableSchema schema = every_column();
  const RowLayout layout(schema);
  std::vector<std::byte> row(layout.bytes);
  const auto put = [&](uint16_t column, const Value& value) {
    ASSERT_TRUE(store_value(layout.columns[column], value, row.data()).ok());
  };
  put(0, Value(int64_t{-7}));
  put(4, Value(DecimalValue{15, 1}));
  put(10, Value(Date{3}));
  put(11, Value());
  put(14, Value(std::string("a\0b", 3)));
  const Value text(std::string("text"));  // its cell points here
  put(16, Value(std::string("\0a", 2)));
  put(19, text);
  Key encoded;
  KeyEncoder(layout, {ColumnId(0), ColumnId(4), ColumnId(10), ColumnId(11), ColumnId(14),
                      ColumnId(16), ColumnId(19)})
      .encode(row.data(), &encoded);
  const Key made = make_key(int32_t{-7}, Decimal<3, 1>{15}, Date{3}, Nullable<Date>(),
                            Varchar<5>(std::string_view("a\0b", 3)),
                            Varchar<33>(std::string_view("\0a", 2)), Nullable<Text>(Text("text")));
  EXPECT_EQ(encoded.bytes(), made.bytes());
}

TEST(KeyModel, APrefixRangeHoldsExactlyTheKeysWithThePrefix) {
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    const std::string first = any_string(random, 3);
    const std::string probe = any_string(random, 3);
    const Key prefix = make_key(std::string_view(first));
    const Key end = prefix.prefix_end();
    const Key key = make_key(std::string_view(probe), static_cast<int32_t>(random()));
    const bool in_range =
        key.bytes() >= prefix.bytes() && (end.size() == 0 || key.bytes() < end.bytes());
    ASSERT_EQ(in_range, first == probe) << round;
  }
}

TEST(Key, PrefixEndSkipsBytesThatCannotGrow) {
  EXPECT_EQ(make_key(INT32_MAX).prefix_end().size(), 0u);
  Key key = make_key(int32_t{0}, INT32_MAX);
  EXPECT_EQ(key.prefix_end().bytes(), make_key(int32_t{0}).prefix_end().bytes());
  EXPECT_EQ(Key().prefix_end().size(), 0u);
}

TEST(Key, ZeroAndMinusZeroAreOneKey) {
  EXPECT_EQ(make_key(0.0).bytes(), make_key(-0.0).bytes());
}

TEST(Key, AKeyThatDoesNotFitSaysSo) {
  Key key;
  key.append(std::string_view(std::string(kKeyBytesMax - 2, 'x')));
  EXPECT_TRUE(key.ok());
  EXPECT_EQ(key.size(), kKeyBytesMax);
  key.append(true);
  EXPECT_FALSE(key.ok());
}

TEST(Key, APaddedTextThatDoesNotFitItsColumnOrTheKeySaysSo) {
  Key key;
  key.append(Varchar<5>("12345"));
  EXPECT_TRUE(key.ok());
  EXPECT_EQ(key.size(), 6u);
  key.append(Varchar<5>("123456"));
  EXPECT_FALSE(key.ok());
  Key full;
  while (full.size() + 17 <= kKeyBytesMax) full.append(Varchar<16>(""));
  EXPECT_TRUE(full.ok());
  full.append(Varchar<16>(""));
  EXPECT_FALSE(full.ok());
}

TEST(Key, TheEncoderKnowsItsColumns) {
  const TableSchema schema = every_column();
  const KeyEncoder encoder(RowLayout(schema), {ColumnId(2), ColumnId(0)});
  EXPECT_TRUE(encoder.covers(ColumnId(0)));
  EXPECT_TRUE(encoder.covers(ColumnId(2)));
  EXPECT_FALSE(encoder.covers(ColumnId(1)));
}

}  // namespace
}  // namespace diptych::base
