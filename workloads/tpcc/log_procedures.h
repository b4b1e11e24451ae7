// register_for_log: TPC-C's procedures for who opens a database that a benchmark left with a log.
//
// The rule: where a log that is still to be replayed names procedures that are not there, and one
// of them is TPC-C's, the program's own are registered; those of the size policy whose names the
// log has. Tables must be TPC-C's. Other names stay missing, and the replay names them.

#pragma once

#include "base/result.h"
#include "dispatcher/database.h"

namespace diptych::workloads::tpcc {

// After the libraries of procedures were loaded, before the database is used. As bind_tables and
// register_procedures.
base::Result<void> register_for_log(dispatcher::Database* database);

}  // namespace diptych::workloads::tpcc
