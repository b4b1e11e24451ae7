#include "tests/dispatcher/any_schema.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/value.h"

namespace diptych::dispatcher::any_schema {
namespace {

using base::TypeKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Integer>
std::vector<std::string> integers() {
  using Limits = std::numeric_limits<Integer>;
  std::vector<std::string> all;
  for (const Integer value :
       {Integer{0}, Integer{-1}, Integer{1}, Limits::max(), Limits::min(), Integer{255},
        Integer{256}, Integer{-256}, Integer{-257}, Integer{65536}}) {
    all.push_back(bytes_of(value));
  }
  for (Integer value = 2; value < 50; ++value) all.push_back(bytes_of(value));
  return all;
}

std::vector<std::string> decimals(uint8_t precision) {
  int64_t end = 1;
  for (int digit = 0; digit < precision; ++digit) end *= 10;
  std::vector<std::string> all;
  for (const int64_t value : {int64_t{0}, end - 1, 1 - end}) all.push_back(bytes_of(value));
  for (int64_t value = 1; value < std::min<int64_t>(end - 1, 30); ++value) {
    all.push_back(bytes_of(value));
    all.push_back(bytes_of(-value));
  }
  return all;
}

std::vector<std::string> doubles() {
  using Limits = std::numeric_limits<double>;
  std::vector<std::string> all;
  for (const double value : {0.0, 1.5, -1.5, Limits::infinity(), -Limits::infinity(), kNan,
                             Limits::denorm_min(), Limits::max()}) {
    all.push_back(bytes_of(value));
  }
  for (int i = 2; i < 50; ++i) all.push_back(bytes_of(i * 0.25 - 3.1));
  return all;
}

// Of at most so many bytes; 0: of any number.
std::vector<std::string> texts(uint32_t length) {
  const size_t most = length == 0 ? 120 : length;
  const std::string zero(1, '\0');
  std::vector<std::string> all;
  const auto add = [&](const std::string& text) {
    if (text.size() > most) return;
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  };
  for (const std::string& text :
       {std::string(), zero, zero + zero, std::string("a"), "a" + zero, "a" + zero + "\x01",
        std::string("a\x01"), std::string("ab"), std::string("\xff"), zero + "\xff",
        std::string(most, 'z'), std::string(most, '\0'), std::string(most - 1, 'z')}) {
    add(text);
  }
  for (size_t i = 0; i < 26; ++i) {
    add(std::string(1, static_cast<char>('A' + i)));
    add(fmt::format("k{:02}", i));
    if (i < 8) add(fmt::format("longer than what is inline {:02}{}", i, std::string(10 * i, 'x')));
  }
  return all;
}

std::vector<std::string> domain_of(const base::DataType& type) {
  switch (type.kind) {
    case TypeKind::kInt:
    case TypeKind::kDate: return integers<int32_t>();
    case TypeKind::kBigInt:
    case TypeKind::kTimestamp: return integers<int64_t>();
    case TypeKind::kDecimal: return decimals(type.precision);
    case TypeKind::kDouble: return doubles();
    case TypeKind::kBoolean: return {bytes_of(false), bytes_of(true)};
    case TypeKind::kChar:
    case TypeKind::kVarchar:
    case TypeKind::kInterval: break;
  }
  return texts(type.length);
}

// The bytes of a number that is equal, and not always the same: a zero may have a sign, and a NaN
// a sign and a payload.
std::string another_form(const base::DataType& type, std::string value, const Below& below) {
  if (type.kind != TypeKind::kDouble || below(2) != 0) return value;
  const auto number = number_of<double>(value);
  if (number == 0) return bytes_of(-0.0);
  if (std::isnan(number)) return bytes_of(uint64_t{0xfff8} << 48 | below(2));
  return value;
}

// About the sizes at which long strings are kept in other ways.
std::string some_long_text(TextLengths lengths, const Below& below) {
  const bool any = lengths == TextLengths::kAny;
  size_t bytes = 200 + below(400);
  if (below(any ? 80 : 30) == 0) {
    bytes = 20'000 + below(any ? 530'000 : 110'000);
  } else if (any && below(3) == 0) {
    bytes = (size_t{1} << (10 + below(6))) + below(2);
  } else if (below(2) == 0) {
    bytes = 32 * (1 + below(34)) + below(2);
  }
  return std::string(bytes, static_cast<char>('a' + below(26)));
}

int sign(bool less, bool greater) {
  return less ? -1 : greater ? 1 : 0;
}
template <class Number>
int compare_numbers(const Cell& a, const Cell& b) {
  const auto x = number_of<Number>(*a);
  const auto y = number_of<Number>(*b);
  return sign(x < y, y < x);
}

int compare_cells(const base::DataType& type, const Cell& a, const Cell& b) {
  if (!a || !b) return sign(a && !b, b && !a);
  switch (type.kind) {
    case TypeKind::kInt:
    case TypeKind::kDate: return compare_numbers<int32_t>(a, b);
    case TypeKind::kBigInt:
    case TypeKind::kTimestamp:
    case TypeKind::kDecimal: return compare_numbers<int64_t>(a, b);
    case TypeKind::kDouble: {
      const bool a_is_nan = std::isnan(number_of<double>(*a));
      const bool b_is_nan = std::isnan(number_of<double>(*b));
      if (a_is_nan || b_is_nan) return sign(b_is_nan && !a_is_nan, a_is_nan && !b_is_nan);
      return compare_numbers<double>(a, b);
    }
    case TypeKind::kBoolean: return compare_numbers<bool>(a, b);
    case TypeKind::kChar:
    case TypeKind::kVarchar:
    case TypeKind::kInterval: break;
  }
  return a->compare(*b);
}

}  // namespace

Table::Table(const base::TableSchema& of, TextLengths text_lengths, int rows_wanted)
    : schema(of), layout(of), lengths(text_lengths) {
  for (const auto& column : of.columns) domains.push_back(domain_of(column.type));
  size_t keys = 1;
  for (const ColumnId id : primary_key().columns) {
    keys = std::min<size_t>(1'000'000, keys * domains[id.value].size());
  }
  rows_max = std::min(rows_wanted, static_cast<int>(keys));
}

bool Table::is_primary(ColumnId column) const {
  const auto& key = primary_key().columns;
  return std::find(key.begin(), key.end(), column) != key.end();
}

Cell some_cell(const Table& table, ColumnId column, const Below& below) {
  const base::ColumnSchema& schema = table.schema.column(column);
  if (schema.nullability == base::Nullability::kNullable && below(5) == 0) return std::nullopt;
  if (schema.type.is_string() && schema.type.length == 0 &&
      below(table.lengths == TextLengths::kAny ? 6 : 12) == 0) {
    return some_long_text(table.lengths, below);
  }
  const auto& domain = table.domains[column.value];
  const uint64_t few = below(3) == 0 ? domain.size() : std::min<uint64_t>(domain.size(), 12);
  return another_form(schema.type, domain[below(few)], below);
}

Cells some_cells(const Table& table, int number, const Below& below) {
  Cells cells;
  for (size_t c = 0; c < table.column_count(); ++c) {
    cells.push_back(some_cell(table, ColumnId(static_cast<uint16_t>(c)), below));
  }
  auto left = static_cast<size_t>(number);
  for (const ColumnId id : table.primary_key().columns) {
    const auto& domain = table.domains[id.value];
    const base::DataType& type = table.schema.column(id).type;
    cells[id.value] = another_form(type, domain[left % domain.size()], below);
    left /= domain.size();
  }
  return cells;
}

RowBytes::RowBytes(const Table& table, const Cells& cells) : words_(table.layout.bytes / 8 + 1) {
  auto* const row = reinterpret_cast<std::byte*>(words_.data());
  for (size_t c = 0; c < cells.size(); ++c) write_cell(table.layout.columns[c], cells[c], row);
}

void write_cell(const base::ColumnLayout& column, const Cell& cell, std::byte* row) {
  std::memset(row + column.offset, 0, column.bytes);
  if (!cell) {
    row[column.null_offset] = std::byte{1};
  } else if (!column.type.is_string()) {
    std::memcpy(row + column.offset, cell->data(), cell->size());
  } else if (column.type.is_inline()) {
    const bool whole = cell->size() <= column.type.length;
    row[column.offset] = static_cast<std::byte>(whole ? cell->size() : base::kOverlong);
    std::memcpy(row + column.offset + 1, cell->data(), whole ? cell->size() : column.type.length);
  } else {
    const base::Text text{std::string_view(*cell)};
    std::memcpy(row + column.offset, &text, sizeof text);
  }
}

Cell read_cell(const base::ColumnLayout& column, const std::byte* row) {
  if (base::is_null_cell(column, row)) return std::nullopt;
  if (column.type.is_string()) return std::string(base::load_string(column, row));
  const auto* const bytes = reinterpret_cast<const char*>(row + column.offset);
  return as_read(column, std::string(bytes, base::cell_bytes(column.type)));
}

Cells read_cells(const Table& table, const std::byte* row) {
  Cells cells;
  for (const auto& column : table.layout.columns) cells.push_back(read_cell(column, row));
  return cells;
}

Cell as_read(const base::ColumnLayout& column, Cell cell) {
  const bool number = cell && column.type.kind == TypeKind::kDouble;
  return number && std::isnan(number_of<double>(*cell)) ? bytes_of(kNan) : cell;
}

Cells as_read(const Table& table, Cells cells) {
  for (size_t c = 0; c < cells.size(); ++c) {
    cells[c] = as_read(table.layout.columns[c], std::move(cells[c]));
  }
  return cells;
}

bool fits(const base::ColumnSchema& column, const Cell& cell) {
  if (!cell || !column.type.is_string() || column.type.length == 0) return true;
  return cell->size() <= column.type.length;
}

bool fit(const Table& table, const Cells& cells) {
  for (size_t c = 0; c < cells.size(); ++c) {
    if (!fits(table.schema.columns[c], cells[c])) return false;
  }
  return true;
}

int compare_keys(const Table& table, const IndexSchema& index, const Cells& a, const Cells& b,
                 size_t parts) {
  for (size_t i = 0; i < std::min(parts, index.columns.size()); ++i) {
    const ColumnId id = index.columns[i];
    const int order = compare_cells(table.schema.column(id).type, a[id.value], b[id.value]);
    if (order != 0) return order;
  }
  return 0;
}

base::Key key_of(const Table& table, const IndexSchema& index, const Cells& cells, size_t parts) {
  std::vector<ColumnId> columns = index.columns;
  if (parts < columns.size())
    columns.erase(columns.begin() + static_cast<int>(parts), columns.end());
  const RowBytes row(table, cells);
  base::Key key;
  base::KeyEncoder(table.layout, columns).encode(row.data(), &key);
  return key;
}

std::optional<int> number_of(const Table& table, const Cells& cells) {
  size_t number = 0;
  size_t factor = 1;
  for (const ColumnId id : table.primary_key().columns) {
    const auto& domain = table.domains[id.value];
    const auto found = std::find_if(domain.begin(), domain.end(), [&](const std::string& value) {
      return compare_cells(table.schema.column(id).type, cells[id.value], value) == 0;
    });
    if (found == domain.end()) return std::nullopt;
    number += factor * static_cast<size_t>(found - domain.begin());
    factor *= domain.size();
  }
  if (number >= static_cast<size_t>(table.rows_max)) return std::nullopt;
  return static_cast<int>(number);
}

void sort_by(const Table& table, const IndexSchema& index, std::vector<RowPtr>* rows) {
  std::sort(rows->begin(), rows->end(), [&](const RowPtr& a, const RowPtr& b) {
    const int order = compare_keys(table, index, a->cells, b->cells);
    return order != 0 ? order < 0 : a->row_id < b->row_id;
  });
}

std::string text_of(const Table& table, const Cells& cells) {
  const RowBytes row(table, cells);
  std::vector<std::string> all;
  for (size_t c = 0; c < cells.size(); ++c) {
    if (cells[c] && table.schema.columns[c].type.is_string()) {
      all.push_back(fmt::format("{}:'{}'", cells[c]->size(), cells[c]->substr(0, 20)));
    } else {
      all.push_back(base::to_string(base::load_value(table.layout.columns[c], row.data())));
    }
  }
  return fmt::format("({})", fmt::join(all, ", "));
}

}  // namespace diptych::dispatcher::any_schema
