// QueryResult: what a query gives. A header of its own, so that who only reads results does not
// include the planner and the storage engine with olap/query.h.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/result_rows.h"

namespace diptych::olap {

// The result of one query. Copies share the table of rows.
struct QueryResult {
  std::vector<ResultColumn> columns;
  // rows.table() gives the same data by columns. A row that is not there is our caller's bug, and
  // ends the process: an empty result has no rows[0].
  ResultRows rows;
  uint64_t execute_ns = 0;
};

}  // namespace diptych::olap
