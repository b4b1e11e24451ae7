// BatchRunner: a batch of plans on one snapshot: together what can be shared, the rest one by one.
//
// Shared are plans of one text, which run once, and star queries through one root table where there
// are two of them or more (star_batch.h). A batch of one is not touched by any of it.
//
// Threads    one caller; the passes and pipelines use the arena.
// Errors     a query fails alone: where a shared pass fails, its queries are run one by one.

#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/pipeline.h"
#include "olap/execution/row_stages.h"
#include "olap/execution/star_query.h"

namespace diptych::olap {

class BatchRunner {
 public:
  BatchRunner(std::span<const Plan* const> plans, const storage::Replica& replica,
              ExecutionArena* arena, const StopFlag& stop, size_t query_memory_bytes_max);

  // In the order of the plans.
  std::vector<base::Result<QueryResult>> run();

 private:
  struct Job {
    size_t plan;
    std::vector<size_t> same;  // plans of this text that come later
    std::optional<StarQuery> star;
    bool done = false;
  };

  // The plan's result, or, of EXPLAIN ANALYZE, what it did; `row`: of the plan's star, which was
  // computed with so many `stars`.
  QueryResult run_plan(const Job& job, RunContext context,
                       std::chrono::steady_clock::time_point start, const GivenRow* row = nullptr,
                       size_t stars = 0) const;
  void share_texts();
  void run_stars();
  void run_star_batch(std::span<Job* const> jobs);
  void finish(Job* job, base::Result<QueryResult> result);

  const std::span<const Plan* const> plans_;
  const storage::Replica& replica_;
  ExecutionArena* const arena_;
  const StopFlag& stop_;
  const size_t query_memory_bytes_max_;
  std::vector<Job> jobs_;
  std::vector<std::optional<base::Result<QueryResult>>> results_;
};

}  // namespace diptych::olap
