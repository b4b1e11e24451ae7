#include <utility>

#include "olap/execution/batch_runner.h"
#include "olap/execution/limits/query_memory.h"
#include "olap/execution/threads/execution_arena.h"
#include "olap/query.h"

namespace diptych::olap {
namespace {

double estimated_rows(const Operator& op) {
  double rows = op.estimated_rows;
  for (const OperatorPtr& child : op.children) rows += estimated_rows(*child);
  return rows;
}

}  // namespace

double estimated_rows(const Plan& plan) {
  return estimated_rows(*plan.root);
}

Executor::Executor(const base::SidePlacement& placement, size_t query_memory_bytes_max,
                   size_t queries_memory_bytes_max)
    : arena_(std::make_unique<ExecutionArena>(placement)),
      query_memory_bytes_max_(query_memory_bytes_max),
      memory_limit_(new QueryMemoryLimit(queries_memory_bytes_max)) {
  begin_keeping_query_blocks(queries_memory_bytes_max / 4);
}

Executor::Executor(const base::SidePlacement& placement, const Executor& beside)
    : arena_(std::make_unique<ExecutionArena>(placement)),
      query_memory_bytes_max_(beside.query_memory_bytes_max_),
      memory_limit_(beside.memory_limit_) {
  begin_keeping_query_blocks(memory_limit_->bytes_max() / 4);
}

Executor::~Executor() {
  end_keeping_query_blocks();
}

std::vector<base::Result<QueryResult>> Executor::run_batch(std::span<const Plan* const> plans,
                                                           const storage::Replica& replica,
                                                           const StopFlag& stop) {
  std::vector<QueryRun> queries;
  for (const Plan* const plan : plans) queries.push_back({.plan = plan});
  std::vector<base::Result<QueryResult>> results(plans.size(), QueryResult());
  run_batch(queries, replica, stop, [&](size_t query, base::Result<QueryResult> result) {
    results[query] = std::move(result);
  });
  return results;
}

void Executor::run_batch(std::span<const QueryRun> queries, const storage::Replica& replica,
                         const StopFlag& stop, const DeliverResult& deliver) {
  const MemoryLimits memory{query_memory_bytes_max_, memory_limit_};
  BatchRunner(queries, replica, arena_.get(), stop, memory, deliver).run();
}

void Executor::run_parallel(uint32_t count, const std::function<void(uint32_t)>& body) {
  arena_->run(count, body);
}

}  // namespace diptych::olap
