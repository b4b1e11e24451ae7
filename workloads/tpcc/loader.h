// Loader: streams the population into a database, table by table, parents first.
//
// Memory     one batch of rows at a time beside the database.
// Threads    the calling thread waits; rows are made, and `progress` is called, on whatever thread
//            Database::load asks for them, one at a time.

#pragma once

#include "base/result.h"
#include "dispatcher/database.h"
#include "workloads/benchmark.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads::tpcc {

// Fails as Database::load does, and with kCancelled when stop is set: the database then holds the
// tables before, whole.
base::Result<void> load(dispatcher::Database* database, const Tables& tables, uint64_t seed,
                        int32_t warehouses, const StopFlag& stop, const Progress& progress);

}  // namespace diptych::workloads::tpcc
