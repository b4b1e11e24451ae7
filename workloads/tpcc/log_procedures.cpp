#include "workloads/tpcc/log_procedures.h"

#include <algorithm>
#include <string>
#include <vector>

#include "workloads/session_options.h"
#include "workloads/tpcc/procedures.h"
#include "workloads/tpcc/schema.h"

namespace diptych::workloads::tpcc {

base::Result<void> register_for_log(dispatcher::Database* database) {
  const auto missing = database->procedures_to_recover();
  if (!missing) return missing.error();
  for (const SizePolicy size : {SizePolicy::kGrowing, SizePolicy::kConstant}) {
    const auto is_named = [&](const ChangingNames& names) {
      return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
        return std::find(missing->begin(), missing->end(), name) != missing->end();
      });
    };
    if (!is_named(changing_names(size))) continue;
    auto tables = bind_tables(*database);
    if (!tables) return tables.error();
    auto registered = register_procedures(database, *tables, size);
    if (!registered) return registered.error();
    return {};
  }
  return {};
}

}  // namespace diptych::workloads::tpcc
