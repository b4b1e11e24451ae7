#include "olap/sql/scope.h"

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/type_rules.h"

namespace diptych::olap {

base::Result<void> Scope::add(const SourceText& source, int64_t offset, ScopeTable table) {
  if (auto fresh = check_name(source, offset, table.alias); !fresh) return fresh;
  tables_.push_back(std::move(table));
  return {};
}

base::Result<void> Scope::check_name(const SourceText& source, int64_t offset,
                                     std::string_view alias) const {
  const auto first = tables_.begin() + static_cast<std::ptrdiff_t>(first_named_);
  const bool taken = !alias.empty() && std::any_of(first, tables_.end(), [&](const auto& table) {
    return table.alias == alias;
  });
  if (!taken) return {};
  return source.wrong(
      offset, fmt::format("table name \"{}\" is used twice; give one an alias", alias), "42712");
}

ExpressionPtr column_of(const ScopeColumn& column, const SlotTable& slots) {
  const base::DataType type = column.type.value_or(slots[column.slot].type);
  ExpressionPtr value = cast_to(slots.column(column.slot), type);
  if (column.otherwise.empty()) return value;
  Expressions values;
  values.push_back(std::move(value));
  for (const uint32_t slot : column.otherwise) values.push_back(cast_to(slots.column(slot), type));
  return make_expression(ExpressionKind::kCoalesce, type, std::move(values));
}

const ScopeTable* Scope::find_table(std::string_view alias) const {
  if (alias.empty()) return nullptr;
  for (const ScopeTable& table : tables_) {
    if (table.alias == alias) return &table;
  }
  return nullptr;
}

base::Error Scope::unknown_table(const SourceText& source, int64_t offset,
                                 std::string_view alias) const {
  std::string hint;
  std::vector<std::string> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    for (const ScopeTable& table : scope->tables_) {
      names.push_back(table.alias);
      if (hint.empty() && table.table == alias) {
        hint = fmt::format("; did you mean its alias \"{}\"?", table.alias);
      }
    }
    const bool is_beside = scope->from_ != nullptr && scope->from_->find_table(alias) != nullptr;
    if (hint.empty() && is_beside) hint = "; a derived table that names it is LATERAL";
  }
  if (hint.empty()) hint = suggestion(alias, std::move(names));
  return source.wrong(offset, fmt::format("no table \"{}\" in FROM{}", alias, hint), "42P01");
}

std::vector<const ScopeColumn*> Scope::matches(std::string_view table,
                                               std::string_view column) const {
  std::vector<const ScopeColumn*> found;
  for (const ScopeTable& candidate : tables_) {
    if (!table.empty() && candidate.alias != table) continue;
    for (const ScopeColumn& c : candidate.columns) {
      if (c.name == column && (!c.merged || !table.empty())) found.push_back(&c);
    }
  }
  return found;
}

const ScopeColumn* Scope::find_own(std::string_view column) const {
  const auto found = matches({}, column);
  return found.size() == 1 ? found.front() : nullptr;
}

std::vector<std::string> Scope::column_names(std::string_view table) const {
  std::vector<std::string> names;
  for (const ScopeTable& candidate : tables_) {
    if (!table.empty() && candidate.alias != table) continue;
    for (const ScopeColumn& c : candidate.columns) names.push_back(c.name);
  }
  return names;
}

base::Result<const ScopeColumn*> Scope::resolve(const SourceText& source, int64_t offset,
                                                std::string_view table,
                                                std::string_view column) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto found = scope->matches(table, column);
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
      return source.wrong(offset,
                          fmt::format("column \"{}\" is ambiguous: several tables have it; "
                                      "write table.{}",
                                      column, column),
                          "42702");
    }
    if (!table.empty() && scope->find_table(table) != nullptr) {
      return source.wrong(offset,
                          fmt::format("table \"{}\" has no column \"{}\"{}", table, column,
                                      suggestion(column, scope->column_names(table))),
                          "42703");
    }
  }
  if (!table.empty()) return unknown_table(source, offset, table);
  return unknown_column(source, offset, column);
}

base::Error Scope::unknown_column(const SourceText& source, int64_t offset, std::string_view column,
                                  std::vector<std::string> others) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    for (std::string& name : scope->column_names({})) others.push_back(std::move(name));
  }
  return source.wrong(
      offset, fmt::format("no such column \"{}\"{}", column, suggestion(column, std::move(others))),
      "42703");
}

}  // namespace diptych::olap
