#include "cli/open_database.h"

#include <fmt/format.h>
#include <unistd.h>

#include "workloads/tpcc/log_procedures.h"

namespace diptych::cli {

base::Result<std::unique_ptr<dispatcher::Database>> open_database(
    dispatcher::DatabaseOptions options, ProgressLine* progress,
    const std::vector<std::string>& libraries) {
  if (::isatty(STDERR_FILENO) != 0) {
    options.recovery_listener = [progress, path = options.path](const std::string& text,
                                                                double done) {
      progress->update("opening " + path + ": " + text, done);
    };
  }
  auto database = dispatcher::Database::open(options);
  if (!database) return database;
  for (const std::string& library : libraries) {
    const auto loaded = (*database)->load_procedures(library);
    if (!loaded) return loaded.error();
    if (loaded->replaced.empty() && loaded->removed.empty()) continue;
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("{}: another of the libraries is a module \"{}\", too", library,
                                   loaded->module));
  }
  if (auto known = workloads::tpcc::register_for_log(database->get()); !known) return known.error();
  return database;
}

}  // namespace diptych::cli
