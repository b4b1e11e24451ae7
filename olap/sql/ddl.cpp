// parse_ddl of olap/query.h, and split_statements of olap/script.h.

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "olap/query.h"
#include "olap/sql/ddl_parts.h"
#include "olap/sql/drop.h"
#include "olap/sql/parse_tree.h"
#include "olap/sql/type_name.h"
#include "olap/sql/view.h"

namespace diptych::olap {
namespace {

using base::ColumnId;
using base::IndexKind;
using base::IndexSchema;
using base::Nullability;
using base::TableSchema;
using base::Uniqueness;

std::vector<std::string> column_names(const TableSchema& schema) {
  std::vector<std::string> names;
  for (const base::ColumnSchema& column : schema.columns) names.push_back(column.name);
  return names;
}

base::Result<ColumnId> find_column(const SourceText& source, const TableSchema& schema,
                                   std::string_view name, int64_t offset) {
  const auto column = schema.find_column(name);
  if (column) return *column;
  return source.wrong(offset,
                      fmt::format("table \"{}\" has no column \"{}\"{}", schema.name, name,
                                  suggestion(name, column_names(schema))),
                      "42703");
}

// "" is how the parse tree says that a text was not given.
bool given(const char* text) {
  return *text != '\0';
}

// The lists of names of '(a, b) ("C d")', as SQL writes names; nullopt: it is no such text.
std::optional<std::vector<std::vector<std::string>>> split_groups(std::string_view text) {
  std::vector<std::vector<std::string>> groups;
  size_t at = 0;
  const auto peek = [&] {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    return at < text.size() ? text[at] : '\0';
  };
  const auto take_name = [&] {
    std::string name;
    if (peek() == '"') {
      for (++at; at < text.size() && (text[at] != '"' || text.substr(at).starts_with("\"\""));
           ++at) {
        if (text[at] == '"') ++at;
        name += text[at];
      }
      return at++ < text.size() ? name : std::string();
    }
    for (; at < text.size() && std::string_view("(),\" \t\r\n").find(text[at]) == text.npos; ++at) {
      const char letter = text[at];
      name += 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    return name;
  };
  while (peek() == '(') {
    std::vector<std::string>& group = groups.emplace_back();
    do {
      ++at;  // the parenthesis or the comma
      group.push_back(take_name());
      if (group.back().empty()) return std::nullopt;
    } while (peek() == ',');
    if (peek() != ')') return std::nullopt;
    ++at;
  }
  if (peek() != '\0' || groups.empty()) return std::nullopt;
  return groups;
}

// Builds one table's schema from its CREATE TABLE, element by element.
class TableBuilder {
 public:
  TableBuilder(const SourceText& source, const base::Catalog& catalog)
      : source_(source), catalog_(catalog) {}

  base::Result<TableSchema> build(const PgQuery__CreateStmt& statement);

 private:
  base::Result<void> check_statement(const PgQuery__CreateStmt& statement) const;
  base::Result<void> add_column(const PgQuery__ColumnDef& column);
  // `own` names the column of a column constraint; empty for a table constraint.
  base::Result<void> add_constraint(const PgQuery__Constraint& constraint,
                                    const std::vector<std::string>& own);
  base::Result<void> add_primary_key(const PgQuery__Constraint& constraint,
                                     const std::vector<std::string>& columns);
  base::Result<void> add_unique(const PgQuery__Constraint& constraint,
                                const std::vector<std::string>& columns);
  base::Result<void> add_foreign_key(const PgQuery__Constraint& constraint,
                                     const std::vector<std::string>& columns);
  base::Result<void> add_option(const PgQuery__DefElem& option);
  base::Result<void> add_column_groups(const PgQuery__DefElem& option, std::string_view text);
  base::Result<void> hide_columns(const PgQuery__DefElem& option, std::string_view text);
  base::Result<std::vector<ColumnId>> resolve(const PgQuery__Constraint& constraint,
                                              const std::vector<std::string>& names) const;

  const SourceText& source_;
  const base::Catalog& catalog_;
  TableSchema schema_;
  std::vector<std::pair<const PgQuery__Constraint*, std::vector<std::string>>> foreign_keys_;
  bool has_primary_key_ = false;
  IndexKind primary_kind_ = IndexKind::kHash;
};

base::Result<TableSchema> TableBuilder::build(const PgQuery__CreateStmt& statement) {
  if (auto checked = check_statement(statement); !checked) return checked.error();
  schema_.name = statement.relation->relname;
  schema_.indexes.emplace_back();  // the primary key's place
  const NodeList elements(statement.table_elts, statement.n_table_elts);
  const auto is_column = [](const Node* element) {
    return element->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF;
  };
  // Now, since each is compared with those before.
  const auto count = std::count_if(elements.begin(), elements.end(), is_column);
  if (count > static_cast<ptrdiff_t>(base::kTableColumnsMax)) {
    return source_.wrong(statement.relation->location,
                         fmt::format("table \"{}\": {} columns; at most {} are possible",
                                     schema_.name, count, base::kTableColumnsMax));
  }
  for (Node* const& element : elements) {
    if (!is_column(element)) continue;
    if (auto added = add_column(*element->column_def); !added) return added.error();
  }
  for (Node* const& element : elements) {
    const bool column = element->node_case == PG_QUERY__NODE__NODE_COLUMN_DEF;
    if (!column && element->node_case != PG_QUERY__NODE__NODE_CONSTRAINT) {
      return source_.unsupported(start_of(element), construct_name(*element));
    }
    const NodeList constraints =
        column ? NodeList(element->column_def->constraints, element->column_def->n_constraints)
               : NodeList(&element, 1);
    std::vector<std::string> own;
    if (column) own.emplace_back(element->column_def->colname);
    for (const Node* constraint : constraints) {
      if (auto added = add_constraint(*constraint->constraint, own); !added) return added.error();
    }
  }
  // Last, as a table may refer to a key of its own that is declared further on.
  for (const auto& [constraint, columns] : foreign_keys_) {
    if (auto added = add_foreign_key(*constraint, columns); !added) return added.error();
  }
  for (const Node* option : NodeList(statement.options, statement.n_options)) {
    if (auto added = add_option(*option->def_elem); !added) return added.error();
  }
  if (!has_primary_key_) {
    return source_.wrong(statement.relation->location,
                         fmt::format("table \"{}\" needs a PRIMARY KEY", schema_.name));
  }
  schema_.indexes[0].kind = primary_kind_;
  return std::move(schema_);
}

base::Result<void> TableBuilder::check_statement(const PgQuery__CreateStmt& statement) const {
  return refuse(
      source_, statement.relation->location,
      {{statement.n_inh_relations != 0, "table inheritance"},
       {statement.partspec != nullptr || statement.partbound != nullptr, "a partitioned table"},
       {statement.of_typename != nullptr, "a table OF a type"},
       {statement.oncommit > PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_NOOP, "ON COMMIT"},
       {given(statement.tablespacename), "TABLESPACE"},
       {given(statement.access_method), "USING (a table access method)"}});
}

base::Result<void> TableBuilder::add_column(const PgQuery__ColumnDef& column) {
  if (schema_.find_column(column.colname)) {
    return source_.wrong(column.location,
                         fmt::format("column \"{}\" is declared twice", column.colname), "42712");
  }
  const auto type = bind_type(source_, *column.type_name);
  if (!type) return type.error();
  if (auto checked = refuse(source_, column.location,
                            {{column.coll_clause != nullptr, "COLLATE"},
                             {given(column.compression), "COMPRESSION"},
                             {given(column.storage), "STORAGE"}});
      !checked) {
    return checked;
  }
  schema_.columns.push_back({column.colname, *type, Nullability::kNullable});
  return {};
}

base::Result<void> TableBuilder::add_constraint(const PgQuery__Constraint& constraint,
                                                const std::vector<std::string>& own) {
  const auto names = [&](Node** list, size_t count) {
    return own.empty() ? strings_of(NodeList(list, count)) : own;
  };
  if (auto checked = refuse(source_, constraint.location,
                            {{constraint.deferrable != 0, "DEFERRABLE"},
                             {constraint.n_including != 0, "INCLUDE"},
                             {constraint.n_options != 0, "WITH of a key"},
                             {given(constraint.indexspace), "TABLESPACE"}});
      !checked) {
    return checked;
  }
  switch (constraint.contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_NULL: return {};
    case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL:
      schema_.columns[schema_.find_column(own.front())->value].nullability = Nullability::kNotNull;
      return {};
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
      return add_primary_key(constraint, names(constraint.keys, constraint.n_keys));
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE:
      return add_unique(constraint, names(constraint.keys, constraint.n_keys));
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN:
      foreign_keys_.emplace_back(&constraint, names(constraint.fk_attrs, constraint.n_fk_attrs));
      return {};
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT:
      return source_.unsupported(constraint.location, "DEFAULT");
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK:
      return source_.unsupported(constraint.location, "CHECK");
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY:
      return source_.unsupported(constraint.location, "IDENTITY");
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED:
      return source_.unsupported(constraint.location, "a generated column");
    case PG_QUERY__CONSTR_TYPE__CONSTR_EXCLUSION:
      return source_.unsupported(constraint.location, "EXCLUDE");
    default: return source_.unsupported(constraint.location, "this constraint");
  }
}

base::Result<std::vector<ColumnId>> TableBuilder::resolve(
    const PgQuery__Constraint& constraint, const std::vector<std::string>& names) const {
  std::vector<ColumnId> columns;
  for (const std::string& name : names) {
    const auto column = find_column(source_, schema_, name, constraint.location);
    if (!column) return column.error();
    if (std::find(columns.begin(), columns.end(), *column) != columns.end()) {
      return source_.wrong(constraint.location,
                           fmt::format("column \"{}\" is named twice in the key", name), "42712");
    }
    columns.push_back(*column);
  }
  return columns;
}

base::Result<void> TableBuilder::add_primary_key(const PgQuery__Constraint& constraint,
                                                 const std::vector<std::string>& columns) {
  if (has_primary_key_) {
    return source_.wrong(constraint.location,
                         fmt::format("table \"{}\" has two primary keys", schema_.name));
  }
  auto resolved = resolve(constraint, columns);
  if (!resolved) return resolved.error();
  for (const ColumnId column : *resolved) {
    schema_.columns[column.value].nullability = Nullability::kNotNull;
  }
  IndexSchema& index = schema_.indexes[0];
  index.name = schema_.name + "_pkey";
  index.uniqueness = Uniqueness::kUnique;
  index.columns = *std::move(resolved);
  index.is_constraint = true;
  has_primary_key_ = true;
  return {};
}

base::Result<void> TableBuilder::add_unique(const PgQuery__Constraint& constraint,
                                            const std::vector<std::string>& columns) {
  auto resolved = resolve(constraint, columns);
  if (!resolved) return resolved.error();
  std::string name = constraint.conname;
  if (name.empty()) name = fmt::format("{}_{}_key", schema_.name, fmt::join(columns, "_"));
  schema_.indexes.push_back(
      {std::move(name), {}, IndexKind::kHash, Uniqueness::kUnique, *std::move(resolved), true});
  return {};
}

base::Result<void> TableBuilder::add_foreign_key(const PgQuery__Constraint& constraint,
                                                 const std::vector<std::string>& columns) {
  const auto acts = [](std::string_view action) { return !action.empty() && action != "a"; };
  if (auto checked = refuse(source_, constraint.location,
                            {{acts(constraint.fk_del_action), "ON DELETE"},
                             {acts(constraint.fk_upd_action), "ON UPDATE"},
                             {std::string_view(constraint.fk_matchtype) == "f", "MATCH FULL"}});
      !checked) {
    return checked;
  }
  auto resolved = resolve(constraint, columns);
  if (!resolved) return resolved.error();
  const int64_t place = constraint.pktable->location;
  base::ForeignKey key;
  key.columns = *std::move(resolved);
  if (auto checked = check_table(source_, *constraint.pktable); !checked) return checked;
  key.parent_table = constraint.pktable->relname;
  key.parent_columns = strings_of(NodeList(constraint.pk_attrs, constraint.n_pk_attrs));
  const TableSchema* parent =
      key.parent_table == schema_.name ? &schema_ : catalog_.find_table(key.parent_table);
  if (parent == nullptr) return no_such_table(source_, place, key.parent_table, catalog_);
  if (key.parent_columns.empty()) {  // REFERENCES p: its primary key
    for (const ColumnId column : parent->primary_key().columns) {
      key.parent_columns.push_back(parent->column(column).name);
    }
  }
  for (const std::string& name : key.parent_columns) {
    const auto found = find_column(source_, *parent, name, place);
    if (!found) return found.error();
  }
  if (auto checked = base::check_foreign_key(schema_, key, *parent); !checked) {
    return source_.wrong(place, checked.error().message);
  }
  schema_.foreign_keys.push_back(std::move(key));
  return {};
}

// "hash" of `primary_index = hash`: the grammar takes a word, a keyword, or a quoted string.
std::string option_value(const PgQuery__DefElem& option) {
  if (option.arg == nullptr) return {};
  if (option.arg->node_case == PG_QUERY__NODE__NODE_TYPE_NAME) {
    const PgQuery__TypeName& name = *option.arg->type_name;
    return joined(strings_of(NodeList(name.names, name.n_names)));
  }
  return std::string(string_of(option.arg));
}

base::Result<void> TableBuilder::add_option(const PgQuery__DefElem& option) {
  const std::string_view name = option.defname;
  const std::string value = option_value(option);
  if (name == "primary_index") {
    if (value == "hash" || value == "ordered") {
      primary_kind_ = value == "hash" ? IndexKind::kHash : IndexKind::kOrdered;
      return {};
    }
    return source_.wrong(option.location, "primary_index is hash or ordered");
  }
  if (name == "analytics") {
    if (value == "on" || value == "off") {
      schema_.analytics = value == "on" ? base::Analytics::kScanned : base::Analytics::kStoredOnly;
      return {};
    }
    return source_.wrong(option.location, "analytics is on or off");
  }
  if (name == "settled") {
    if (value == "on" || value == "off") {
      schema_.settled = value == "on" ? base::Settled::kOn : base::Settled::kOff;
      return {};
    }
    return source_.wrong(option.location, "settled is on or off");
  }
  if (name == "column_groups") return add_column_groups(option, value);
  if (name == "invisible") return hide_columns(option, value);
  const std::string meant =
      suggestion(name, {"primary_index", "analytics", "settled", "column_groups", "invisible"});
  return source_.wrong(
      option.location,
      fmt::format("no such table option \"{}\"{}", name,
                  meant.empty()
                      ? "; there are primary_index, analytics, settled, column_groups and "
                        "invisible"
                      : meant),
      "22023");
}

// '(a, b)'.
base::Result<void> TableBuilder::hide_columns(const PgQuery__DefElem& option,
                                              std::string_view text) {
  const auto lists = split_groups(text);
  if (!lists || lists->size() != 1) {
    return source_.wrong(option.location, "invisible is a list of columns, as in '(a, b)'");
  }
  for (const std::string& name : lists->front()) {
    const auto column = find_column(source_, schema_, name, option.location);
    if (!column) return column.error();
    schema_.columns[column->value].visibility = base::Visibility::kInvisible;
  }
  return {};
}

// '(a, b) (c)': each list is a group.
base::Result<void> TableBuilder::add_column_groups(const PgQuery__DefElem& option,
                                                   std::string_view text) {
  const int64_t place = option.location;
  if (!schema_.column_groups.empty()) {
    return source_.wrong(place, "column_groups is given twice", "42712");
  }
  const auto groups = split_groups(text);
  if (!groups) {
    return source_.wrong(place, "column_groups is lists of columns, as in '(a, b) (c)'");
  }
  for (const std::vector<std::string>& names : *groups) {
    std::vector<ColumnId>& group = schema_.column_groups.emplace_back();
    for (const std::string& name : names) {
      const auto column = find_column(source_, schema_, name, place);
      if (!column) return column.error();
      group.push_back(*column);
    }
  }
  if (auto checked = base::check_column_groups(schema_); !checked) {
    return source_.wrong(place, checked.error().message);
  }
  return {};
}

base::Result<CreateIndex> build_index(const SourceText& source, const base::Catalog& catalog,
                                      const PgQuery__IndexStmt& statement) {
  const int64_t place = statement.relation->location;
  if (auto checked = refuse(source, place,
                            {{statement.concurrent != 0, "CONCURRENTLY"},
                             {statement.where_clause != nullptr, "a partial index"},
                             {statement.n_index_including_params != 0, "INCLUDE"},
                             {statement.n_options != 0, "WITH of an index"},
                             {given(statement.table_space), "TABLESPACE"}});
      !checked) {
    return checked.error();
  }
  CreateIndex change;
  change.table = statement.relation->relname;
  const TableSchema* table = catalog.find_table(change.table);
  if (table == nullptr) return no_such_table(source, place, change.table, catalog);
  const std::string_view method = statement.access_method;
  if (method != "btree" && method != "hash") {
    return source.unsupported(place, fmt::format("index method \"{}\" (hash or btree)", method));
  }
  change.index.kind = method == "hash" ? IndexKind::kHash : IndexKind::kOrdered;
  change.index.uniqueness = statement.unique != 0 ? Uniqueness::kUnique : Uniqueness::kNonUnique;
  std::vector<std::string> names;
  for (const Node* node : NodeList(statement.index_params, statement.n_index_params)) {
    const PgQuery__IndexElem& element = *node->index_elem;
    if (auto checked = refuse(
            source, place,
            {{element.expr != nullptr, "an index on an expression"},
             {element.ordering == PG_QUERY__SORT_BY_DIR__SORTBY_DESC, "a descending index column"},
             {element.nulls_ordering == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST, "NULLS FIRST"},
             {element.n_collation != 0, "COLLATE"},
             {element.n_opclass != 0, "an operator class"}});
        !checked) {
      return checked.error();
    }
    const auto column = find_column(source, *table, element.name, place);
    if (!column) return column.error();
    change.index.columns.push_back(*column);
    names.emplace_back(element.name);
  }
  change.index.name = statement.idxname;
  if (change.index.name.empty()) {
    change.index.name = fmt::format("{}_{}_idx", table->name, fmt::join(names, "_"));
  }
  return change;
}

}  // namespace

base::Result<std::vector<std::string_view>> split_statements(std::string_view script) {
  return split_script(script);
}

base::Result<DdlChange> parse_ddl(std::string_view statement, const base::Catalog& catalog,
                                  std::span<const SystemTable> system_tables) {
  const SourceText source(statement);
  const auto tree = ParseTree::parse(source, LongNames::kCut);
  if (!tree) return tree.error();
  const Node& node = tree->statement();
  if (node.node_case == PG_QUERY__NODE__NODE_CREATE_STMT) {
    const PgQuery__CreateStmt& create = *node.create_stmt;
    if (auto checked = check_table(source, *create.relation); !checked) return checked.error();
    const std::string_view name = create.relation->relname;
    if (create.if_not_exists != 0 &&
        (catalog.find_table(name) != nullptr || catalog.find_view(name) != nullptr)) {
      return DdlChange(NoChange{});
    }
    auto schema = TableBuilder(source, catalog).build(create);
    if (!schema) return schema.error();
    return DdlChange(CreateTable{*std::move(schema)});
  }
  if (node.node_case == PG_QUERY__NODE__NODE_DROP_STMT) {
    return parse_drop(source, catalog, *node.drop_stmt);
  }
  if (node.node_case == PG_QUERY__NODE__NODE_VIEW_STMT) {
    return parse_view(source, catalog, system_tables, *node.view_stmt);
  }
  if (node.node_case == PG_QUERY__NODE__NODE_TRUNCATE_STMT) {
    return parse_truncate(source, catalog, *node.truncate_stmt);
  }
  if (node.node_case == PG_QUERY__NODE__NODE_INDEX_STMT) {
    const PgQuery__IndexStmt& create = *node.index_stmt;
    if (auto checked = check_table(source, *create.relation); !checked) return checked.error();
    if (create.if_not_exists != 0 && catalog.has_index(create.idxname)) {
      return DdlChange(NoChange{});
    }
    auto index = build_index(source, catalog, create);
    if (!index) return index.error();
    return DdlChange(*std::move(index));
  }
  const std::string_view found = statement_name(node);
  return source.error(base::ErrorCode::kUnsupported, 0,
                      fmt::format("{} cannot stand here: DDL is CREATE and DROP of tables, "
                                  "indexes and views, and TRUNCATE",
                                  found.empty() ? "this statement" : found));
}

base::Result<void> apply_to(base::Catalog* catalog, DdlChange change) {
  const auto outcome_of = [](const auto& done) {
    return done ? base::Result<void>() : base::Result<void>(done.error());
  };
  if (auto* const table = std::get_if<CreateTable>(&change)) {
    return outcome_of(catalog->add_table(std::move(table->schema)));
  }
  if (auto* const created = std::get_if<CreateIndex>(&change)) {
    const TableSchema* const table = catalog->find_table(created->table);
    if (table == nullptr) {
      return base::Error(base::ErrorCode::kNotFound, "42P01",
                         fmt::format("no such table \"{}\"", created->table));
    }
    return outcome_of(catalog->add_index(table->id, std::move(created->index)));
  }
  if (auto* const created = std::get_if<CreateView>(&change)) {
    const bool replaces = created->if_exists == IfViewExists::kReplace &&
                          catalog->find_view(created->view.name) != nullptr;
    return replaces ? catalog->replace_view(std::move(created->view))
                    : catalog->add_view(std::move(created->view));
  }
  if (const auto* const dropped = std::get_if<DropViews>(&change)) {
    return catalog->drop_views(dropped->views);
  }
  if (const auto* const dropped = std::get_if<DropTables>(&change)) {
    return outcome_of(catalog->drop_tables(dropped->tables));
  }
  if (const auto* const dropped = std::get_if<DropIndexes>(&change)) {
    return outcome_of(catalog->drop_indexes(dropped->indexes));
  }
  return {};
}

}  // namespace diptych::olap
