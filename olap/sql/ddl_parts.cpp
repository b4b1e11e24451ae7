#include "olap/sql/ddl_parts.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace diptych::olap {

base::Result<void> refuse(const SourceText& source, int64_t place,
                          std::initializer_list<IgnoredClause> clauses) {
  for (const IgnoredClause& clause : clauses) {
    if (clause.written) return source.unsupported(place, clause.name);
  }
  return {};
}

base::Result<void> check_table(const SourceText& source, const PgQuery__RangeVar& table) {
  const std::string_view schema = table.schemaname;
  return refuse(source, table.location,
                {{*table.catalogname != '\0', "a database in front of a schema"},
                 {!schema.empty() && schema != kPublicSchema, "a schema but \"public\""},
                 {table.inh == 0, "ONLY"},
                 {std::string_view(table.relpersistence) != "p", "a temporary or unlogged table"}});
}

base::Error no_such_table(const SourceText& source, int64_t place, std::string_view name,
                          const base::Catalog& catalog) {
  if (catalog.find_view(name) != nullptr) {
    return source.wrong(place, fmt::format("\"{}\" is a view and no table", name), "42809");
  }
  std::vector<std::string> tables;
  for (const base::TableSchema& table : catalog.tables()) tables.push_back(table.name);
  return source.wrong(place, fmt::format("no such table \"{}\"{}", name, suggestion(name, tables)),
                      "42P01");
}

}  // namespace diptych::olap
