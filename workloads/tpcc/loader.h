// Loader: streams the population into a database, table by table, parents first.
//
// Memory     one batch of rows at a time beside the database.
// Threads    the calling thread waits; rows are made, and `progress` is called, on whatever thread
//            Database::load asks for them, one at a time.

#pragma once

#include <functional>

#include "base/result.h"
#include "dispatcher/database.h"
#include "workloads/run_control.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads::tpcc {

// Fails as Database::load does, and with kCancelled when stop is set: the database then holds the
// tables before, whole.
base::Result<void> load(dispatcher::Database* database, const Tables& tables, uint64_t seed,
                        int32_t warehouses, const StopFlag& stop, const Progress& progress);
// The same where there is only an engine: `load_table` loads one table as Database::load does.
using NextRows = std::function<base::Result<dispatcher::RowBatch>()>;
using LoadTable = std::function<base::Result<void>(base::TableId table, const NextRows& next)>;
base::Result<void> load(const LoadTable& load_table, const Tables& tables, uint64_t seed,
                        int32_t warehouses, const StopFlag& stop, const Progress& progress);

}  // namespace diptych::workloads::tpcc
