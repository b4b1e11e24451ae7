// docs/sql.md's library for Python: a database, and results as Arrow streams (arrow_python.py).

#include <cstdio>

#include "dispatcher/database.h"
#include "olap/arrow_export.h"

using diptych::dispatcher::Database;

#pragma GCC visibility push(default)
extern "C" {

Database* open_database(const char* path) {
  auto database = Database::open({.path = path});
  if (database) return database->release();
  std::fprintf(stderr, "%s\n", database.error().to_string().c_str());
  return nullptr;
}

bool query(Database* database, const char* sql, ArrowArrayStream* stream) {
  const auto result = database->query(sql);
  if (result) diptych::olap::export_arrow_stream(*result, stream);
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return result.ok();
}

void close_database(Database* database) {
  delete database;
}
}
#pragma GCC visibility pop
