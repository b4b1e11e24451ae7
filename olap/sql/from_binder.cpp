// FROM of SelectBinder: tables, derived tables, CTEs and joins.

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/counted.h"
#include "olap/sql/decorrelation.h"
#include "olap/sql/information_schema.h"
#include "olap/sql/predicate_rules.h"
#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr Clause kOn{"JOIN ... ON", false};

const CteScope::Entry* find_cte(const CteScope& scope, std::string_view name, size_t* index,
                                const CteScope** owner) {
  for (const CteScope* s = &scope; s != nullptr; s = s->outer) {
    for (size_t i = 0; i < s->entries.size(); ++i) {
      if (s->entries[i].name != name) continue;
      *index = i;
      *owner = s;
      return &s->entries[i];
    }
  }
  return nullptr;
}

// What the WITH query sees of those beside it, and around them.
CteScope scope_of(const CteScope& owner, size_t index) {
  CteScope visible = owner;
  const auto self = visible.entries.begin() + static_cast<std::ptrdiff_t>(index);
  visible.entries.erase(self, owner.recursive ? self + 1 : visible.entries.end());
  return visible;
}

void append_slots(const JoinGroup& group, std::vector<uint32_t>* slots) {
  for (const JoinMember& member : group.members) {
    slots->insert(slots->end(), member.slots.begin(), member.slots.end());
  }
}

// The column of USING on one side of the join, whose right side is at `place`: in exactly one of
// these tables.
base::Result<ScopeColumn*> find_column(const SourceText& source, int64_t place,
                                       std::span<ScopeTable> tables, std::string_view name,
                                       std::string_view side) {
  ScopeColumn* found = nullptr;
  std::vector<std::string> names;
  for (ScopeTable& table : tables) {
    for (ScopeColumn& column : table.columns) {
      if (column.merged) continue;
      names.push_back(column.name);
      if (column.name != name) continue;
      if (found != nullptr) {
        return source.wrong(
            place_in_using(source, place, name),
            fmt::format("USING ({}): several tables on the {} have the column", name, side),
            "42702");
      }
      found = &column;
    }
  }
  if (found != nullptr) return found;
  return source.wrong(place_in_using(source, place, name),
                      fmt::format("USING ({}): no table on the {} has the column{}", name, side,
                                  suggestion(name, std::move(names))),
                      "42703");
}

// The names of columns that both sides of a NATURAL JOIN have.
std::vector<std::string> shared_columns(const std::vector<ScopeTable>& tables, size_t first,
                                        size_t first_right) {
  std::vector<std::string> names;
  for (size_t i = first; i < first_right; ++i) {
    for (const ScopeColumn& column : tables[i].columns) {
      if (column.merged || !is_visible(column)) continue;
      const bool shared = std::any_of(
          tables.begin() + static_cast<std::ptrdiff_t>(first_right), tables.end(),
          [&](const ScopeTable& table) {
            return std::any_of(
                table.columns.begin(), table.columns.end(), [&](const ScopeColumn& other) {
                  return other.name == column.name && !other.merged && is_visible(other);
                });
          });
      if (shared) names.push_back(column.name);
    }
  }
  return names;
}

int64_t place_of_item(const Node& item) {
  if (item.node_case != PG_QUERY__NODE__NODE_RANGE_SUBSELECT) return start_of(&item);
  return place_of(*item.range_subselect->subquery->select_stmt);
}

bool offers(const JoinGroup& group, uint32_t slot) {
  return std::any_of(group.members.begin(), group.members.end(), [&](const JoinMember& member) {
    return std::find(member.slots.begin(), member.slots.end(), slot) != member.slots.end();
  });
}

// Whether the member, group or expression names a column that the group offers.
template <class Tree>
bool names_any_of(const Tree& tree, const JoinGroup& group) {
  bool found = false;
  for_each_column(tree, [&](const Expression& c) { found = found || offers(group, c.column); });
  return found;
}

bool names_only(const JoinGroup& group, const Expression& expression) {
  bool only = true;
  for_each_column(expression, [&](const Expression& c) { only = only && offers(group, c.column); });
  return only;
}

JoinMember left_join_member(std::unique_ptr<LeftJoin> join, SlotTable& slots) {
  JoinMember member;
  append_slots(join->preserved, &member.slots);
  std::vector<uint32_t> optional;
  append_slots(join->optional, &optional);
  for (const uint32_t slot : optional) slots[slot].nullable = slots[slot].nullable || !join->inner;
  if (join->full) {
    for (const uint32_t slot : member.slots) slots[slot].nullable = true;
  }
  member.slots.insert(member.slots.end(), optional.begin(), optional.end());
  member.left_join = std::move(join);
  return member;
}

// A derived table's columns. The slots are the block around it's from here on: an outer join may
// make them nullable.
ScopeTable offered_by(const QueryBlock& block, std::string_view alias) {
  ScopeTable table;
  table.alias = alias;
  for (size_t i = 0; i < block.visible_outputs; ++i) {
    table.columns.push_back({block.outputs[i].name, block.outputs[i].slot, false});
  }
  return table;
}

}  // namespace

base::Result<void> SelectBinder::bind_from_item(const Node& node, JoinGroup& group) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR: return bind_table(*node.range_var, group);
    case PG_QUERY__NODE__NODE_JOIN_EXPR: return bind_join(*node.join_expr, group);
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT: {
      const PgQuery__RangeSubselect& derived = *node.range_subselect;
      const PgQuery__SelectStmt& select = *derived.subquery->select_stmt;
      const int64_t offset = place_of(select);
      const std::string_view name =
          derived.alias == nullptr ? std::string_view() : derived.alias->aliasname;
      if (derived.lateral != 0) return bind_lateral(select, derived.alias, name, offset, group);
      return bind_derived(select, derived.alias, nullptr, name, offset, &ctes_, group);
    }
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION: return bind_series(*node.range_function, group);
    default: return source_.unsupported(start_of(&node), construct_name(node));
  }
}

base::Result<void> SelectBinder::bind_table(const PgQuery__RangeVar& table, JoinGroup& group) {
  const std::string_view name = table.relname;
  const std::string_view alias = table.alias == nullptr ? name : table.alias->aliasname;
  const bool in_schema = table.schemaname[0] != '\0';
  if (table.catalogname[0] != '\0') {
    return source_.unsupported(table.location, "a database in front of a schema");
  }
  if (in_schema && table.schemaname != kPublicSchema) {
    return bind_other_schema(table, alias, group);
  }
  size_t index = 0;
  const CteScope* owner = nullptr;
  const CteScope::Entry* const cte = in_schema ? nullptr : find_cte(ctes_, name, &index, &owner);
  if (cte != nullptr) {
    if (cte->working != nullptr) return bind_working_table(*cte->working, table, group);
    statement_.named.insert(cte->query);
    const CteScope visible = scope_of(*owner, index);
    return bind_derived(*cte->query->ctequery->select_stmt, table.alias, cte, alias, table.location,
                        &visible, group);
  }
  const base::Catalog& catalog = statement_.catalog;
  if (const base::ViewSchema* const view = catalog.find_view(name)) {
    return bind_view(*view, table, alias, group);
  }
  const base::TableSchema* schema = catalog.find_table(name);
  if (schema == nullptr) {
    std::vector<std::string> names;
    for (const SystemTable& other : statement_.system_tables) {
      if (other.name == name) return bind_system_table(other, table, alias, group);
      names.push_back(other.name);
    }
    for (const base::TableSchema& other : catalog.tables()) names.push_back(other.name);
    for (const base::Catalog::ViewPtr& other : catalog.views()) names.push_back(other->name);
    for (const CteScope* s = in_schema ? nullptr : &ctes_; s != nullptr; s = s->outer) {
      for (const CteScope::Entry& entry : s->entries) names.emplace_back(entry.name);
    }
    return source_.wrong(table.location,
                         fmt::format("no such table \"{}\"{}", name, suggestion(name, names)),
                         "42P01");
  }
  if (schema->analytics == base::Analytics::kStoredOnly) {
    return source_.wrong(table.location,
                         fmt::format("table \"{}\" was created with analytics = off: it cannot be "
                                     "queried",
                                     name),
                         "42P01");
  }
  if (!statement_.is_in_view) statement_.uses.insert(schema->name);
  JoinMember member;
  member.table = schema;
  member.alias = alias;
  ScopeTable entry;
  entry.alias = alias;
  entry.table = name;
  for (size_t i = 0; i < schema->columns.size(); ++i) {
    const base::ColumnSchema& column = schema->columns[i];
    Slot slot;
    slot.name = column.name;
    slot.type = column.type;
    slot.nullable = column.nullability == base::Nullability::kNullable;
    slot.table = schema;
    slot.column = base::ColumnId(static_cast<uint16_t>(i));
    member.slots.push_back(slots_.add(std::move(slot)));
    entry.columns.push_back(
        {.name = column.name, .slot = member.slots.back(), .visibility = column.visibility});
  }
  if (auto done = rename_columns(table.alias, table.location, &entry); !done) return done;
  group.members.push_back(std::move(member));
  return scope_.add(source_, table.location, std::move(entry));
}

base::Result<void> SelectBinder::bind_other_schema(const PgQuery__RangeVar& table,
                                                   std::string_view alias, JoinGroup& group) {
  const std::string_view schema = table.schemaname;
  const std::string_view name = table.relname;
  if (schema.starts_with("pg_")) {
    return source_.unsupported(table.location, fmt::format("the schema \"{}\"", schema));
  }
  const auto missing = [&](const std::string& hint) {
    return source_.wrong(table.location,
                         fmt::format("no such table \"{}.{}\"{}", schema, name, hint), "42P01");
  };
  if (schema != kInformationSchema) {
    return missing(fmt::format(": all are in \"{}\"", kPublicSchema));
  }
  const auto system = information_schema_table(name, statement_.catalog, statement_.system_tables);
  if (!system) return missing(suggestion(name, information_schema_names()));
  return bind_system_table(*system, table, alias, group);
}

// Its rows, as a VALUES would give them. Another version may have other system tables, and opens
// the database, too.
base::Result<void> SelectBinder::bind_system_table(const SystemTable& system,
                                                   const PgQuery__RangeVar& table,
                                                   std::string_view alias, JoinGroup& group) {
  if (statement_.is_of_view) {
    return source_.unsupported(table.location, "a view of a system table");
  }
  JoinMember member;
  for (std::vector<base::Value>& values : system.rows()) {
    DIPTYCH_CHECK(values.size() == system.columns.size(), "a row has a value for each column");
    Expressions& row = member.rows.emplace_back();
    for (size_t i = 0; i < values.size(); ++i) {
      row.push_back(make_literal(system.columns[i].type, std::move(values[i])));
    }
  }
  DIPTYCH_CHECK(!member.rows.empty(), "VALUES has a row");
  ScopeTable entry;
  entry.alias = alias;
  for (const SystemColumn& column : system.columns) {
    Slot slot;
    slot.name = column.name;
    slot.type = column.type;
    slot.nullable = column.nullable;
    member.slots.push_back(slots_.add(std::move(slot)));
    entry.columns.push_back({column.name, member.slots.back(), false});
  }
  if (auto done = rename_columns(table.alias, table.location, &entry); !done) return done;
  group.members.push_back(std::move(member));
  return scope_.add(source_, table.location, std::move(entry));
}

base::Result<void> SelectBinder::bind_derived(const PgQuery__SelectStmt& select,
                                              const PgQuery__Alias* alias,
                                              const CteScope::Entry* cte, std::string_view name,
                                              int64_t offset, const CteScope* ctes,
                                              JoinGroup& group) {
  SelectBinder binder(statement_, ctes->around, ctes, ctes->correlation);
  if (cte != nullptr && cte->recursion != 0) binder.recursion_ = cte;
  if (cte == nullptr) binder.scope_.stand_in(&scope_);
  const unsigned depth =
      std::exchange(statement_.depth, cte != nullptr ? cte->depth : statement_.depth);
  auto block = binder.bind(select);
  statement_.depth = depth;
  if (!block) return block.error();
  ScopeTable entry = offered_by(**block, name);
  if (cte != nullptr) {
    if (auto done = name_columns(*cte, &entry); !done) return done;
  }
  if (auto done = rename_columns(alias, offset, &entry); !done) return done;
  group.members.push_back(derived_member(*std::move(block)));
  return scope_.add(source_, offset, std::move(entry));
}

// As a derived table without names around it; its errors lie in a text that the statement does not
// have.
base::Result<void> SelectBinder::bind_view(const base::ViewSchema& view,
                                           const PgQuery__RangeVar& table, std::string_view alias,
                                           JoinGroup& group) {
  const bool was_in_view = statement_.is_in_view;
  const auto in_view = [&](const base::Error& error) {
    if (was_in_view) return error;  // placed where the statement names the view around
    base::Error placed = source_.error(error.code, table.location,
                                       fmt::format("view \"{}\": {}", view.name, error.message));
    placed.state = error.state;
    return placed;
  };
  const auto parsed = statement_.views.find(view, source_.moment());
  if (!parsed) return in_view(parsed.error());
  if (!was_in_view) statement_.uses.insert(view.name);
  const SourceText* const source = std::exchange(statement_.source, &(*parsed)->source);
  statement_.is_in_view = true;
  const unsigned depth = std::exchange(statement_.depth, 0);
  auto block =
      SelectBinder(statement_, nullptr, nullptr, Correlation::kRefused).bind((*parsed)->select());
  statement_.source = source;
  statement_.is_in_view = was_in_view;
  statement_.depth = depth;
  if (!block) return in_view(block.error());
  ScopeTable entry = offered_by(**block, alias);
  entry.table = view.name;
  DIPTYCH_CHECK(entry.columns.size() == view.columns.size(), "what a view uses stays as it is");
  for (size_t i = 0; i < entry.columns.size(); ++i) entry.columns[i].name = view.columns[i].name;
  if (auto done = rename_columns(table.alias, table.location, &entry); !done) return done;
  group.members.push_back(derived_member(*std::move(block)));
  return scope_.add(source_, table.location, std::move(entry));
}

base::Result<void> SelectBinder::check_unnamed_queries() {
  for (size_t i = 0; i < ctes_.entries.size(); ++i) {
    const CteScope::Entry& cte = ctes_.entries[i];
    if (statement_.named.contains(cte.query)) continue;
    const CteScope visible = scope_of(ctes_, i);
    SelectBinder binder(statement_, outer_, &visible, correlation_);
    if (cte.recursion != 0) binder.recursion_ = &cte;
    const auto block = binder.bind(*cte.query->ctequery->select_stmt);
    if (!block) return block.error();
    ScopeTable entry = offered_by(**block, cte.name);
    if (auto done = name_columns(cte, &entry); !done) return done;
  }
  return {};
}

// LATERAL: a derived table that names columns of what stands before it in FROM, decorrelated.
base::Result<void> SelectBinder::bind_lateral(const PgQuery__SelectStmt& select,
                                              const PgQuery__Alias* alias, std::string_view name,
                                              int64_t offset, JoinGroup& group) {
  const uint32_t first_slot = slots_.size();
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kAllowed);
  auto bound = binder.bind(select);
  if (!bound) return bound.error();
  ScopeTable entry = offered_by(**bound, name);
  if (auto done = rename_columns(alias, offset, &entry); !done) return done;
  if (!moves_out(**bound, first_slot, {})) {
    add_member(derived_member(*std::move(bound)), first_slot, group);
    return scope_.add(source_, offset, std::move(entry));
  }
  Ties ties = decorrelate(slots_, **bound, first_slot, {});
  group.members.push_back(derived_member(*std::move(bound)));
  for (ExpressionPtr& condition : ties.conditions) {
    const bool beyond = lateral_conditions_ != nullptr && !names_only(group, *condition);
    (beyond ? *lateral_conditions_ : group.predicates).push_back(std::move(condition));
  }
  return scope_.add(source_, offset, std::move(entry));
}

// A member that may name columns of those before it: they are joined to it first, then, and it is
// unnested. What else it names is left to those around the group.
void SelectBinder::add_member(JoinMember member, uint32_t first_slot, JoinGroup& group) {
  if (!names_any_of(member, group)) {
    group.members.push_back(std::move(member));
    return;
  }
  auto left_join = std::make_unique<LeftJoin>();
  left_join->inner = true;
  left_join->preserved.members = std::move(group.members);
  left_join->optional.members.push_back(std::move(member));
  Ties ties = unnest(slots_, left_join->optional, [&](uint32_t slot) { return slot < first_slot; });
  left_join->on = std::move(ties.conditions);
  left_join->domain = std::move(ties.domain);
  group.members.clear();
  group.members.push_back(left_join_member(std::move(left_join), slots_));
}

base::Result<void> SelectBinder::rename_columns(const PgQuery__Alias* alias, int64_t offset,
                                                ScopeTable* table) const {
  if (alias == nullptr) return {};
  return rename_columns(NodeList(alias->colnames, alias->n_colnames), offset, table);
}

base::Result<void> SelectBinder::rename_columns(NodeList names, int64_t offset,
                                                ScopeTable* table) const {
  std::vector<ScopeColumn*> columns;
  for (ScopeColumn& column : table->columns) {
    if (is_visible(column)) columns.push_back(&column);
  }
  if (names.size() > columns.size()) {
    return source_.wrong(offset,
                         fmt::format("\"{}\" has {}, but {} names are given", table->alias,
                                     base::counted(columns.size(), "column"), names.size()),
                         "42P10");
  }
  for (size_t i = 0; i < names.size(); ++i) columns[i]->name = string_of(names[i]);
  return {};
}

// WITH name (columns) AS ...
base::Result<void> SelectBinder::name_columns(const CteScope::Entry& cte, ScopeTable* table) const {
  const PgQuery__CommonTableExpr& query = *cte.query;
  return rename_columns(NodeList(query.aliascolnames, query.n_aliascolnames), query.location,
                        table);
}

// A join with an alias is one table for those around it: its members' names end with it, and may be
// those of tables before it.
base::Result<void> SelectBinder::bind_join(const PgQuery__JoinExpr& join, JoinGroup& group) {
  if (join.alias == nullptr) return bind_joined(join, group);
  std::vector<ScopeTable>& tables = scope_.tables();
  const size_t first = tables.size();
  const size_t names_around = scope_.start_names();
  if (auto bound = bind_joined(join, group); !bound) return bound;
  ScopeTable whole;
  whole.alias = join.alias->aliasname;
  whole.joined = true;
  for (size_t i = first; i < tables.size(); ++i) {
    for (ScopeColumn& column : tables[i].columns) {
      if (!column.merged) whole.columns.push_back(std::move(column));
    }
  }
  tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(first), tables.end());
  scope_.end_names(names_around);
  const int64_t place = start_of(join.larg);
  if (auto done = rename_columns(join.alias, place, &whole); !done) return done;
  return scope_.add(source_, place, std::move(whole));
}

base::Result<void> SelectBinder::bind_joined(const PgQuery__JoinExpr& join, JoinGroup& group) {
  const int64_t place = start_of(join.rarg);
  switch (join.jointype) {
    case PG_QUERY__JOIN_TYPE__JOIN_INNER: break;
    case PG_QUERY__JOIN_TYPE__JOIN_LEFT:
    case PG_QUERY__JOIN_TYPE__JOIN_RIGHT:
    case PG_QUERY__JOIN_TYPE__JOIN_FULL: return bind_outer_join(join, group);
    default: return source_.unsupported(place, "this kind of join");
  }
  const size_t first = scope_.tables().size();
  if (auto bound = bind_from_item(*join.larg, group); !bound) return bound;
  const size_t first_right = scope_.tables().size();
  if (auto bound = bind_from_item(*join.rarg, group); !bound) return bound;
  auto conditions = bind_join_condition(join, first, first_right);
  if (!conditions) return conditions.error();
  for (ExpressionPtr& condition : *conditions) group.predicates.push_back(std::move(condition));
  return {};
}

base::Result<void> SelectBinder::bind_outer_join(const PgQuery__JoinExpr& join, JoinGroup& group) {
  const bool right = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT;
  auto left_join = std::make_unique<LeftJoin>();
  left_join->full = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
  JoinGroup& left_side = right ? left_join->optional : left_join->preserved;
  JoinGroup& right_side = right ? left_join->preserved : left_join->optional;
  JoinGroup* const around = scalar_group_;
  const uint32_t first_slot = slots_.size();
  const size_t first = scope_.tables().size();
  const bool left = !right && !left_join->full;
  // Where what LATERAL compares with the tables around this join may go.
  Expressions* const lateral_around = lateral_conditions_;
  scalar_group_ = &left_side;
  if (!left) lateral_conditions_ = nullptr;
  if (auto bound = bind_from_item(*join.larg, left_side); !bound) return bound;
  const uint32_t right_slot = slots_.size();
  const size_t first_right = scope_.tables().size();
  scalar_group_ = &right_side;
  lateral_conditions_ = left ? &left_join->on : nullptr;
  if (auto bound = bind_from_item(*join.rarg, right_side); !bound) return bound;
  lateral_conditions_ = lateral_around;
  if (!left && names_any_of(right_side, left_side)) {
    return source_.wrong(place_of_item(*join.rarg),
                         "LATERAL cannot name the left side of a RIGHT or FULL JOIN", "42P10");
  }
  // A subquery in ON is computed beside the optional side's rows, for those that they meet.
  const uint32_t on_slot = slots_.size();
  scalar_group_ = &left_join->optional;
  auto conditions = bind_join_condition(join, first, first_right);
  scalar_group_ = around;
  if (!conditions) return conditions.error();
  for (ExpressionPtr& condition : *conditions) left_join->on.push_back(std::move(condition));
  if (names_any_of(left_join->optional, left_join->preserved)) {
    if (left_join->full) {
      return source_.unsupported(start_of(join.rarg),
                                 "a subquery in the ON of a FULL JOIN that names its left side");
    }
    for (ExpressionPtr& condition : left_join->on) {
      left_join->optional.predicates.push_back(std::move(condition));
    }
    Ties ties = unnest(slots_, left_join->optional, [&](uint32_t slot) {
      return right ? slot < first_slot || (slot >= right_slot && slot < on_slot)
                   : slot < right_slot;
    });
    left_join->on = std::move(ties.conditions);
    left_join->domain = std::move(ties.domain);
  }
  add_member(left_join_member(std::move(left_join), slots_), first_slot, group);
  return {};
}

base::Result<Expressions> SelectBinder::bind_join_condition(const PgQuery__JoinExpr& join,
                                                            size_t first_table,
                                                            size_t first_right_table) {
  if (join.n_using_clause != 0 || join.is_natural != 0) {
    std::vector<std::string> names = strings_of(NodeList(join.using_clause, join.n_using_clause));
    if (join.is_natural != 0)
      names = shared_columns(scope_.tables(), first_table, first_right_table);
    return bind_using(names, first_table, first_right_table, join);
  }
  if (join.quals == nullptr) return Expressions();  // CROSS JOIN
  // ON sees only the tables of its own join: the others leave the scope meanwhile.
  std::vector<ScopeTable>& tables = scope_.tables();
  std::vector<ScopeTable> hidden(std::make_move_iterator(tables.begin()),
                                 std::make_move_iterator(tables.begin() + first_table));
  tables.erase(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(first_table));
  auto predicate = expressions_.bind_predicate(join.quals, kOn);
  tables.insert(tables.begin(), std::make_move_iterator(hidden.begin()),
                std::make_move_iterator(hidden.end()));
  if (!predicate) return predicate.error();
  return split_conjuncts(push_nots(*std::move(predicate)));
}

// The columns of USING come first, once: the left side's or, of a right join, the right side's; of
// a full join, whichever is there.
base::Result<Expressions> SelectBinder::bind_using(const std::vector<std::string>& names,
                                                   size_t first_table, size_t first_right_table,
                                                   const PgQuery__JoinExpr& join) {
  const int64_t place = place_of_item(*join.rarg);
  const bool keep_right = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT;
  const bool full = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
  Expressions conditions;
  std::vector<ScopeTable>& tables = scope_.tables();
  ScopeTable shared;
  if (join.join_using_alias != nullptr) {
    shared.alias = join.join_using_alias->aliasname;
    if (auto fresh = scope_.check_name(source_, place, shared.alias); !fresh) return fresh.error();
  }
  for (const std::string& name : names) {
    const auto own = std::span(tables).subspan(first_table);
    const size_t of_left = first_right_table - first_table;
    const auto left_found = find_column(source_, place, own.first(of_left), name, "left");
    if (!left_found) return left_found.error();
    const auto right_found = find_column(source_, place, own.subspan(of_left), name, "right");
    if (!right_found) return right_found.error();
    ScopeColumn* const left = *left_found;
    ScopeColumn* const right = *right_found;
    ExpressionPtr left_value = column_of(*left, slots_);
    ExpressionPtr right_value = column_of(*right, slots_);
    const base::DataType left_type = left_value->type;
    const base::DataType right_type = right_value->type;
    const auto type = common_type(left_type, right_type);
    if (!type) {
      const std::string types = left_type.to_string() + " and " + right_type.to_string();
      return source_.wrong(place, fmt::format("USING ({}) cannot mix {}", name, types), "42804");
    }
    auto equality = bind_operator(source_, "=", place, Bound{std::move(left_value), false, place},
                                  Bound{std::move(right_value), false, place});
    if (!equality) return equality.error();
    conditions.push_back(std::move(equality->expression));
    const bool inner = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_INNER;
    const bool takes_right = keep_right || (inner && type == right_type && type != left_type);
    ScopeColumn merged = takes_right ? *right : *left;
    if (full || left_type.kind != right_type.kind) merged.type = type;
    if (full) {
      merged.otherwise.push_back(right->slot);
      merged.otherwise.insert(merged.otherwise.end(), right->otherwise.begin(),
                              right->otherwise.end());
    }
    shared.columns.push_back(std::move(merged));
    left->merged = true;
    right->merged = true;
  }
  if (!shared.columns.empty()) {
    tables.insert(tables.begin() + static_cast<std::ptrdiff_t>(first_table), std::move(shared));
  }
  return conditions;
}

}  // namespace diptych::olap
