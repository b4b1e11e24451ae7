// PlanRunner: runs one plan as a sequence of pipelines.
//
// run(op, sink) delivers the operator's rows into chains that `sink` makes. Operators that treat
// each row by itself put a stage in front of the sink and run their child into it; operators that
// have to see all rows first (a join's build side, GROUP BY, ORDER BY) run their child into a
// collecting stage, put the workers' parts together, and are then the source of the next pipeline.
//
// Threads    one caller; the pipelines use the context's arena.
// Errors     QueryFailure and std::bad_alloc are thrown.

#pragma once

#include <memory>
#include <vector>

#include "olap/execution/aggregate.h"
#include "olap/execution/hash_join.h"
#include "olap/execution/needed_columns.h"
#include "olap/execution/pipeline.h"
#include "olap/execution/row_stages.h"
#include "olap/plan.h"

namespace diptych::olap {

class PlanRunner {
 public:
  explicit PlanRunner(const RunContext& context) : context_(context) {}

  QueryResult run(const Plan& plan);

 private:
  void run(const Operator& op, const StageFactory& sink);
  void run_scan(const Operator& op, const StageFactory& sink);
  void run_join(const Operator& op, const StageFactory& sink);
  void run_aggregate(const Operator& op, const StageFactory& sink);
  void run_sort(const Operator& op, const StageFactory& sink);
  void run_window(const Operator& op, const StageFactory& sink);

  const RunContext& context_;
  std::unique_ptr<NeededColumns> needed_;  // of the plan being run
};

}  // namespace diptych::olap
