// Schema: makes the TPC-C and CH-benCHmark tables, and binds the row structs to them.

#pragma once

#include <string_view>

#include "base/result.h"
#include "dispatcher/database.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads::tpcc {

// tpcc/schema.sql.
std::string_view schema_script();

// Creates the tables in a database that has none of them.
base::Result<Tables> create_tables(dispatcher::Database* database);

// Of a database that has them.
base::Result<Tables> bind_tables(const dispatcher::Database& database);

}  // namespace diptych::workloads::tpcc
