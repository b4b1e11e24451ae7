// BatchRunner: a batch of plans on one snapshot: together what can be shared, the rest one by one.
//
// Shared are plans of one text, which run once; star queries through one root table where there
// are two of them or more (star_batch.h); of the other plans, the scans of those that ride together
// (riding_plans.h, shared_scans.h). A batch of one is not touched by any of it. What goes through
// few rows comes first, as the planner thinks: who asks for little does not wait for the others.
//
// Threads    one caller; the passes and pipelines use the arena.
// Errors     a query fails alone: who cannot be answered in a pass of stars is run alone, and so is
//            a riding plan that had too little memory beside others. One that is stopped leaves the
//            others of its text and pass as they are.

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
    std::vector<size_t> same;  // queries of this text that come later
    std::optional<StarQuery> star;
    bool in_unit = false;
    bool rode = false;
    bool done = false;
  };
  // Jobs that run in one go, or one that runs alone.
  struct Unit {
    enum class Kind : uint8_t { kAlone, kStars, kRiders };
    Kind kind;
    double rows;  // that it goes through
    std::vector<Job*> jobs;
  };

  const Plan& plan_of(const Job& job) const { return *queries_[job.query].plan; }
  // A plan's star that was computed in a pass of so many.
  struct GivenStar {
    const StarBatch& batch;
    size_t index;
    const GivenRows& rows;
    size_t stars;
  };
  // The plan's result, or, of EXPLAIN ANALYZE, what it did; `star`: nullptr where it has none.
  Task run_plan(const Job& job, RunContext context, std::chrono::steady_clock::time_point start,
                const GivenStar* star, QueryResult* result) const;
  void run_riders(std::span<Job* const> jobs);
  Task ride(Job* job, SharedScans* scans);
  void share_texts();
  void drop_stopped();
  base::Result<QueryResult> run_alone(Job* job);
  void add_stars(std::vector<Unit>* units);
  // Those that are in no unit yet.
  void add_riders(std::vector<Unit>* units);
  void add_alone(std::vector<Unit>* units);
  void run_units(std::vector<Unit> units);
  void run_stars(std::span<Job* const> jobs);
  void run_star_batch(std::span<Job* const> jobs);
  // All whose result the jobs' are: they stop when each of them is stopped.
  // `end_ns`: or then; 0: never.
  StopSignal signal_of(std::span<Job* const> jobs, uint64_t end_ns = 0) const;
  // When a run that begins now has to end; 0: never.
  uint64_t end_ns_of(const Job& job) const;
  void finish(Job* job, base::Result<QueryResult> result);
  void deliver(size_t query, base::Result<QueryResult> result) const;

  const std::span<const QueryRun> queries_;
  const storage::Replica& replica_;
  ExecutionArena* const arena_;
  const StopFlag& stop_;
  const MemoryLimits memory_limits_;
  const DeliverResult& deliver_;
  std::vector<Job> jobs_;
};

}  // namespace diptych::olap
