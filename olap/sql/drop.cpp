#include "olap/sql/drop.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "olap/sql/ddl_parts.h"

namespace diptych::olap {
namespace {

bool cascades(PgQuery__DropBehavior behavior) {
  return behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
}

// A clause that is refused where its word stands.
struct RefusedWord {
  bool written;
  std::string_view clause;
  std::string_view word;
};

base::Result<void> refuse_words(const SourceText& source,
                                std::initializer_list<RefusedWord> words) {
  for (const auto& [written, clause, word] : words) {
    if (written) return source.unsupported(place_of_word(source, word), clause);
  }
  return {};
}

enum class DroppedKind : uint8_t { kTable, kIndex, kView };

// nullopt: others are not dropped.
std::optional<DroppedKind> kind_of(PgQuery__ObjectType type) {
  switch (type) {
    case PG_QUERY__OBJECT_TYPE__OBJECT_TABLE: return DroppedKind::kTable;
    case PG_QUERY__OBJECT_TYPE__OBJECT_INDEX: return DroppedKind::kIndex;
    case PG_QUERY__OBJECT_TYPE__OBJECT_VIEW: return DroppedKind::kView;
    default: return std::nullopt;
  }
}

bool is_there(const base::Catalog& catalog, DroppedKind kind, const std::string& name) {
  switch (kind) {
    case DroppedKind::kTable: return catalog.find_table(name) != nullptr;
    case DroppedKind::kIndex: return catalog.has_index(name);
    case DroppedKind::kView: return catalog.find_view(name) != nullptr;
  }
  return false;
}

// Of one that is not there; nullopt: IF EXISTS lets it pass.
std::optional<base::Error> missing(const SourceText& source, const base::Catalog& catalog,
                                   DroppedKind kind, const std::string& name, int64_t place,
                                   bool passes) {
  if (kind == DroppedKind::kTable && is_there(catalog, DroppedKind::kView, name)) {
    return source.wrong(
        place, fmt::format("\"{}\" is a view and no table; DROP VIEW drops it", name), "42809");
  }
  if (kind == DroppedKind::kView && is_there(catalog, DroppedKind::kTable, name)) {
    return source.wrong(
        place, fmt::format("\"{}\" is a table and no view; DROP TABLE drops it", name), "42809");
  }
  if (passes) return std::nullopt;
  switch (kind) {
    case DroppedKind::kTable: return no_such_table(source, place, name, catalog);
    case DroppedKind::kIndex:
      return source.wrong(place, fmt::format("no such index \"{}\"", name), "42704");
    case DroppedKind::kView: break;
  }
  std::vector<std::string> views;
  for (const base::Catalog::ViewPtr& view : catalog.views()) views.push_back(view->name);
  return source.wrong(place, fmt::format("no such view \"{}\"{}", name, suggestion(name, views)),
                      "42P01");
}

void add_once(std::string name, std::vector<std::string>* names) {
  if (std::ranges::count(*names, name) == 0) names->push_back(std::move(name));
}

}  // namespace

base::Result<DdlChange> parse_drop(const SourceText& source, const base::Catalog& catalog,
                                   const PgQuery__DropStmt& statement) {
  const std::optional<DroppedKind> kind = kind_of(statement.remove_type);
  if (!kind) {
    return source.unsupported(0, "DROP of other things than tables, indexes and views");
  }
  if (auto checked =
          refuse_words(source, {{cascades(statement.behavior), "CASCADE", "cascade"},
                                {statement.concurrent != 0, "CONCURRENTLY", "concurrently"}});
      !checked) {
    return checked.error();
  }
  std::vector<std::string> found;
  // Behind DROP TABLE [IF EXISTS].
  const size_t first_name = statement.missing_ok == 0 ? 2 : 4;
  for (size_t i = 0; i < statement.n_objects; ++i) {
    const Node* const object = statement.objects[i];
    const auto place = [&] { return place_in_list(source, first_name, i); };
    std::vector<std::string> name =
        strings_of(NodeList(object->list->items, object->list->n_items));
    const bool is_public = name.size() == 1 || (name.size() == 2 && name[0] == kPublicSchema);
    if (!is_public) return source.unsupported(place(), "a schema but \"public\"");
    if (is_there(catalog, *kind, name.back())) {
      add_once(std::move(name.back()), &found);
      continue;
    }
    const bool passes = statement.missing_ok != 0;
    auto error = missing(source, catalog, *kind, name.back(), place(), passes);
    if (error) return *std::move(error);
  }
  if (found.empty()) return DdlChange(NoChange{});
  switch (*kind) {
    case DroppedKind::kTable: return DdlChange(DropTables{std::move(found)});
    case DroppedKind::kIndex: return DdlChange(DropIndexes{std::move(found)});
    case DroppedKind::kView: break;
  }
  return DdlChange(DropViews{std::move(found)});
}

base::Result<DdlChange> parse_truncate(const SourceText& source, const base::Catalog& catalog,
                                       const PgQuery__TruncateStmt& statement) {
  if (auto checked =
          refuse_words(source, {{cascades(statement.behavior), "CASCADE", "cascade"},
                                {statement.restart_seqs != 0, "RESTART IDENTITY", "restart"}});
      !checked) {
    return checked.error();
  }
  TruncateTables change;
  for (const Node* const node : NodeList(statement.relations, statement.n_relations)) {
    const PgQuery__RangeVar& table = *node->range_var;
    if (auto checked = check_table(source, table); !checked) return checked.error();
    if (catalog.find_table(table.relname) == nullptr) {
      return no_such_table(source, table.location, table.relname, catalog);
    }
    add_once(table.relname, &change.tables);
  }
  return DdlChange(std::move(change));
}

}  // namespace diptych::olap
