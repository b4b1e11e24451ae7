#include "olap/execution/batch_runner.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/plan_runner.h"
#include "olap/execution/riding_plans.h"
#include "olap/execution/scan/shared_scans.h"

namespace diptych::olap {

namespace {

// A pass carries so many queries at most: what a row's sets of queries take stays in the caches.
constexpr size_t kStarQueriesMax = 1024;

// Queries with groups share a pass from so many queries of one root on; fewer are faster one by
// one: a plan drops most rows before it looks at their groups, and a pass keeps what any of them
// wants (docs/measurements/execution.md, Star queries).
constexpr size_t kGroupedStarsMin = 12;

// What runs while others wait has this time, far more than its rows take; so only a query whose
// rows were badly estimated is set back, and what it has done is lost.
constexpr double kSliceNs = 100e6;
constexpr double kSliceNsARow = 1000;
constexpr double kSliceNsMax = 1e15;

using Clock = std::chrono::steady_clock;

uint64_t ns_since(Clock::time_point start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

double rows_through(const Operator& op, const storage::Replica& replica) {
  double rows = op.estimated_rows;
  if (op.kind == OperatorKind::kScan) {
    rows += static_cast<double>(replica.table(op.table).live_rows());
  }
  double below = 0;
  for (const OperatorPtr& child : op.children) below += rows_through(*child, replica);
  return rows + (op.kind == OperatorKind::kLimit ? share_read(op) * below : below);
}

// Rows that the plan's operators read or give out, as the planner thinks.
double rows_through(const Plan& plan, const storage::Replica& replica) {
  return plan.explanation.empty() ? rows_through(*plan.root, replica) : 0;
}

uint64_t slice_ns(double rows) {
  return static_cast<uint64_t>(std::min(kSliceNs + kSliceNsARow * rows, kSliceNsMax));
}

// EXPLAIN's answer: the plan as text, a row a line.
QueryResult explanation_of(const std::vector<std::string>& text) {
  QueryResult result;
  result.columns.push_back({"QUERY PLAN", {base::TypeKind::kVarchar}});
  std::vector<std::vector<base::Value>> lines;
  for (const std::string& line : text) lines.push_back({line});
  result.rows = ResultRows(ResultTable(result.columns, lines));
  return result;
}

// The query's edge: what it throws becomes its own result, so a query fails alone.
base::Error error_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const QueryFailure& known) {
    return known.error();
  } catch (const std::bad_alloc&) {
    return {base::ErrorCode::kOutOfMemory, "the query needs more memory than the system has left"};
  } catch (const std::exception& unforeseen) {
    return {base::ErrorCode::kUnsupported,
            fmt::format("the query failed unexpectedly: {}", unforeseen.what())};
  }
}

// Who might have had more memory, or less time to wait, without others gets it alone.
bool may_run_alone(const base::Error& error) {
  return error.code == base::ErrorCode::kOutOfMemory ||
         error.code == base::ErrorCode::kDeadlineExceeded;
}

// The end of a run that begins now; 0: none.
uint64_t end_in(uint64_t ns_max) {
  return ns_max == 0 ? 0 : base::steady_ns() + ns_max;
}

template <class Run>
base::Result<QueryResult> guarded(Run&& run) {
  try {
    return run();
  } catch (...) {
    return error_of(std::current_exception());
  }
}

}  // namespace

BatchRunner::BatchRunner(std::span<const QueryRun> queries, const storage::Replica& replica,
                         ExecutionArena* arena, const StopFlag& stop,
                         const MemoryLimits& memory_limits, const DeliverResult& deliver)
    : queries_(queries),
      replica_(replica),
      arena_(arena),
      stop_(stop),
      memory_limits_(memory_limits),
      deliver_(deliver) {}

void BatchRunner::run() {
  share_texts();
  drop_stopped();
  std::vector<Unit> units;
  if (jobs_left_ > 1) add_stars(&units);
  // Later rounds have those who could not be answered in company, or in the time of a slice.
  while (jobs_left_ > 0) {
    add_riders(&units);
    add_alone(&units);
    run_units(std::move(units));
    units = {};
    for (Job& job : jobs_) job.in_unit = false;
  }
}

void BatchRunner::run_units(std::vector<Unit> units) {
  std::ranges::stable_sort(units, {}, &Unit::rows);
  for (const Unit& unit : units) {
    switch (unit.kind) {
      case Unit::Kind::kStars: run_stars(unit.jobs); break;
      case Unit::Kind::kRiders: run_riders(unit.jobs); break;
      case Unit::Kind::kAlone: run_or_set_back(unit.jobs[0], unit.rows); break;
    }
  }
}

void BatchRunner::run_or_set_back(Job* job, double rows) {
  const uint64_t run_ns_max = queries_[job->query].run_ns_max;
  uint64_t slice = slice_ns(rows);
  // Nobody waits, or the query may not run for so long anyway.
  if (jobs_left_ == 1 || (run_ns_max != 0 && run_ns_max <= slice)) slice = 0;
  auto result = guarded([&] { return run_alone(job, slice == 0 ? run_ns_max : slice); });
  if (slice == 0 || result || result.code() != base::ErrorCode::kDeadlineExceeded) {
    finish(job, std::move(result));
    return;
  }
  // Twice the rows that the time explains: the next slice is more than twice as long.
  job->rows_min = 2 * static_cast<double>(slice) / kSliceNsARow;
  job->may_ride = false;
}

void BatchRunner::add_alone(std::vector<Unit>* units) {
  for (Job& job : jobs_) {
    if (job.done || job.in_unit) continue;
    job.in_unit = true;
    const double rows = std::max(job.rows_min, rows_through(plan_of(job), replica_));
    units->push_back({Unit::Kind::kAlone, rows, {&job}});
  }
}

base::Result<QueryResult> BatchRunner::run_alone(Job* job, uint64_t ns_max) {
  const auto start = Clock::now();
  const Plan& plan = plan_of(*job);
  if (!plan.explanation.empty()) return explanation_of(plan.explanation);
  const StopSignal stop = signal_of(std::span(&job, 1), end_in(ns_max));
  stop.check();
  MemoryBudget memory(memory_limits_);
  QueryResult result;
  Task task = run_plan(*job, {&replica_, arena_, &stop, &memory}, start, nullptr, &result);
  task.start();
  task.check();
  return result;
}

Task BatchRunner::run_plan(const Job& job, RunContext context, Clock::time_point start,
                           const GivenStar* star, QueryResult* result) const {
  const Plan& plan = plan_of(job);
  std::optional<PlanMeter> meter;
  if (plan.is_analyzed) context.meter = &meter.emplace(*plan.root, arena_->threads());
  PlanRunner runner(context);
  co_await runner.run(plan, star == nullptr ? nullptr : &star->rows, result);
  const uint64_t execute_ns = ns_since(start);
  if (plan.is_analyzed) {
    if (star != nullptr) {
      meter->once(star->rows.op()).shared =
          fmt::format("computed in one pass for {} queries", star->stars);
      star->batch.tell(star->index, &*meter);
    }
    PlanFigures figures = meter->figures();
    figures.rows = result->rows.size();
    figures.execute_ns = execute_ns;
    figures.memory_bytes = context.memory->bytes_largest();
    figures.route = queries_[job.query].route;
    if (!job.same.empty()) {
      figures.shared.push_back(
          fmt::format("run once for {} statements of this text", job.same.size() + 1));
    }
    if (star != nullptr) {
      figures.shared.push_back(
          fmt::format("scans and joins with {} star queries of the batch: {} statements; what the "
                      "scans say, the time and the memory are those of all",
                      star->stars, queries_.size()));
    }
    *result = explanation_of(plan_report(plan.lines, plan.format, &figures));
  }
  result->execute_ns = execute_ns;
}

void BatchRunner::share_texts() {
  std::map<std::string_view, size_t> jobs;  // by text; plans without one stay apart
  for (size_t i = 0; i < queries_.size(); ++i) {
    const std::string_view text = queries_[i].plan->sql;
    if (!text.empty()) {
      const auto [place, is_new] = jobs.try_emplace(text, jobs_.size());
      if (!is_new) {
        jobs_[place->second].same.push_back(i);
        continue;
      }
    }
    jobs_.push_back({i, {}, std::nullopt});
  }
  jobs_left_ = jobs_.size();
}

// So that a pass does not carry them.
void BatchRunner::drop_stopped() {
  for (Job& job : jobs_) {
    Job* const one = &job;
    if (signal_of(std::span(&one, 1)).is_set()) {
      finish(&job, base::Error(base::ErrorCode::kCancelled, "the query was stopped"));
    }
  }
}

StopSignal BatchRunner::signal_of(std::span<Job* const> jobs, uint64_t end_ns) const {
  std::vector<const QueryControl*> controls;
  for (const Job* const job : jobs) {
    controls.push_back(queries_[job->query].control);
    for (const size_t same : job->same) controls.push_back(queries_[same].control);
  }
  return StopSignal(&stop_, std::move(controls), end_ns);
}

void BatchRunner::deliver(size_t query, base::Result<QueryResult> result) const {
  const QueryControl* const control = queries_[query].control;
  if (control != nullptr && control->is_stopped()) {
    deliver_(query, control->error());
  } else {
    deliver_(query, std::move(result));
  }
}

void BatchRunner::finish(Job* job, base::Result<QueryResult> result) {
  job->done = true;
  --jobs_left_;
  if (job->same.empty()) {
    deliver(job->query, std::move(result));
    return;
  }
  deliver(job->query, result);
  for (const size_t i : job->same) deliver(i, result);
}

void BatchRunner::add_stars(std::vector<Unit>* units) {
  StarKeys keys(replica_);
  std::map<uint32_t, std::vector<Job*>> by_root;
  for (Job& job : jobs_) {
    if (job.done) continue;
    const Plan& plan = plan_of(job);
    if (plan.explanation.empty()) job.star = star_query(plan, &keys);
    if (job.star.has_value()) by_root[job.star->root.table.value].push_back(&job);
  }
  for (auto& [table, jobs] : by_root) {
    if (jobs.size() < kGroupedStarsMin) {
      std::erase_if(jobs, [](const Job* job) { return job->star->is_grouped; });
    }
    if (jobs.size() < 2) continue;
    Unit unit{Unit::Kind::kStars, 0, std::move(jobs)};
    for (Job* const job : unit.jobs) {
      job->in_unit = true;
      unit.rows = std::max(unit.rows, rows_through(plan_of(*job), replica_));
    }
    units->push_back(std::move(unit));
  }
}

void BatchRunner::run_stars(std::span<Job* const> jobs) {
  for (size_t first = 0; first < jobs.size(); first += kStarQueriesMax) {
    run_star_batch(jobs.subspan(first, std::min(kStarQueriesMax, jobs.size() - first)));
  }
}

void BatchRunner::run_star_batch(std::span<Job* const> jobs) {
  if (jobs.size() < 2) return;
  const auto start = Clock::now();
  MemoryBudget memory(memory_limits_);
  const StopSignal stop = signal_of(jobs);
  const RunContext context{&replica_, arena_, &stop, &memory};
  std::vector<const StarQuery*> queries;
  for (const Job* job : jobs) queries.push_back(&*job->star);
  StarBatch batch(context, std::move(queries));
  try {
    batch.run();
  } catch (const std::exception&) {
    return;  // whoever's fault it is, the others are answered
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::unique_ptr<GivenRows> rows = batch.result(i);
    if (rows == nullptr) continue;
    const GivenStar star{batch, i, *rows, jobs.size()};
    auto result = guarded([&] {
      QueryResult rows_of_one;
      Task task = run_plan(*jobs[i], context, start, &star, &rows_of_one);
      task.start();
      task.check();
      return rows_of_one;
    });
    if (result || !may_run_alone(result.error())) finish(jobs[i], std::move(result));
  }
}

void BatchRunner::add_riders(std::vector<Unit>* units) {
  std::vector<Job*> jobs;
  std::vector<const Plan*> plans;
  for (Job& job : jobs_) {
    if (job.done || job.in_unit || !job.may_ride || !plan_of(job).explanation.empty()) continue;
    jobs.push_back(&job);
    plans.push_back(&plan_of(job));
  }
  if (jobs.size() < 2) return;
  for (const std::vector<size_t>& group : riding_plans(plans, replica_)) {
    Unit unit{Unit::Kind::kRiders, 0, {}};
    for (const size_t i : group) {
      jobs[i]->in_unit = true;
      jobs[i]->may_ride = false;
      unit.jobs.push_back(jobs[i]);
      unit.rows += rows_through(*plans[i], replica_);
    }
    units->push_back(std::move(unit));
  }
}

void BatchRunner::run_riders(std::span<Job* const> jobs) {
  // As if each were the shortest, so that one that is not ends no later for the others.
  double rows = rows_through(plan_of(*jobs[0]), replica_);
  for (const Job* const job : jobs) rows = std::min(rows, rows_through(plan_of(*job), replica_));
  const uint64_t slice = slice_ns(rows) * jobs.size();
  try {
    SharedScans scans;
    std::vector<Task> tasks;
    for (Job* const job : jobs) tasks.push_back(ride(job, slice, &scans));
    for (Task& task : tasks) task.start();
    while (scans.has_waiting()) scans.run_pass();
  } catch (const std::exception&) {
    // There was no memory for the pass: who has no answer yet runs alone.
  }
}

Task BatchRunner::ride(Job* job, uint64_t slice, SharedScans* scans) {
  const auto start = Clock::now();
  const uint64_t run_ns_max = queries_[job->query].run_ns_max;
  const StopSignal stop =
      signal_of(std::span(&job, 1), end_in(run_ns_max == 0 ? slice : std::min(slice, run_ns_max)));
  MemoryBudget memory(memory_limits_);
  QueryResult result;
  std::exception_ptr failure;
  try {
    stop.check();
    co_await run_plan(*job, {&replica_, arena_, &stop, &memory, nullptr, scans}, start, nullptr,
                      &result);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) {
    finish(job, std::move(result));
    co_return;
  }
  base::Error error = error_of(failure);
  if (!may_run_alone(error)) finish(job, std::move(error));
}

}  // namespace diptych::olap
