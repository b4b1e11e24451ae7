// A library that pyarrow_test.py loads: a database in memory, and a query's result as an Arrow
// stream.

#include <cstdio>
#include <memory>

#include "dispatcher/database.h"
#include "olap/arrow_export.h"

namespace diptych::test {
namespace {

dispatcher::Database* database() {
  static const std::unique_ptr<dispatcher::Database> opened = [] {
    auto database = dispatcher::Database::open({});
    DIPTYCH_CHECK(database.ok(), "a database in memory opens");
    return std::move(*database);
  }();
  return opened.get();
}

}  // namespace
}  // namespace diptych::test

// 0, or 1 after a message on stderr. `address` of an int64 column's values, to see that nobody
// copied them: of the first batch's column 0.
extern "C" __attribute__((visibility("default"))) int diptych_test_query(const char* sql,
                                                                         ArrowArrayStream* out,
                                                                         const void** address) {
  auto result = diptych::test::database()->query(sql);
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    return 1;
  }
  const auto& table = result->rows.table();
  *address = table->chunks().empty() ? nullptr : table->chunks()[0].columns[0].values();
  diptych::olap::export_arrow_stream(*result, out);
  return 0;
}
