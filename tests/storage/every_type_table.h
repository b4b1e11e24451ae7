// A table with a column of every type, nullable and not, and random rows for it: the subject of the
// round-trip and model tests of storage and propagation.

#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
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

class RandomRows {
 public:
  RandomRows(const base::RowLayout& layout, uint64_t seed) : layout_(&layout), random_(seed) {}

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
    const auto number = static_cast<int64_t>(below(2'000'000)) - 1'000'000;
    switch (column.type.kind) {
      case base::TypeKind::kInt: return number;
      case base::TypeKind::kBigInt: return number * 1'000'003;
      case base::TypeKind::kDecimal: return base::DecimalValue{number, column.type.scale};
      case base::TypeKind::kDouble: return static_cast<double>(number) / 7;
      case base::TypeKind::kBoolean: return below(2) == 1;
      case base::TypeKind::kDate: return base::Date{static_cast<int32_t>(below(20'000))};
      case base::TypeKind::kTimestamp: return base::Timestamp{number * 1'000'000};
      case base::TypeKind::kChar:
      case base::TypeKind::kVarchar:
        return text(below((column.type.length == 0 ? 100 : column.type.length) + 1));
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
  const base::RowLayout* layout_;
  std::mt19937_64 random_;
};

}  // namespace diptych::storage::test
