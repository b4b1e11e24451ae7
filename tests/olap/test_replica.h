// TestReplica: a replica with tables of test rows, built through storage's own calls.

#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/row_layout.h"
#include "base/schema.h"
#include "base/types.h"
#include "base/value.h"
#include "storage/table.h"
#include "tests/storage/one_row.h"

namespace diptych::olap::test {

using base::DataType;
using base::TypeKind;
using base::Value;
using Row = std::vector<Value>;

inline constexpr DataType kIntType{TypeKind::kInt};
inline constexpr DataType kBigIntType{TypeKind::kBigInt};
inline constexpr DataType kDoubleType{TypeKind::kDouble};
inline constexpr DataType kBooleanType{TypeKind::kBoolean};
inline constexpr DataType kDateType{TypeKind::kDate};
inline constexpr DataType kTimestampType{TypeKind::kTimestamp};
inline constexpr DataType kTextType{TypeKind::kVarchar};
inline constexpr DataType decimal_type(uint8_t precision, uint8_t scale) {
  return {TypeKind::kDecimal, precision, scale, 0};
}

inline Value decimal(base::int128_t units, uint8_t scale) {
  return base::DecimalValue{units, scale};
}
inline Value text(std::string value) {
  return Value(std::move(value));
}
inline Value number(int64_t value) {
  return Value(value);
}
inline const Value kNull{};

class TestReplica {
 public:
  explicit TestReplica(uint32_t partitions = 3)
      : TestReplica(storage::StorageOptions{.partitions = partitions}) {}
  explicit TestReplica(const storage::StorageOptions& options) : replica_(options) {}

  // `unique`: the columns of a unique key; none where empty.
  base::TableId add_table(std::vector<DataType> types, const std::vector<uint16_t>& unique = {}) {
    base::TableSchema& schema = schemas_.emplace_back();
    schema.name = "t" + std::to_string(schemas_.size());
    schema.id = base::TableId(static_cast<uint32_t>(schemas_.size() - 1));
    for (size_t i = 0; i < types.size(); ++i) {
      schema.columns.push_back({"c" + std::to_string(i), types[i], base::Nullability::kNullable});
    }
    if (!unique.empty()) {
      base::IndexSchema& index = schema.indexes.emplace_back();
      index.uniqueness = base::Uniqueness::kUnique;
      for (const uint16_t column : unique) index.columns.emplace_back(column);
    }
    replica_.add_table(schema);
    return schema.id;
  }

  void insert(base::TableId id, const Row& row) {
    storage::Table& table = replica_.table(id);
    const base::RowLayout& layout = table.layout();
    std::vector<std::byte> bytes(layout.bytes);
    for (size_t i = 0; i < row.size(); ++i) {
      const base::Result<void> stored = base::store_value(layout.columns[i], row[i], bytes.data());
      DIPTYCH_CHECK(stored.ok(), "test values have their columns' types");
    }
    const base::RowId row_id(next_row_id_++);
    const base::PartitionId partition = table.partition_of(row_id);
    const uint32_t ordinal =
        storage::test::insert_row(table.partition(partition), row_id, bytes.data(), nullptr);
    tids_.push_back({id, partition, ordinal});
  }
  // Erases the row that the n-th insert made.
  void erase(size_t n) {
    replica_.table(tids_[n].table).partition(tids_[n].partition).erase(tids_[n].ordinal);
  }
  // Writes a column of the row that the n-th insert made.
  void update(size_t n, uint16_t column, const Value& value) {
    storage::Table& table = replica_.table(tids_[n].table);
    const base::ColumnLayout& cell = table.layout().columns[column];
    std::vector<std::byte> bytes(table.layout().bytes);
    const base::Result<void> stored = base::store_value(cell, value, bytes.data());
    DIPTYCH_CHECK(stored.ok(), "test values have their columns' types");
    if (cell.type.is_string() && !cell.type.is_inline() && !base::is_null(value)) {
      // As in a record: the pointer is an offset.
      const std::string_view view = base::load_string(cell, bytes.data());
      base::Text text;
      text.data = reinterpret_cast<const char*>(bytes.size());
      text.size = static_cast<uint32_t>(view.size());
      std::memcpy(bytes.data() + cell.offset, &text, sizeof text);
      const auto* const from = reinterpret_cast<const std::byte*>(view.data());
      bytes.insert(bytes.end(), from, from + view.size());
    }
    storage::test::update_cell(table.partition(tids_[n].partition), tids_[n].ordinal,
                               base::ColumnId(column), bytes.data() + cell.offset, bytes.data());
  }
  // Hot pages become blocks.
  void compact() {
    for (const base::TableSchema& schema : schemas_) compact(schema.id);
  }
  void compact(base::TableId id) {
    storage::Table& table = replica_.table(id);
    for (uint32_t p = 0; p < table.partition_count(); ++p) {
      table.partition(base::PartitionId(p)).compact_all();
    }
  }
  size_t inserted() const { return tids_.size(); }

  const storage::Replica& replica() const { return replica_; }
  storage::Replica& replica() { return replica_; }

 private:
  struct Place {
    base::TableId table;
    base::PartitionId partition;
    uint32_t ordinal;
  };
  std::deque<base::TableSchema> schemas_;
  storage::Replica replica_;
  std::vector<Place> tids_;
  uint64_t next_row_id_ = 1;
};

}  // namespace diptych::olap::test
