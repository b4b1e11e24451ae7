#include "base/schema.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include <fmt/format.h>

#include "base/check.h"
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
  if (std::ranges::all_of(schema.columns, [](const ColumnSchema& column) {
        return column.visibility == Visibility::kInvisible;
      })) {
    return wrong(schema, "a table needs at least one visible column");
  }
  if (auto checked = check_group_lists(schema); !checked) return checked;
  const uint32_t bytes = RowLayout(schema).bytes;
  if (bytes > kRowBytesMax) {
    return wrong(schema,
                 fmt::format("a row takes {} bytes; at most {} are possible", bytes, kRowBytesMax));
  }
  return {};
}

std::vector<ColumnId> sorted(std::vector<ColumnId> columns) {
  std::sort(columns.begin(), columns.end());
  return columns;
}

// Of the indexes that `counts` takes, one has these columns, in ascending order, as a unique key.
template <class Counts>
bool is_unique_key(const TableSchema& table, const std::vector<ColumnId>& columns,
                   const Counts& counts) {
  return std::any_of(table.indexes.begin(), table.indexes.end(), [&](const IndexSchema& index) {
    return index.uniqueness == Uniqueness::kUnique && counts(index) &&
           sorted(index.columns) == columns;
  });
}

// What DDL changes of a table that is there.
bool has_not_changed(const TableSchema& before, const TableSchema& now) {
  const auto same_id = [](const IndexSchema& a, const IndexSchema& b) { return a.id == b.id; };
  return before.id == now.id && std::ranges::equal(before.indexes, now.indexes, same_id);
}

Error still_needed(std::string what, const TableSchema& child) {
  return {ErrorCode::kInvalidArgument, "2BP01",
          fmt::format("{}: table {} has a foreign key to it", what, quoted(child.name))};
}

// Of a view in another's place; `is_used`: by views, which have the columns of before.
Result<void> check_columns_kept(const ViewSchema& before, const ViewSchema& now, bool is_used) {
  const auto wrong_column = [&](std::string what) {
    return Error(ErrorCode::kInvalidArgument, "42P16",
                 fmt::format("view {} cannot be replaced: {}", quoted(before.name), what));
  };
  for (size_t i = 0; i < before.columns.size(); ++i) {
    const ColumnSchema& column = before.columns[i];
    const std::string name = quoted(column.name);
    if (i == now.columns.size()) return wrong_column(fmt::format("column {} is missing", name));
    const ColumnSchema& other = now.columns[i];
    if (other.name != column.name) {
      return wrong_column(fmt::format("column {} would be {}", name, quoted(other.name)));
    }
    if (other.type == column.type) continue;
    return wrong_column(fmt::format("column {} is {} and would be {}", name,
                                    column.type.to_string(), other.type.to_string()));
  }
  if (now.columns.size() == before.columns.size() || !is_used) return {};
  return Error(ErrorCode::kInvalidArgument, "2BP01",
               fmt::format("view {} cannot get another column: views use it", quoted(before.name)));
}

Catalog::ViewPtr make_view(ViewSchema view) {
  return std::make_shared<const ViewSchema>(std::move(view));  // shared_ptr: see Catalog::ViewPtr
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
  if (!is_unique_key(parent, sorted(referred), [](const IndexSchema&) { return true; })) {
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

const TableSchema& dropped_table() {
  static const TableSchema kDropped;
  return kDropped;
}

Catalog::TablePtr Catalog::make_table(TableSchema schema) {
  return std::make_shared<TableSchema>(std::move(schema));  // shared_ptr: see TablePtr
}

Catalog::Catalog(const Catalog& other, const Catalog& earlier)
    : views_(other.views_), table_count_(other.table_count_), index_count_(other.index_count_) {
  tables_.reserve(other.tables_.size());
  for (const TableSchema& table : other.tables()) {
    const TablePtr* const before = earlier.place_of(table.id);
    const bool as_before = before != nullptr && has_not_changed(**before, table);
    tables_.push_back(as_before ? *before : make_table(table));
  }
}

const Catalog::TablePtr* Catalog::place_of(TableId id) const {
  const auto found =
      std::ranges::lower_bound(tables_, id, {}, [](const TablePtr& t) { return t->id; });
  return found == tables_.end() || (*found)->id != id ? nullptr : &*found;
}

const TableSchema* Catalog::find_table(TableId id) const {
  const TablePtr* const place = place_of(id);
  return place == nullptr ? nullptr : place->get();
}

const TableSchema& Catalog::table(TableId id) const {
  const TableSchema* const found = find_table(id);
  DIPTYCH_CHECK(found != nullptr, "ids come from the catalog, and the table is there");
  return *found;
}

TableSchema& Catalog::changed(TableId id) {
  const TablePtr* const place = place_of(id);
  DIPTYCH_CHECK(place != nullptr, "ids come from the catalog, and the table is there");
  return **place;
}

const TableSchema* Catalog::find_table(std::string_view name) const {
  const auto found =
      std::ranges::find_if(tables_, [&](const TablePtr& t) { return t->name == name; });
  return found == tables_.end() ? nullptr : found->get();
}

bool Catalog::has_index(std::string_view name) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const TablePtr& t) {
    return std::ranges::count(t->indexes, name, &IndexSchema::name) != 0;
  });
}

Result<void> Catalog::check_index(const TableSchema& schema, const IndexSchema& index) const {
  if (index.columns.empty()) {
    return wrong(schema, fmt::format("index {} has no columns", quoted(index.name)));
  }
  if (has_index(index.name)) {
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
  if (auto checked = check_name(schema.name); !checked) return checked.error();
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
  schema.id = TableId(table_count_);
  for (IndexSchema& index : schema.indexes) index.id = IndexId(index_count_++);
  tables_.push_back(make_table(std::move(schema)));
  return TableId(table_count_++);
}

Result<IndexId> Catalog::add_index(TableId table, IndexSchema index) {
  TableSchema& schema = changed(table);
  if (auto checked = check_index(schema, index); !checked) return checked.error();
  index.id = IndexId(index_count_++);
  schema.indexes.push_back(std::move(index));
  return schema.indexes.back().id;
}

void Catalog::remove_last_index(TableId table) {
  std::vector<IndexSchema>& indexes = changed(table).indexes;
  DIPTYCH_CHECK(indexes.size() > 1 && indexes.back().id.value + 1 == index_count_,
                "only the newest index is removed, and never a primary key's");
  indexes.pop_back();
  --index_count_;
}

Result<std::vector<Catalog::DroppedTable>> Catalog::drop_tables(
    std::span<const std::string> names) {
  std::vector<DroppedTable> dropped;
  for (const std::string& name : names) {
    const TableSchema* const table = find_table(name);
    if (table == nullptr) {
      return Error(ErrorCode::kNotFound, "42P01", fmt::format("no such table {}", quoted(name)));
    }
    dropped.push_back(*place_of(table->id));
  }
  const auto goes = [&](const DroppedTable& table) {
    return std::ranges::count(dropped, table) != 0;
  };
  for (const TablePtr& child : tables_) {
    if (goes(child)) continue;
    for (const ForeignKey& key : child->foreign_keys) {
      if (std::ranges::count(names, key.parent_table) == 0) continue;
      return still_needed(fmt::format("table {} cannot be dropped", quoted(key.parent_table)),
                          *child);
    }
  }
  if (auto unused = check_unused("table", names); !unused) return unused.error();
  std::erase_if(tables_, goes);
  return dropped;
}

Result<void> Catalog::check_name(std::string_view name) const {
  const bool is_table = find_table(name) != nullptr;
  if (!is_table && find_view(name) == nullptr) return {};
  return Error(ErrorCode::kAlreadyExists, "42P07",
               fmt::format("{} {} exists", is_table ? "table" : "view", quoted(name)));
}

Result<void> Catalog::check_unused(std::string_view kind,
                                   std::span<const std::string> names) const {
  for (const ViewPtr& view : views_) {
    if (std::ranges::count(names, view->name) != 0) continue;
    for (const std::string& name : names) {
      if (std::ranges::count(view->uses, name) == 0) continue;
      return Error(ErrorCode::kInvalidArgument, "2BP01",
                   fmt::format("{} {} cannot be dropped: view {} uses it", kind, quoted(name),
                               quoted(view->name)));
    }
  }
  return {};
}

const ViewSchema* Catalog::find_view(std::string_view name) const {
  const auto found =
      std::ranges::find_if(views_, [&](const ViewPtr& v) { return v->name == name; });
  return found == views_.end() ? nullptr : found->get();
}

Result<void> Catalog::add_view(ViewSchema view) {
  if (auto checked = check_name(view.name); !checked) return checked;
  views_.push_back(make_view(std::move(view)));
  return {};
}

Result<void> Catalog::replace_view(ViewSchema view) {
  const auto place =
      std::ranges::find_if(views_, [&](const ViewPtr& v) { return v->name == view.name; });
  DIPTYCH_CHECK(place != views_.end(), "only a view that is there is replaced");
  // By their order, what uses it by way of another comes behind that one.
  std::vector<std::string> behind = {view.name};
  const auto uses_any = [&](const ViewSchema& other) {
    return std::ranges::find_first_of(other.uses, behind) != other.uses.end();
  };
  for (auto at = place; at != views_.end(); ++at) {
    if (uses_any(**at)) behind.push_back((*at)->name);
  }
  if (uses_any(view)) {
    return Error(ErrorCode::kInvalidArgument, "42P17",
                 fmt::format("view {} would use itself", quoted(view.name)));
  }
  const bool is_used = behind.size() > 1;
  if (auto kept = check_columns_kept(**place, view, is_used); !kept) return kept;
  ViewPtr now = make_view(std::move(view));
  const auto first = std::stable_partition(place, views_.end(), [&](const ViewPtr& v) {
    return std::ranges::count(behind, v->name) == 0;
  });
  *first = std::move(now);
  return {};
}

Result<void> Catalog::drop_views(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (find_view(name) != nullptr) continue;
    return Error(ErrorCode::kNotFound, "42P01", fmt::format("no such view {}", quoted(name)));
  }
  if (auto unused = check_unused("view", names); !unused) return unused;
  std::erase_if(views_, [&](const ViewPtr& v) { return std::ranges::count(names, v->name) != 0; });
  return {};
}

// An index that is to be dropped, if no constraint has declared it.
Result<Catalog::DroppedIndex> Catalog::find_dropped(std::string_view name) const {
  for (const TableSchema& table : tables()) {
    const auto index = std::ranges::find(table.indexes, name, &IndexSchema::name);
    if (index == table.indexes.end()) continue;
    if (!index->is_constraint) return DroppedIndex{table.id, index->id, index->uniqueness};
    return Error(ErrorCode::kInvalidArgument, "2BP01",
                 fmt::format("index {} cannot be dropped: it is a key of table {}", quoted(name),
                             quoted(table.name)));
  }
  return Error(ErrorCode::kNotFound, "42704", fmt::format("no such index {}", quoted(name)));
}

Result<std::vector<Catalog::DroppedIndex>> Catalog::drop_indexes(
    std::span<const std::string> names) {
  std::vector<DroppedIndex> dropped;
  for (const std::string& name : names) {
    const auto index = find_dropped(name);
    if (!index) return index.error();
    dropped.push_back(*index);
  }
  const auto goes = [&](const IndexSchema& index) {
    return std::ranges::count(dropped, index.id, &DroppedIndex::index) != 0;
  };
  for (const TableSchema& child : tables()) {
    for (const ForeignKey& key : child.foreign_keys) {
      const TableSchema& parent = *find_table(key.parent_table);
      std::vector<ColumnId> columns;
      for (const std::string& column : key.parent_columns) {
        columns.push_back(*parent.find_column(column));
      }
      if (is_unique_key(parent, sorted(columns), std::not_fn(goes))) continue;
      const auto needed = std::ranges::find_if(parent.indexes, goes);
      return still_needed(fmt::format("index {} cannot be dropped", quoted(needed->name)), child);
    }
  }
  for (const DroppedIndex& index : dropped) std::erase_if(changed(index.table).indexes, goes);
  return dropped;
}

}  // namespace diptych::base
