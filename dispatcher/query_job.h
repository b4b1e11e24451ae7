// QueryJob: one call of query, query_batch or submit_query, from submission to its results.
//
//   created (SQL text) -> [prepare: caller's or OLAP dispatcher's thread] -> plans
//     -> [OlapDispatcher::submit] -> queued -> [a batch] -> results -> done(results)
//
// Statements that do not compile have their error in `results` and no plan; the others run.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "olap/plan.h"
#include "olap/query.h"

namespace diptych::dispatcher {

using QueryResults = std::vector<base::Result<olap::QueryResult>>;

struct QueryJob {
  struct Statement {
    std::string sql;
    std::vector<base::Value> parameters;  // of $1, $2 and so on
    olap::Plan plan;
    bool prepared = false;  // false, after prepare: its result is the error
  };

  std::vector<Statement> statements;
  QueryResults results;   // one a statement, once prepared; set for good once run
  bool compiled = false;  // prepare was tried on every statement
  uint64_t submitted_ns = 0;
  std::function<void(QueryResults)> done;
};

}  // namespace diptych::dispatcher
