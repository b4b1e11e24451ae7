#include "oltp/table.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/row_binding.h"
#include "base/value.h"
#include "oltp/cell_precision.h"
#include "oltp/row_reader.h"
#include "propagation/export/update_set.h"

namespace diptych::oltp {
namespace {

// A non-unique hash index would probe through all rows of a key at every insert; the ordered index
// finds the place at once.
bool is_by_hash(const base::IndexSchema& schema) {
  return schema.kind == base::IndexKind::kHash && schema.uniqueness == base::Uniqueness::kUnique;
}

std::unique_ptr<Index> make_index(const base::RowLayout& layout, const base::IndexSchema& schema,
                                  Concurrency concurrency, base::MemoryPlace place) {
  if (is_by_hash(schema)) return make_hash_index(Concurrency::kSingle, place);
  return make_ordered_index(base::longest_key(layout, schema.columns).value_or(base::kKeyBytesMax),
                            concurrency, place);
}

}  // namespace

TableIndex::TableIndex(Table* of_table, const base::IndexSchema& of_schema, bool is_primary,
                       Concurrency concurrency, base::MemoryPlace place)
    : table(of_table),
      schema(of_schema),
      primary(is_primary),
      unique(of_schema.uniqueness == base::Uniqueness::kUnique),
      encoder(of_table->layout, of_schema.columns),
      index(make_index(of_table->layout, of_schema, concurrency, place)),
      by_hash(dynamic_cast<const HashIndex*>(index.get())),
      columns_hash(of_table->columns_hash) {}

base::Error TableIndex::key_taken(const std::byte* row) const {
  return {base::ErrorCode::kAlreadyExists,
          fmt::format("key {} of index \"{}\" is taken", table->key_text(*this, row), schema.name)};
}

base::Error TableIndex::key_too_long() const {
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("a key of index \"{}\" is longer than {} bytes", schema.name,
                      base::kKeyBytesMax)};
}

base::Error TableIndex::several_rows_have_key(base::RowId row_id) const {
  return {base::ErrorCode::kAlreadyExists,
          fmt::format("several rows of table \"{}\" have the key {} of unique index \"{}\"",
                      table->schema->name, table->key_text(*this, table->rows.slot(row_id).row()),
                      schema.name)};
}

bool TableIndex::share_key(base::RowId a, base::RowId b) const {
  base::Key key;
  encoder.encode(table->rows.slot(a).row(), &key);
  return encoder.matches(table->rows.slot(b).row(), key.bytes());
}

bool TableIndex::has_entry(std::string_view key, base::RowId row_id) const {
  if (by_hash != nullptr) {
    bool found = false;
    const auto visit = [&](base::RowId candidate) { return !(found = candidate == row_id); };
    index->find(key, CandidateVisitor(visit));
    return found;
  }
  IndexCursor cursor(key, {}, Direction::kForward, 1);
  cursor.begin_row = row_id.value;
  index->next_group(&cursor);
  return cursor.count == 1 && cursor.rows[0] == row_id && cursor.has_key(0, key);
}

void TableIndex::check() const {
  DIPTYCH_CHECK(index->check() == table->row_count, "at a boundary each row has one entry");
  table->rows.for_each([&](base::RowId row_id, const std::byte* row) {
    base::Key key;
    encoder.encode(row, &key);
    DIPTYCH_CHECK(has_entry(key.bytes(), row_id), "each row is found by its key");
  });
}

Table::Table(const base::TableSchema& of_schema, base::MemoryPlace place)
    : schema(&of_schema),
      layout(of_schema),
      rows(layout.bytes, layout.group_count, place),
      columns_hash(base::columns_hash(of_schema)) {
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const base::DataType& type = layout.columns[i].type;
    if (type.is_string() && type.length != 0) {
      bounded_strings.push_back(base::ColumnId(static_cast<uint16_t>(i)));
    }
  }
}

void Table::update_column_flags() {
  column_flags.assign(layout.columns.size(), 0);
  for (const auto& index : indexes) {
    const ColumnFlag flag = index->primary ? kPrimaryColumn : kIndexedColumn;
    for (const base::ColumnId column : index->schema.columns) column_flags[column.value] |= flag;
  }
  for (const base::ColumnId column : layout.long_strings) {
    column_flags[column.value] |= kLongStringColumn;
  }
  for (const base::ColumnId column : bounded_strings) {
    column_flags[column.value] |= kBoundedStringColumn;
  }
}

base::Error Table::string_too_long(base::ColumnId id) const {
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("table \"{}\", column {}: the string is longer than its {}", schema->name,
                      schema->column(id).name, layout.column(id).type.to_string())};
}

base::Result<void> Table::check_long_strings(const std::byte* row,
                                             std::span<const base::ColumnId> changed,
                                             const std::byte* rest) const {
  const uint64_t most = propagation::UpdateSet::long_string_bytes_max(layout) / layout.group_count;
  const GroupMask groups = groups_of(layout, {false, changed, {}});
  std::array<uint64_t, base::kColumnGroupsMax + 1> bytes{};
  for (const base::ColumnId id : layout.long_strings) {
    const base::ColumnLayout& column = layout.column(id);
    if ((groups >> column.group & 1) == 0) continue;
    // Of a new row all are in one place: a search for each would take the square of their number.
    const bool is_in_row =
        row == rest || std::find(changed.begin(), changed.end(), id) != changed.end();
    const std::byte* const from = is_in_row ? row : rest;
    if (base::is_null_cell(column, from)) continue;
    if ((bytes[column.group] += base::load_string(column, from).size()) <= most) continue;
    return base::Error(
        base::ErrorCode::kInvalidArgument,
        fmt::format("table \"{}\", column {}: the long strings of a row{} have more than the {} "
                    "bytes that there may be",
                    schema->name, schema->column(id).name,
                    layout.group_count > 1 ? "'s column group" : "", most));
  }
  return {};
}

base::Result<void> Table::check_decimals(const std::byte* row) const {
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const base::ColumnLayout& column = layout.columns[i];
    if (column.type.kind != base::TypeKind::kDecimal || base::is_null_cell(column, row)) continue;
    int64_t units;
    std::memcpy(&units, row + column.offset, sizeof units);
    if (detail::lies_within(units, detail::kMostUnits[column.type.precision])) continue;
    return decimal_too_wide(base::ColumnId(static_cast<uint16_t>(i)));
  }
  return {};
}

base::Error Table::decimal_too_wide(base::ColumnId id) const {
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("table \"{}\", column {}: the number has more digits than its {}",
                      schema->name, schema->column(id).name, layout.column(id).type.to_string())};
}

std::string Table::key_text(const TableIndex& index, const std::byte* row) const {
  std::string text = "(";
  for (const base::ColumnId id : index.schema.columns) {
    if (text.size() > 1) text += ", ";
    const base::ColumnLayout& column = layout.column(id);
    const std::string value = base::to_string(base::load_value(column, row));
    text += column.type.is_string() ? '"' + value + '"' : value;
  }
  return text + ")";
}

}  // namespace diptych::oltp
