#include "oltp/table_ref.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace diptych::oltp::detail {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// "(n, id)"
std::string names_of(const base::TableSchema& table, std::span<const base::ColumnId> columns) {
  std::string names;
  for (const base::ColumnId column : columns) {
    names += names.empty() ? "(" : ", ";
    names += table.column(column).name;
  }
  return names + ")";
}

bool is_same_but_for_case(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

// No table or index has the name, which is not SQL's, where "A" without quotes is a.
Error not_found(std::string_view what, std::string_view name, std::string_view similar) {
  return {ErrorCode::kNotFound,
          similar.empty() ? fmt::format("no {} \"{}\"", what, name)
                          : fmt::format("no {} \"{}\"; did you mean \"{}\"? DDL makes names "
                                        "lower case unless they are in quotes",
                                        what, name, similar)};
}

}  // namespace

Result<const base::TableSchema*> table_named(const base::Catalog& catalog, std::string_view name) {
  const base::TableSchema* const table = catalog.find_table(name);
  if (table != nullptr) return table;
  std::string_view similar;
  for (const base::TableSchema& other : catalog.tables()) {
    if (is_same_but_for_case(other.name, name)) similar = other.name;
  }
  return not_found("table", name, similar);
}

Result<NamedIndex> index_named(const base::Catalog& catalog, std::string_view name) {
  std::string_view similar;
  for (const base::TableSchema& table : catalog.tables()) {
    for (const base::IndexSchema& index : table.indexes) {
      if (index.name == name) return NamedIndex{&table, &index};
      if (is_same_but_for_case(index.name, name)) similar = index.name;
    }
  }
  return not_found("index", name, similar);
}

Result<void> check_columns(const NamedIndex& found, std::span<const base::ColumnId> columns) {
  if (std::ranges::equal(found.index->columns, columns)) return {};
  return Error(
      ErrorCode::kInvalidArgument,
      fmt::format("index \"{}\" is of {}, asked for with {}", found.index->name,
                  names_of(*found.table, found.index->columns), names_of(*found.table, columns)));
}

}  // namespace diptych::oltp::detail
