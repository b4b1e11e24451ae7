// A query is planned, the same way each time, or refused with words. Input: a statement.

#include "olap/sql/explain.h"
#include "tests/fuzz/sql_front_end.h"

namespace diptych::olap::fuzz {
namespace {

void check_query(std::string_view sql) {
  static const base::Catalog catalog = catalog_of(kFuzzTables);
  static const TableRows rows = {100, 10'000, 1};
  const auto plan = prepare(sql, catalog, rows);
  if (!plan) return check_refusal(plan.error());
  const std::string text = explain(*plan, catalog);
  DIPTYCH_CHECK(!text.empty(), "a plan has a text");
  const auto again = prepare(sql, catalog, rows);
  DIPTYCH_CHECK(again.ok() && explain(*again, catalog) == text, "planning is a function");
}

}  // namespace
}  // namespace diptych::olap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diptych::olap::fuzz::check_query({reinterpret_cast<const char*>(data), size});
  return 0;
}
