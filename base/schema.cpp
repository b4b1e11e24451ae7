#include "base/schema.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "base/quoted.h"
#include "base/row_layout.h"

namespace diptych::base {
namespace {

Error wrong(const TableSchema& schema, std::string what) {
  return {ErrorCode::kInvalidArgument, fmt::format("table {}: {}", quoted(schema.name), what)};
}

// Before the layout is made, which takes the ids as they are.
Result<void> check_group_lists(const TableSchema& schema) {
  if (schema.column_groups.size() > kColumnGroupsMax) {
    return wrong(schema, fmt::format("{} column groups; at most {} are possible",
                                     schema.column_groups.size(), kColumnGroupsMax));
  }
  std::vector<bool> grouped(schema.columns.size());
  for (const std::vector<ColumnId>& group : schema.column_groups) {
    if (group.empty()) return wrong(schema, "a column group needs at least one column");
    for (const ColumnId column : group) {
      if (column.value >= schema.columns.size()) {
        return wrong(schema, "a column group names no column");
      }
      if (grouped[column.value]) {
        return wrong(schema, fmt::format("column {} is named twice in the column groups",
                                         quoted(schema.column(column).name)));
      }
      grouped[column.value] = true;
    }
  }
  return {};
}

Result<void> check_columns_of(const TableSchema& schema) {
  if (schema.name.empty()) return wrong(schema, "a table needs a name");
  if (schema.columns.empty()) return wrong(schema, "a table needs at least one column");
  if (schema.columns.size() > kTableColumnsMax) {
    return wrong(schema, fmt::format("{} columns; at most {} are possible", schema.columns.size(),
                                     kTableColumnsMax));
  }
  std::unordered_set<std::string_view> names;
  for (const ColumnSchema& column : schema.columns) {
    if (!names.insert(column.name).second) {
      return wrong(schema, fmt::format("column {} is declared twice", quoted(column.name)));
    }
    const DataType& type = column.type;
    if (type.kind == TypeKind::kInterval) {
      return wrong(schema, fmt::format("column {}: a column cannot be an INTERVAL; a number of "
                                       "seconds or two TIMESTAMPs can say the same",
                                       quoted(column.name)));
    }
    if (type.kind == TypeKind::kDecimal &&
        (type.precision == 0 || type.precision > kDecimalDigitsMax ||
         type.scale > type.precision)) {
      return wrong(schema, fmt::format("column {}: {} is out of range; at most {} digits",
                                       quoted(column.name), type.to_string(), kDecimalDigitsMax));
    }
  }
  if (auto checked = check_group_lists(schema); !checked) return checked;
  const uint32_t bytes = RowLayout(schema).bytes;
  if (bytes > kRowBytesMax) {
    return wrong(schema,
                 fmt::format("a row takes {} bytes; at most {} are possible", bytes, kRowBytesMax));
  }
  return {};
}

bool is_unique_key(const TableSchema& table, std::vector<ColumnId> columns) {
  std::sort(columns.begin(), columns.end());
  return std::any_of(table.indexes.begin(), table.indexes.end(), [&](const IndexSchema& index) {
    std::vector<ColumnId> key = index.columns;
    std::sort(key.begin(), key.end());
    return index.uniqueness == Uniqueness::kUnique && key == columns;
  });
}

// Index entries are kept by who owns group 0.
Result<void> check_key_is_ungrouped(const TableSchema& schema, const IndexSchema& index) {
  for (const ColumnId column : index.columns) {
    for (const std::vector<ColumnId>& group : schema.column_groups) {
      if (std::find(group.begin(), group.end(), column) == group.end()) continue;
      return wrong(schema, fmt::format("column {} of index {} cannot be in a column group: "
                                       "keys belong to the row itself",
                                       quoted(schema.column(column).name), quoted(index.name)));
    }
  }
  return {};
}

}  // namespace

Result<void> check_foreign_key(const TableSchema& child, const ForeignKey& key,
                               const TableSchema& parent) {
  if (key.columns.size() != key.parent_columns.size() || key.columns.empty()) {
    return wrong(child,
                 fmt::format("foreign key to {}: {} columns refer to {}", quoted(parent.name),
                             key.columns.size(), key.parent_columns.size()));
  }
  std::vector<ColumnId> referred;
  for (size_t i = 0; i < key.columns.size(); ++i) {
    const auto found = parent.find_column(key.parent_columns[i]);
    if (!found) {
      return wrong(child, fmt::format("foreign key to {}: it has no column {}", quoted(parent.name),
                                      quoted(key.parent_columns[i])));
    }
    const ColumnSchema& from = child.column(key.columns[i]);
    const ColumnSchema& to = parent.column(*found);
    if (from.type.kind != to.type.kind || from.type.scale != to.type.scale) {
      return wrong(child, fmt::format("foreign key column {} is {}, but {} is {}",
                                      quoted(from.name), from.type.to_string(),
                                      quoted(parent.name + "." + to.name), to.type.to_string()));
    }
    referred.push_back(*found);
  }
  if (!is_unique_key(parent, referred)) {
    return wrong(child, fmt::format("foreign key to {}: ({}) is no PRIMARY KEY or UNIQUE of it",
                                    quoted(parent.name), fmt::join(key.parent_columns, ", ")));
  }
  return {};
}

Result<void> check_column_groups(const TableSchema& schema) {
  if (auto checked = check_group_lists(schema); !checked) return checked;
  for (const IndexSchema& index : schema.indexes) {
    if (auto checked = check_key_is_ungrouped(schema, index); !checked) return checked;
  }
  const std::vector<ColumnLayout> layout = RowLayout(schema).columns;
  for (size_t i = 1; i < layout.size(); ++i) {
    const bool share_word =
        (layout[i - 1].offset + layout[i - 1].bytes - 1) / 8 == layout[i].offset / 8;
    if (!share_word || layout[i - 1].group == layout[i].group) continue;
    return wrong(schema,
                 fmt::format("columns {} and {} are of different column groups and share "
                             "8 bytes of the row, which are written at once: declare the columns "
                             "of a group together, at the row's end or before a column of 8 bytes "
                             "(BIGINT, DECIMAL, DOUBLE, TIMESTAMP), and begin with such a one",
                             quoted(schema.columns[i - 1].name), quoted(schema.columns[i].name)));
  }
  return {};
}

std::optional<ColumnId> TableSchema::find_column(std::string_view column_name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column_name) return ColumnId(static_cast<uint16_t>(i));
  }
  return std::nullopt;
}

Catalog::TablePtr Catalog::make_table(TableSchema schema) {
  return std::make_shared<TableSchema>(std::move(schema));  // shared_ptr: see TablePtr
}

// A table that is there gets indexes, and changes in nothing else.
Catalog::Catalog(const Catalog& other, const Catalog& earlier) : index_count_(other.index_count_) {
  for (size_t i = 0; i < other.tables_.size(); ++i) {
    const TableSchema& table = *other.tables_[i];
    const bool as_before =
        i < earlier.tables_.size() && earlier.tables_[i]->indexes.size() == table.indexes.size();
    tables_.push_back(as_before ? earlier.tables_[i] : make_table(table));
  }
}

const TableSchema* Catalog::find_table(std::string_view name) const {
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const TablePtr& t) { return t->name == name; });
  return found == tables_.end() ? nullptr : found->get();
}

bool Catalog::index_name_taken(std::string_view name) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const TablePtr& t) {
    return std::any_of(t->indexes.begin(), t->indexes.end(),
                       [&](const IndexSchema& i) { return i.name == name; });
  });
}

Result<void> Catalog::check_index(const TableSchema& schema, const IndexSchema& index) const {
  if (index.columns.empty()) {
    return wrong(schema, fmt::format("index {} has no columns", quoted(index.name)));
  }
  if (index_name_taken(index.name)) {
    return Error(ErrorCode::kAlreadyExists, "42P07",
                 fmt::format("index {} exists", quoted(index.name)));
  }
  for (const ColumnId column : index.columns) {
    if (column.value >= schema.columns.size()) {
      return wrong(schema, fmt::format("index {} names no column", quoted(index.name)));
    }
    if (index.uniqueness == Uniqueness::kUnique &&
        schema.column(column).nullability == Nullability::kNullable) {
      return wrong(schema, fmt::format("column {} of the unique index {} must be NOT NULL",
                                       quoted(schema.column(column).name), quoted(index.name)));
    }
  }
  return check_key_is_ungrouped(schema, index);
}

Result<TableId> Catalog::add_table(TableSchema schema) {
  if (find_table(schema.name) != nullptr) {
    return Error(ErrorCode::kAlreadyExists, "42P07",
                 fmt::format("table {} exists", quoted(schema.name)));
  }
  if (auto checked = check_columns_of(schema); !checked) return checked.error();
  if (schema.indexes.empty() || schema.indexes[0].uniqueness != Uniqueness::kUnique) {
    return wrong(schema, "a table needs a primary key");
  }
  std::unordered_set<std::string_view> names;
  for (const IndexSchema& index : schema.indexes) {
    if (auto checked = check_index(schema, index); !checked) return checked.error();
    if (!names.insert(index.name).second) {
      return wrong(schema, fmt::format("index {} is declared twice", quoted(index.name)));
    }
  }
  for (const ForeignKey& key : schema.foreign_keys) {
    const TableSchema* parent =
        key.parent_table == schema.name ? &schema : find_table(key.parent_table);
    if (parent == nullptr) {
      return wrong(schema,
                   fmt::format("foreign key to {}: no such table", quoted(key.parent_table)));
    }
    if (auto checked = check_foreign_key(schema, key, *parent); !checked) return checked.error();
  }
  if (auto checked = check_column_groups(schema); !checked) return checked.error();
  schema.id = TableId(static_cast<uint32_t>(tables_.size()));
  for (IndexSchema& index : schema.indexes) index.id = IndexId(index_count_++);
  return tables_.emplace_back(make_table(std::move(schema)))->id;
}

Result<IndexId> Catalog::add_index(TableId table, IndexSchema index) {
  DIPTYCH_CHECK(table.value < tables_.size(), "ids come from the catalog");
  TableSchema& schema = *tables_[table.value];
  if (auto checked = check_index(schema, index); !checked) return checked.error();
  index.id = IndexId(index_count_++);
  schema.indexes.push_back(std::move(index));
  return schema.indexes.back().id;
}

void Catalog::remove_last_index(TableId table) {
  DIPTYCH_CHECK(table.value < tables_.size(), "ids come from the catalog");
  std::vector<IndexSchema>& indexes = tables_[table.value]->indexes;
  DIPTYCH_CHECK(indexes.size() > 1 && indexes.back().id.value + 1 == index_count_,
                "only the newest index is removed, and never a primary key's");
  indexes.pop_back();
  --index_count_;
}

}  // namespace diptych::base
