// A change of the schema is one that the catalog takes or refuses with words, or the text is
// refused. Input: the text of a statement.

#include "tests/fuzz/sql_front_end.h"

namespace diptych::olap::fuzz {
namespace {

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
}

}  // namespace
}  // namespace diptych::olap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diptych::olap::fuzz::check_ddl({reinterpret_cast<const char*>(data), size});
  return 0;
}
