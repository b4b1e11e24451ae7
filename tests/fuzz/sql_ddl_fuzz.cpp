// A change of the schema is one that the catalog takes or refuses with words, or the text is
// refused. Views that were taken, and those that are there, can be used then, but for limits.
// Input: the text of a statement.

#include "tests/fuzz/sql_front_end.h"

namespace diptych::olap::fuzz {
namespace {

// SELECT * of it has its columns; what uses many of them may be more than a statement may have.
void check_view(const base::Catalog& catalog, const base::ViewSchema& view) {
  std::string sql = "select * from \"";
  for (const char c : view.name) sql.append(c == '"' ? 2 : 1, c);
  const TableRows rows(catalog.table_count(), 100);
  const auto plan = prepare(sql + '"', catalog, rows);
  if (!plan) {
    DIPTYCH_CHECK(plan.code() == base::ErrorCode::kUnsupported ||
                      plan.code() == base::ErrorCode::kOutOfMemory,
                  "a view goes on to be what its creation found");
    return;
  }
  std::vector<std::string> names;
  for (const base::ColumnSchema& column : view.columns) names.push_back(column.name);
  DIPTYCH_CHECK(plan->column_names == names, "a view has the columns that its creation found");
}

void check_ddl(std::string_view sql) {
  static const base::Catalog known = catalog_of(kFuzzTables);
  auto change = parse_ddl(sql, known);
  if (!change) return check_refusal(change.error());
  base::Catalog catalog = known;
  if (const auto* const table = std::get_if<CreateTable>(&*change)) {
    DIPTYCH_CHECK(!table->schema.name.empty(), "a table has a name");
  }
  const auto applied = apply_to(&catalog, *std::move(change));
  if (!applied) check_refusal(applied.error());
  for (const base::Catalog::ViewPtr& view : catalog.views()) check_view(catalog, *view);
}

}  // namespace
}  // namespace diptych::olap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diptych::olap::fuzz::check_ddl({reinterpret_cast<const char*>(data), size});
  return 0;
}
