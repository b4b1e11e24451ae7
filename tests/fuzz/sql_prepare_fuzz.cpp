// A query is planned, the same way each time, or refused with words. Input: a statement.

#include <cctype>
#include <string>
#include <utility>

#include "olap/sql/explain.h"
#include "tests/fuzz/sql_front_end.h"

namespace diptych::olap::fuzz {
namespace {

// now(), current_date, localtimestamp: literals of the plan.
bool asks_for_time(std::string_view sql) {
  std::string text(sql);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text.find("now") != text.npos || text.find("current") != text.npos ||
         text.find("localtime") != text.npos;
}

void check_query(std::string_view sql) {
  static const base::Catalog catalog = catalog_of_queries();
  static const TableRows rows(catalog.table_count(), 10'000);
  const auto plan = prepare(sql, catalog, rows);
  if (!plan) return check_refusal(plan.error());
  std::string text = explain(*plan, catalog);
  DIPTYCH_CHECK(!text.empty(), "a plan has a text");
  // A constant that takes more than 2 ms stays an expression (sql/constant_value.cpp), and so does
  // any while the machine is busy with something else.
  bool is_same = asks_for_time(sql);
  for (int tries = 0; tries < 3 && !is_same; ++tries) {
    const auto again = prepare(sql, catalog, rows);
    DIPTYCH_CHECK(again.ok(), "what is planned once is planned again");
    std::string other = explain(*again, catalog);
    is_same = other == text;
    text = std::move(other);
  }
  DIPTYCH_CHECK(is_same, "planning is a function");
}

}  // namespace
}  // namespace diptych::olap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diptych::olap::fuzz::check_query({reinterpret_cast<const char*>(data), size});
  return 0;
}
