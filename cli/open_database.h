// open_database: opens a database for a command that uses its data.
//
// One that was not closed has a log, which its first use replays: the libraries are loaded for it,
// and the workloads' procedures registered where the log names them
// (workloads/tpcc/log_procedures.h).

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dispatcher/database.h"

namespace diptych::cli {

base::Result<std::unique_ptr<dispatcher::Database>> open_database(
    const dispatcher::DatabaseOptions& options, const std::vector<std::string>& libraries = {});

}  // namespace diptych::cli
