// A table with a column of every type, nullable and not, and random rows for it: the subject of the
// round-trip and model tests of storage and propagation.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/row_layout.h"
#include "base/schema.h"
#include "base/value.h"

namespace diptych::storage::test {

inline base::TableSchema every_type_schema() {
  using base::DataType;
  using base::TypeKind;
  const std::vector<std::pair<const char*, DataType>> types = {
      {"int", {TypeKind::kInt}},
      {"bigint", {TypeKind::kBigInt}},
      {"decimal", {TypeKind::kDecimal, 12, 2}},
      {"double", {TypeKind::kDouble}},
      {"boolean", {TypeKind::kBoolean}},
      {"date", {TypeKind::kDate}},
      {"timestamp", {TypeKind::kTimestamp}},
      {"char", {TypeKind::kChar, 0, 0, 24}},
      {"varchar", {TypeKind::kVarchar, 0, 0, 16}},
      {"text", {TypeKind::kVarchar}},
  };
  base::TableSchema schema;
  schema.name = "every_type";
  for (const auto& [name, type] : types) {
    schema.columns.push_back({name, type, base::Nullability::kNotNull});
    schema.columns.push_back({std::string(name) + "_null", type, base::Nullability::kNullable});
  }
  schema.indexes.push_back({"every_type_pkey",
                            {},
                            base::IndexKind::kHash,
                            base::Uniqueness::kUnique,
                            {base::ColumnId(0)}});
  return schema;
}

// A row as values and as row bytes; long strings point into the values.
class TestRow {
 public:
  TestRow(const base::RowLayout& layout, std::vector<base::Value> values)
      : layout_(&layout), values_(std::move(values)), bytes_(layout.bytes) {
    for (size_t i = 0; i < values_.size(); ++i) store(i);
  }
  TestRow(const TestRow& other) : TestRow(*other.layout_, other.values_) {}
  TestRow& operator=(const TestRow& other) {
    layout_ = other.layout_;
    values_ = other.values_;
    bytes_.assign(layout_->bytes, std::byte{0});
    for (size_t i = 0; i < values_.size(); ++i) store(i);
    return *this;
  }

  void set(base::ColumnId column, base::Value value) {
    values_[column.value] = std::move(value);
    store(column.value);
  }
  const std::vector<base::Value>& values() const { return values_; }
  const std::byte* bytes() const { return bytes_.data(); }
  const std::byte* cell(base::ColumnId column) const {
    return bytes_.data() + layout_->column(column).offset;
  }

 private:
  void store(size_t i) {
    const base::Result<void> stored =
        base::store_value(layout_->columns[i], values_[i], bytes_.data());
    DIPTYCH_CHECK(stored.ok(), "test values have their columns' types");
  }

  const base::RowLayout* layout_;
  std::vector<base::Value> values_;
  std::vector<std::byte> bytes_;
};

// How a column's values are spread, from which follow the forms that its chunks take.
enum class ValueSpread : uint8_t { kAny, kOne, kFew, kClustered };

// Rows whose columns have different spreads, by the seed; now and then a value lies at its type's
// end, or has zero bytes.
class RandomRows {
 public:
  RandomRows(const base::RowLayout& layout, uint64_t seed) : layout_(&layout), random_(seed) {
    // Each of the two columns of a type, and those of the next one, have others.
    for (size_t c = 0; c < layout.columns.size(); ++c) {
      spreads_.push_back(static_cast<ValueSpread>((seed + c + c / 2) % 4));
    }
  }
  // All values are random, and none is odd.
  static RandomRows all_different(const base::RowLayout& layout, uint64_t seed) {
    RandomRows rows(layout, seed);
    rows.spreads_.assign(layout.columns.size(), ValueSpread::kAny);
    rows.odd_in_ = 0;
    return rows;
  }
  // For who does not compare values with ==.
  void allow_nan() { odd_doubles_ = 6; }

  std::mt19937_64& random() { return random_; }
  uint64_t below(uint64_t bound) { return random_() % bound; }

  std::string text(size_t bytes) {
    std::string out(bytes, ' ');
    for (char& c : out) c = static_cast<char>('a' + random_() % 26);
    return out;
  }

  base::Value value(base::ColumnId id) {
    const base::ColumnLayout& column = layout_->column(id);
    if (column.nullable && below(4) == 0) return std::monostate();
    if (is_odd(spreads_[id.value])) return odd_value(column);
    const int64_t number = number_of(spreads_[id.value]);
    switch (column.type.kind) {
      case base::TypeKind::kInt: return number;
      case base::TypeKind::kBigInt: return number * 1'000'003;
      case base::TypeKind::kDecimal: return base::DecimalValue{number, column.type.scale};
      case base::TypeKind::kDouble: return static_cast<double>(number) / 7;
      case base::TypeKind::kBoolean: return number % 2 != 0;
      case base::TypeKind::kDate: return base::Date{static_cast<int32_t>(number % 20'000)};
      case base::TypeKind::kTimestamp: return base::Timestamp{number * 1'000'000};
      case base::TypeKind::kChar:
      case base::TypeKind::kVarchar: return text_of(column, spreads_[id.value]);
      case base::TypeKind::kInterval: break;  // no column's
    }
    return std::monostate();
  }

  TestRow row() {
    std::vector<base::Value> values;
    for (size_t i = 0; i < layout_->columns.size(); ++i) {
      values.push_back(value(base::ColumnId(static_cast<uint16_t>(i))));
    }
    return TestRow(*layout_, std::move(values));
  }

  base::ColumnId column() {
    return base::ColumnId(static_cast<uint16_t>(below(layout_->columns.size())));
  }

 private:
  // Seldom in columns that would be constant, or a narrow frame, but for those.
  bool is_odd(ValueSpread spread) {
    const bool is_narrow = spread == ValueSpread::kOne || spread == ValueSpread::kClustered;
    return odd_in_ != 0 && below(is_narrow ? odd_in_ * 40 : odd_in_) == 0;
  }
  int64_t number_of(ValueSpread spread) {
    switch (spread) {
      case ValueSpread::kOne: return below(4000) == 0 ? 43 : 42;
      case ValueSpread::kFew: return static_cast<int64_t>(below(9)) * 99'991;
      case ValueSpread::kClustered: return 1000 + static_cast<int64_t>(below(200));
      case ValueSpread::kAny: break;
    }
    return static_cast<int64_t>(below(2'000'000)) - 1'000'000;
  }
  std::string text_of(const base::ColumnLayout& column, ValueSpread spread) {
    const size_t bytes_max = column.type.length == 0 ? 100 : column.type.length;
    std::string out;
    switch (spread) {
      case ValueSpread::kOne: out = below(4000) == 0 ? "another" : "the same"; break;
      case ValueSpread::kFew:
        out = "one of few, " + std::to_string(below(9 + few_texts_++ / 400));
        break;
      // Of letters that repeat: symbols.
      case ValueSpread::kClustered:
        out = "customer " + std::to_string(below(1'000'000)) + " of the customers";
        break;
      case ValueSpread::kAny: return text(below(bytes_max + 1));
    }
    return out.substr(0, bytes_max);
  }
  // At an end of the type, or nearly unlike the others.
  base::Value odd_value(const base::ColumnLayout& column) {
    const bool low = below(2) == 0;
    switch (column.type.kind) {
      case base::TypeKind::kInt: return int64_t{low ? INT32_MIN : INT32_MAX};
      case base::TypeKind::kBigInt: return low ? INT64_MIN : INT64_MAX;
      case base::TypeKind::kDecimal: {
        base::int128_t units = 1;
        for (int digits = column.type.precision; digits != 0; --digits) units *= 10;
        return base::DecimalValue{low ? 1 - units : units - 1, column.type.scale};
      }
      case base::TypeKind::kDouble: {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const double odd[] = {-0.0,  kInfinity, -kInfinity,
                              1e300, 5e-324,    std::numeric_limits<double>::quiet_NaN()};
        return odd[below(odd_doubles_)];
      }
      case base::TypeKind::kChar:
      case base::TypeKind::kVarchar: return odd_text(column);
      case base::TypeKind::kBoolean: return low;
      case base::TypeKind::kDate: return base::Date{low ? -700'000 : 2'900'000};
      case base::TypeKind::kTimestamp:
        return base::Timestamp{(low ? -60'000 : 250'000) * int64_t{1'000'000'000'000}};
      case base::TypeKind::kInterval: break;
    }
    return std::monostate();
  }
  std::string odd_text(const base::ColumnLayout& column) {
    if (column.type.length == 0 && below(3) == 0) {
      return text(below(20) == 0 ? size_t{40} << 10 : size_t{2} << 10);
    }
    std::string out = text(below((column.type.length == 0 ? 40 : column.type.length) + 1));
    for (char& c : out) {
      if (below(3) == 0) c = below(2) == 0 ? '\0' : '\xff';
    }
    return out;
  }

  const base::RowLayout* layout_;
  std::mt19937_64 random_;
  std::vector<ValueSpread> spreads_;  // by column
  uint64_t few_texts_ = 0;            // drawn so far; there are new ones now and then
  uint64_t odd_in_ = 200;             // one value in so many; 0: none
  uint64_t odd_doubles_ = 5;          // of those in odd_value()
};

}  // namespace diptych::storage::test
