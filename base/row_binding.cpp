#include "base/row_binding.h"

#include <fmt/format.h>

#include "base/quoted.h"

namespace diptych::base {
namespace {

std::string describe(const DataType& type, Nullability nullability) {
  return type.to_string() + (nullability == Nullability::kNotNull ? " NOT NULL" : "");
}

// The first column, of those of a struct or a table with another number, that the other side lacks.
std::string first_missing(const std::vector<BoundColumn>& columns, const TableSchema& schema) {
  size_t i = 0;
  while (i < columns.size() && i < schema.columns.size() &&
         columns[i].name == schema.columns[i].name) {
    ++i;
  }
  if (i == columns.size()) return fmt::format("{} is no member", quoted(schema.columns[i].name));
  if (i == schema.columns.size()) return fmt::format("{} is no column", quoted(columns[i].name));
  return fmt::format("member {} is {}, column {} is {}", i + 1, quoted(columns[i].name), i + 1,
                     quoted(schema.columns[i].name));
}

}  // namespace

Result<void> check_columns(const std::vector<BoundColumn>& columns, size_t row_bytes,
                           const TableSchema& schema) {
  const auto mismatch = [&](std::string what) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("row struct does not fit table {}: {}", quoted(schema.name), what));
  };
  if (columns.size() != schema.columns.size()) {
    return mismatch(fmt::format("the struct has {} members, the table {} columns: {}",
                                columns.size(), schema.columns.size(),
                                first_missing(columns, schema)));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const BoundColumn& bound = columns[i];
    const ColumnSchema& column = schema.columns[i];
    if (bound.name != column.name) {
      return mismatch(fmt::format("member {} is {}, column {} is {}", i + 1, quoted(bound.name),
                                  i + 1, quoted(column.name)));
    }
    if (bound.type != column.type || bound.nullability != column.nullability) {
      return mismatch(fmt::format("member {} is {}, the column is {}", quoted(bound.name),
                                  describe(bound.type, bound.nullability),
                                  describe(column.type, column.nullability)));
    }
  }
  const RowLayout layout(schema);
  for (size_t i = 0; i < columns.size(); ++i) {
    DIPTYCH_CHECK(columns[i].offset == layout.columns[i].offset,
                  "the layout rule must agree with the compiler's");
  }
  DIPTYCH_CHECK(row_bytes == layout.bytes, "the layout rule must agree with the compiler's");
  return {};
}

}  // namespace diptych::base
