// BatchRunner: runs a batch of plans on one snapshot, and shares work between them.
//
// Plans with the same text run once. Two or more star queries with one root table share a pass
// (star_batch.h). Other plans may ride together, which shares their scans (riding_plans.h,
// shared_scans.h). The rest run one by one, and a batch of one shares nothing. Work that the
// planner expects to read few rows runs first, so that short queries do not wait for long ones.
// If a query runs far longer than its rows explain, it is set back: it starts again behind the
// others, which so do not wait for a query that does not end.
//
// Threads    one caller; the passes and pipelines use the arena.
// Errors     a query fails alone. A query that a pass of stars cannot answer runs alone, and so
//            does a riding plan that had too little memory beside the others. A stopped query does
//            not affect the others of its text and pass.

#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/pipeline/row_stages.h"
#include "olap/execution/star/star_batch.h"
#include "olap/execution/star/star_query.h"
#include "olap/execution/task.h"

namespace diptych::olap {

class BatchRunner {
 public:
  BatchRunner(std::span<const QueryRun> queries, const storage::Replica& replica,
              ExecutionArena* arena, const StopFlag& stop, const MemoryLimits& memory_limits,
              const DeliverResult& deliver);

  void run();

 private:
  struct Job {
    size_t query;
    std::vector<size_t> same;  // later queries with the same text
    std::optional<StarQuery> star;
    bool in_unit = false;
    bool may_ride = true;  // until it has, or is set back
    double rows_min = 0;   // what it goes through, as far as its run told before it was set back
    bool done = false;
  };
  // Jobs that run together, or one that runs alone.
  struct Unit {
    enum class Kind : uint8_t { kAlone, kStars, kRiders };
    Kind kind;
    double rows;  // rows that it reads or outputs, estimated
    std::vector<Job*> jobs;
  };

  const Plan& plan_of(const Job& job) const { return *queries_[job.query].plan; }
  // A plan's star query that a pass of `stars` queries has answered.
  struct GivenStar {
    const StarBatch& batch;
    size_t index;
    const GivenRows& rows;
    size_t stars;
  };
  // Computes the plan's result, or the report of EXPLAIN ANALYZE. `star` is nullptr if no pass has
  // answered its star query.
  Task run_plan(const Job& job, RunContext context, std::chrono::steady_clock::time_point start,
                const GivenStar* star, QueryResult* result) const;
  void run_riders(std::span<Job* const> jobs);
  // The plan leaves the ride after `slice` ns.
  Task ride(Job* job, uint64_t slice, SharedScans* scans);
  void share_texts();
  void drop_stopped();
  // Runs the job alone, but for so long at most; 0: without end.
  base::Result<QueryResult> run_alone(Job* job, uint64_t ns_max);
  // Runs the job alone. If others wait and it takes longer than `rows` explain, it is set back.
  void run_or_set_back(Job* job, double rows);
  void add_stars(std::vector<Unit>* units);
  // Make units of the jobs that are in no unit yet.
  void add_riders(std::vector<Unit>* units);
  void add_alone(std::vector<Unit>* units);
  void run_units(std::vector<Unit> units);
  void run_stars(std::span<Job* const> jobs);
  void run_star_batch(std::span<Job* const> jobs);
  // The signal that stops these jobs when all queries that get their results are stopped, or at
  // `end_ns` (0: no end).
  StopSignal signal_of(std::span<Job* const> jobs, uint64_t end_ns = 0) const;
  void finish(Job* job, base::Result<QueryResult> result);
  void deliver(size_t query, base::Result<QueryResult> result) const;

  const std::span<const QueryRun> queries_;
  const storage::Replica& replica_;
  ExecutionArena* const arena_;
  const StopFlag& stop_;
  const MemoryLimits memory_limits_;
  const DeliverResult& deliver_;
  std::vector<Job> jobs_;
  size_t jobs_left_ = 0;  // not done
};

}  // namespace diptych::olap
