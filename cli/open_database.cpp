#include "cli/open_database.h"

#include "workloads/tpcc/log_procedures.h"

namespace diptych::cli {

base::Result<std::unique_ptr<dispatcher::Database>> open_database(
    const dispatcher::DatabaseOptions& options, const std::vector<std::string>& libraries) {
  auto database = dispatcher::Database::open(options);
  if (!database) return database;
  for (const std::string& library : libraries) {
    if (const auto loaded = (*database)->load_procedures(library); !loaded) return loaded.error();
  }
  if (auto known = workloads::tpcc::register_for_log(database->get()); !known) return known.error();
  return database;
}

}  // namespace diptych::cli
