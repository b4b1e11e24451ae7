#include "oltp/table_ref.h"

#include <algorithm>

#include <fmt/format.h>

namespace diptych::oltp::detail {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<const base::TableSchema*> table_named(const base::Catalog& catalog, std::string_view name) {
  const base::TableSchema* const table = catalog.find_table(name);
  if (table == nullptr) return Error(ErrorCode::kNotFound, fmt::format("no table \"{}\"", name));
  return table;
}

Result<NamedIndex> index_named(const base::Catalog& catalog, std::string_view name) {
  for (const base::TableSchema& table : catalog.tables()) {
    for (const base::IndexSchema& index : table.indexes) {
      if (index.name == name) return NamedIndex{&table, &index};
    }
  }
  return Error(ErrorCode::kNotFound, fmt::format("no index \"{}\"", name));
}

Result<void> check_columns(const base::IndexSchema& index,
                           std::span<const base::ColumnId> columns) {
  if (std::ranges::equal(index.columns, columns)) return {};
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("index \"{}\" has other columns than asked for", index.name));
}

}  // namespace diptych::oltp::detail
