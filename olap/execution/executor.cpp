#include <chrono>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "olap/execution/arena.h"
#include "olap/execution/plan_runner.h"
#include "olap/execution/query_failure.h"
#include "olap/query.h"

namespace diptych::olap {

namespace {

// EXPLAIN's answer: the plan as text, a row a line.
QueryResult explanation_of(const Plan& plan) {
  QueryResult result;
  result.columns.push_back({"QUERY PLAN", {base::TypeKind::kVarchar}});
  for (const std::string& line : plan.explanation) result.rows.push_back({line});
  return result;
}

// The query's edge: what a plan throws becomes its own result, so a query fails alone.
base::Result<QueryResult> run_plan(const Plan& plan, const RunContext& context) {
  const auto start = std::chrono::steady_clock::now();
  try {
    if (!plan.explanation.empty()) return explanation_of(plan);
    QueryResult result = PlanRunner(context).run(plan);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    result.execute_ns = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
    return result;
  } catch (const QueryFailure& failure) {
    return failure.error();
  } catch (const std::bad_alloc&) {
    return base::Error(base::ErrorCode::kOutOfMemory,
                       "the query needs more memory than the system has left");
  } catch (const std::exception& unforeseen) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("the query failed unexpectedly: {}", unforeseen.what()));
  }
}

}  // namespace

Executor::Executor(const base::SidePlacement& placement, size_t query_memory_bytes_max)
    : arena_(std::make_unique<ExecutionArena>(placement)),
      query_memory_bytes_max_(query_memory_bytes_max) {}

Executor::~Executor() = default;

std::vector<base::Result<QueryResult>> Executor::run_batch(std::span<const Plan* const> plans,
                                                           const storage::Replica& replica,
                                                           const StopFlag& stop) {
  std::vector<base::Result<QueryResult>> results;
  results.reserve(plans.size());
  for (const Plan* const plan : plans) {
    MemoryBudget memory(query_memory_bytes_max_);
    results.push_back(run_plan(*plan, {&replica, arena_.get(), &stop, &memory}));
  }
  return results;
}

void Executor::run_parallel(uint32_t count, const std::function<void(uint32_t)>& body) {
  arena_->run(count, body);
}

}  // namespace diptych::olap
