#include "olap/sql/drop.h"

#include <algorithm>
#include <initializer_list>
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

void add_once(std::string name, std::vector<std::string>* names) {
  if (std::ranges::count(*names, name) == 0) names->push_back(std::move(name));
}

}  // namespace

base::Result<DdlChange> parse_drop(const SourceText& source, const base::Catalog& catalog,
                                   const PgQuery__DropStmt& statement) {
  const bool tables = statement.remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE;
  if (!tables && statement.remove_type != PG_QUERY__OBJECT_TYPE__OBJECT_INDEX) {
    return source.unsupported(0, "DROP of other things than tables and indexes");
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
    const bool is_there =
        tables ? catalog.find_table(name.back()) != nullptr : catalog.has_index(name.back());
    if (is_there) {
      add_once(std::move(name.back()), &found);
    } else if (statement.missing_ok == 0) {
      if (tables) return no_such_table(source, place(), name.back(), catalog);
      return source.wrong(place(), fmt::format("no such index \"{}\"", name.back()), "42704");
    }
  }
  if (found.empty()) return DdlChange(NoChange{});
  return tables ? DdlChange(DropTables{std::move(found)})
                : DdlChange(DropIndexes{std::move(found)});
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
