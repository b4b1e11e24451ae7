// any_schema: tables of random schemas, and their rows as a model has them, for tests that know no
// struct of the rows.
//
// A cell is the bytes of its number, or its text. A row has a number: its primary key is the n-th
// of those that its table can have. Keys are compared by their values, not by the bytes that
// indexes have of them (base/key.h), which are under test.
//
// Threads  any, while none changes the Table.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/key.h"
#include "base/row_layout.h"
#include "base/schema.h"

namespace diptych::dispatcher::any_schema {

using base::ColumnId;
using base::IndexSchema;

// A random number below the bound.
using Below = std::function<uint64_t(uint64_t bound)>;

using Cell = std::optional<std::string>;  // nothing: null
using Cells = std::vector<Cell>;          // [ColumnId]

template <class Number>
std::string bytes_of(Number value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class Number>
Number number_of(const std::string& bytes) {
  Number value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

inline bool is_unique(const IndexSchema& index) {
  return index.uniqueness == base::Uniqueness::kUnique;
}
inline bool is_hash(const IndexSchema& index) {
  return index.kind == base::IndexKind::kHash;
}

// Of the TEXT columns: kAny has more of the long ones, to half a megabyte.
enum class TextLengths : uint8_t { kModerate, kAny };

struct Table {
  base::TableSchema schema;
  base::RowLayout layout;
  TextLengths lengths;
  std::vector<std::vector<std::string>> domains;  // of the columns: values that keys tell apart
  int rows_max = 0;                               // different primary keys

  Table(const base::TableSchema& of, TextLengths text_lengths, int rows_wanted);

  const IndexSchema& primary_key() const { return schema.primary_key(); }
  size_t column_count() const { return schema.columns.size(); }
  bool is_primary(ColumnId column) const;
  uint32_t group_bit(ColumnId column) const { return uint32_t{1} << layout.column(column).group; }
};
using Tables = std::vector<Table>;

struct Row {
  uint64_t row_id = 0;
  Cells cells;
  bool operator==(const Row&) const = default;
};
using RowPtr = std::shared_ptr<const Row>;
using Rows = std::map<int, RowPtr>;  // by number

// Random values: few of them come often, so that they meet.
Cell some_cell(const Table& table, ColumnId column, const Below& below);
Cells some_cells(const Table& table, int number, const Below& below);

// A row's bytes, and back. Long strings point at the bytes of the cells. What is read has one NaN.
class RowBytes {
 public:
  RowBytes(const Table& table, const Cells& cells);
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(words_.data()); }

 private:
  std::vector<uint64_t> words_;
};
void write_cell(const base::ColumnLayout& column, const Cell& cell, std::byte* row);
Cell read_cell(const base::ColumnLayout& column, const std::byte* row);
Cells read_cells(const Table& table, const std::byte* row);
Cell as_read(const base::ColumnLayout& column, Cell cell);
Cells as_read(const Table& table, Cells cells);

// False: a text is longer than its column allows.
bool fits(const base::ColumnSchema& column, const Cell& cell);
bool fit(const Table& table, const Cells& cells);

// Less than, equal to or greater than 0, as the index orders the first `parts` of the keys; nulls
// come last.
int compare_keys(const Table& table, const IndexSchema& index, const Cells& a, const Cells& b,
                 size_t parts = SIZE_MAX);
// Of the first `parts`. Not ok(): it is too long, and no row has it.
base::Key key_of(const Table& table, const IndexSchema& index, const Cells& cells,
                 size_t parts = SIZE_MAX);
// In the order of the index, and of RowIds where keys are equal.
void sort_by(const Table& table, const IndexSchema& index, std::vector<RowPtr>* rows);

// By the primary key; nothing: no row of the table can have it.
std::optional<int> number_of(const Table& table, const Cells& cells);

std::string text_of(const Table& table, const Cells& cells);

}  // namespace diptych::dispatcher::any_schema
