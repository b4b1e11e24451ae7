// QueryJob: one call of query, query_batch or submit_query, from submission to its results.
//
//   created (SQL text) -> [OlapDispatcher::submit] -> queued -> [a batch: prepare] -> plans
//     -> results -> answer finished
//
// Statements that do not compile have their error in the answer and no plan; the others run.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/value.h"
#include "dispatcher/admission_tokens.h"
#include "dispatcher/query_answer.h"
#include "olap/plan.h"
#include "olap/query.h"

namespace diptych::dispatcher {

struct QueryJob {
  struct Statement {
    std::string sql;
    std::vector<base::Value> parameters;  // of $1, $2 and so on
    olap::Plan plan;
    bool prepared = false;  // false, after prepare: the answer has its error
    bool counted = false;   // in the metrics: in the long lane it may run again
  };

  std::vector<Statement> statements;
  QueryAnswerPtr answer;                   // also the watch's and the caller's
  AdmissionTokens* admitted_by = nullptr;  // which gets a token back
  uint64_t submitted_ns = 0;
  olap::QueryRoute route;
};

}  // namespace diptych::dispatcher
