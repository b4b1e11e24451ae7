// FROM of SelectBinder: tables, derived tables, CTEs and joins.

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "olap/sql/decorrelation.h"
#include "olap/sql/select_binder.h"

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

void append_slots(const JoinGroup& group, std::vector<uint32_t>* slots) {
  for (const JoinMember& member : group.members) {
    slots->insert(slots->end(), member.slots.begin(), member.slots.end());
  }
}

ScopeColumn* find_column(std::vector<ScopeTable>& tables, size_t first, size_t last,
                         std::string_view name) {
  ScopeColumn* found = nullptr;
  for (size_t i = first; i < last; ++i) {
    for (ScopeColumn& column : tables[i].columns) {
      if (column.name != name || column.merged) continue;
      if (found != nullptr) return nullptr;  // ambiguous
      found = &column;
    }
  }
  return found;
}

// The names of columns that both sides of a NATURAL JOIN have.
std::vector<std::string> shared_columns(const std::vector<ScopeTable>& tables, size_t first,
                                        size_t first_right) {
  std::vector<std::string> names;
  for (size_t i = first; i < first_right; ++i) {
    for (const ScopeColumn& column : tables[i].columns) {
      if (column.merged) continue;
      const bool shared =
          std::any_of(tables.begin() + static_cast<std::ptrdiff_t>(first_right), tables.end(),
                      [&](const ScopeTable& table) {
                        return std::any_of(table.columns.begin(), table.columns.end(),
                                           [&](const ScopeColumn& other) {
                                             return other.name == column.name && !other.merged;
                                           });
                      });
      if (shared) names.push_back(column.name);
    }
  }
  return names;
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
      return bind_derived(select, derived.alias, {}, name, offset, &ctes_, group);
    }
    default: return source_.unsupported(start_of(&node), construct_name(node));
  }
}

base::Result<void> SelectBinder::bind_table(const PgQuery__RangeVar& table, JoinGroup& group) {
  const std::string_view name = table.relname;
  const std::string_view alias = table.alias == nullptr ? name : table.alias->aliasname;
  if (table.schemaname[0] != '\0') {
    return source_.unsupported(table.location, "a schema in front of a table name");
  }
  if (table.inh == 0) return source_.unsupported(table.location, "ONLY");
  size_t index = 0;
  const CteScope* owner = nullptr;
  if (const CteScope::Entry* cte = find_cte(ctes_, name, &index, &owner)) {
    // A WITH query sees those before it.
    CteScope visible;
    visible.entries.assign(owner->entries.begin(),
                           owner->entries.begin() + static_cast<std::ptrdiff_t>(index));
    visible.outer = owner->outer;
    const NodeList columns(cte->query->aliascolnames, cte->query->n_aliascolnames);
    return bind_derived(*cte->query->ctequery->select_stmt, table.alias, columns, alias,
                        table.location, &visible, group);
  }
  const base::TableSchema* schema = statement_.catalog.find_table(name);
  if (schema == nullptr) {
    std::vector<std::string> names;
    for (const SystemTable& other : statement_.system_tables) {
      if (other.name == name) return bind_system_table(other, table, alias, group);
      names.push_back(other.name);
    }
    for (const base::TableSchema& other : statement_.catalog.tables()) names.push_back(other.name);
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
  JoinMember member;
  member.table = schema;
  ScopeTable entry;
  entry.alias = alias;
  for (size_t i = 0; i < schema->columns.size(); ++i) {
    const base::ColumnSchema& column = schema->columns[i];
    Slot slot;
    slot.name = column.name;
    slot.type = column.type;
    slot.nullable = column.nullability == base::Nullability::kNullable;
    slot.table = schema;
    slot.column = base::ColumnId(static_cast<uint16_t>(i));
    member.slots.push_back(slots_.add(std::move(slot)));
    entry.columns.push_back({column.name, member.slots.back(), false});
  }
  if (auto done = rename_columns(table.alias, {}, table.location, &entry); !done) return done;
  group.members.push_back(std::move(member));
  return scope_.add(source_, table.location, std::move(entry));
}

// Its rows, as a VALUES would give them.
base::Result<void> SelectBinder::bind_system_table(const SystemTable& system,
                                                   const PgQuery__RangeVar& table,
                                                   std::string_view alias, JoinGroup& group) {
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
  if (auto done = rename_columns(table.alias, {}, table.location, &entry); !done) return done;
  group.members.push_back(std::move(member));
  return scope_.add(source_, table.location, std::move(entry));
}

base::Result<void> SelectBinder::bind_derived(const PgQuery__SelectStmt& select,
                                              const PgQuery__Alias* alias, NodeList cte_columns,
                                              std::string_view name, int64_t offset,
                                              const CteScope* ctes, JoinGroup& group) {
  SelectBinder binder(statement_, outer_, ctes, correlation_);
  auto block = binder.bind(select);
  if (!block) return block.error();
  ScopeTable entry = offered_by(**block, name);
  if (auto done = rename_columns(alias, cte_columns, offset, &entry); !done) return done;
  group.members.push_back(derived_member(*std::move(block)));
  return scope_.add(source_, offset, std::move(entry));
}

// LATERAL: a derived table that names columns of what stands before it in FROM, decorrelated.
base::Result<void> SelectBinder::bind_lateral(const PgQuery__SelectStmt& select,
                                              const PgQuery__Alias* alias, std::string_view name,
                                              int64_t offset, JoinGroup& group) {
  const uint32_t first_slot = slots_.size();
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kAllowed);
  auto bound = binder.bind(select);
  if (!bound) return bound.error();
  QueryBlock& block = **bound;
  ScopeTable entry = offered_by(block, name);
  if (auto done = rename_columns(alias, {}, offset, &entry); !done) return done;
  const bool one_group = block.aggregated && block.group_keys.empty();
  auto conditions = decorrelate(source_, offset, slots_, block, first_slot);
  if (!conditions) return conditions.error();
  if (one_group && !conditions->empty()) {
    return source_.unsupported(offset, "an aggregate over all rows in LATERAL");
  }
  group.members.push_back(derived_member(*std::move(bound)));
  Expressions& place = lateral_conditions_ != nullptr ? *lateral_conditions_ : group.predicates;
  for (ExpressionPtr& condition : *conditions) place.push_back(std::move(condition));
  return scope_.add(source_, offset, std::move(entry));
}

base::Result<void> SelectBinder::rename_columns(const PgQuery__Alias* alias, NodeList cte_columns,
                                                int64_t offset, ScopeTable* table) const {
  const NodeList own = alias == nullptr ? NodeList() : NodeList(alias->colnames, alias->n_colnames);
  for (const NodeList names : {cte_columns, own}) {
    if (names.size() > table->columns.size()) {
      return source_.wrong(offset,
                           fmt::format("\"{}\" has {} columns, but {} names are given",
                                       table->alias, table->columns.size(), names.size()),
                           "42P10");
    }
    for (size_t i = 0; i < names.size(); ++i) table->columns[i].name = string_of(names[i]);
  }
  return {};
}

base::Result<void> SelectBinder::bind_join(const PgQuery__JoinExpr& join, JoinGroup& group) {
  const int64_t place = start_of(join.rarg);
  if (join.alias != nullptr || join.join_using_alias != nullptr) {
    return source_.unsupported(place, "an alias of a join");
  }
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
  const size_t first = scope_.tables().size();
  scalar_group_ = &left_side;
  if (auto bound = bind_from_item(*join.larg, left_side); !bound) return bound;
  const size_t first_right = scope_.tables().size();
  scalar_group_ = &right_side;
  Expressions* const lateral_around = lateral_conditions_;
  lateral_conditions_ = &left_join->on;
  if (auto bound = bind_from_item(*join.rarg, right_side); !bound) return bound;
  lateral_conditions_ = lateral_around;
  scalar_group_ = around;
  const bool refused_around = subqueries_refused_;
  subqueries_refused_ = true;
  auto conditions = bind_join_condition(join, first, first_right);
  subqueries_refused_ = refused_around;
  if (!conditions) return conditions.error();
  for (ExpressionPtr& condition : *conditions) left_join->on.push_back(std::move(condition));
  JoinMember member;
  append_slots(left_join->preserved, &member.slots);
  std::vector<uint32_t> optional;
  append_slots(left_join->optional, &optional);
  for (const uint32_t slot : optional) slots_[slot].nullable = true;
  if (left_join->full) {
    for (const uint32_t slot : member.slots) slots_[slot].nullable = true;
  }
  member.slots.insert(member.slots.end(), optional.begin(), optional.end());
  member.left_join = std::move(left_join);
  group.members.push_back(std::move(member));
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
  return split_conjuncts(*std::move(predicate));
}

// The columns of USING come first, once: the left side's or, of a right join, the right side's; of
// a full join, whichever is there.
base::Result<Expressions> SelectBinder::bind_using(const std::vector<std::string>& names,
                                                   size_t first_table, size_t first_right_table,
                                                   const PgQuery__JoinExpr& join) {
  const int64_t place = start_of(join.rarg);
  const bool keep_right = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT;
  const bool full = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
  Expressions conditions;
  std::vector<ScopeTable>& tables = scope_.tables();
  ScopeTable shared;
  for (const std::string& name : names) {
    ScopeColumn* left = find_column(tables, first_table, first_right_table, name);
    ScopeColumn* right = find_column(tables, first_right_table, tables.size(), name);
    if (left == nullptr || right == nullptr) {
      return source_.wrong(place,
                           fmt::format("USING ({}): exactly one table on each side must "
                                       "have the column",
                                       name),
                           "42703");
    }
    auto equality = bind_operator(source_, "=", place,
                                  Bound{column_of(*left, slots_), std::nullopt, false, place},
                                  Bound{column_of(*right, slots_), std::nullopt, false, place});
    if (!equality) return equality.error();
    conditions.push_back(std::move(equality->expression));
    ScopeColumn merged = keep_right ? *right : *left;
    if (full) merged.otherwise.push_back(right->slot);
    if (full) {
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
