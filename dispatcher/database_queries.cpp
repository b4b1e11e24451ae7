// Queries: from SQL text to jobs for the OLAP dispatcher, and back.

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "base/check.h"
#include "dispatcher/database_state.h"

namespace diptych::dispatcher {
namespace {

std::unique_ptr<QueryJob> make_job(std::span<const std::string> statements) {
  auto job = std::make_unique<QueryJob>();
  for (const std::string& sql : statements) {
    job->statements.push_back({.sql = sql, .parameters = {}, .plan = {}, .prepared = false});
  }
  return job;
}

QueryResults all_failed(size_t count, const base::Error& error) {
  return QueryResults(count, base::Result<olap::QueryResult>(error));
}

}  // namespace

void Database::State::prepare(QueryJob* job) const {
  DIPTYCH_CHECK(!job->compiled, "a job is compiled once");
  const base::Catalog& known = catalogs.current();
  olap::TableRows rows = olap_dispatcher->table_rows();
  rows.resize(known.table_count());  // a table that was created since has no rows to speak of
  for (QueryJob::Statement& statement : job->statements) {
    auto plan =
        olap::prepare(statement.sql, known, rows, statement.parameters, known_system_tables);
    if (plan) {
      statement.plan = std::move(*plan);
      statement.prepared = true;
      job->results.emplace_back(olap::QueryResult{});  // until it has run
    } else {
      job->results.emplace_back(plan.error());
    }
  }
  job->compiled = true;
}

std::vector<base::Result<QueryResult>> Database::query_batch(
    std::span<const std::string> statements) {
  if (statements.empty()) return {};
  return state_->run_and_wait(make_job(statements));
}

// Runs the job with others of a batch, and waits for its results.
QueryResults Database::State::run_and_wait(std::unique_ptr<QueryJob> job) {
  const size_t statements = job->statements.size();
  if (auto allowed = check_may_wait("query"); !allowed) {
    return all_failed(statements, allowed.error());
  }
  if (auto ready = ensure_recovered(); !ready) {
    return all_failed(statements, ready.error());
  }
  prepare(job.get());
  const bool any = std::any_of(job->statements.begin(), job->statements.end(),
                               [](const QueryJob::Statement& s) { return s.prepared; });
  if (!any) {
    olap_dispatcher->count_failed(statements);
    return std::move(job->results);
  }
  auto promise = std::make_unique<std::promise<QueryResults>>();
  std::future<QueryResults> future = promise->get_future();
  // The completion frees the promise: this thread may be gone before set_value returns.
  job->done = [raw = promise.get()](QueryResults results) {
    const std::unique_ptr<std::promise<QueryResults>> owned(raw);
    owned->set_value(std::move(results));
  };
  if (auto submitted = olap_dispatcher->submit(job, true); !submitted) {
    return all_failed(statements, submitted.error());
  }
  static_cast<void>(promise.release());  // done() takes it back
  return future.get();
}

base::Result<QueryResult> Database::query(std::string_view sql,
                                          std::vector<base::Value> parameters) {
  const std::string statement(sql);
  auto job = make_job(std::span(&statement, 1));
  job->statements.front().parameters = std::move(parameters);
  return std::move(state_->run_and_wait(std::move(job)).front());
}

base::Result<void> Database::submit_query(std::string sql,
                                          std::function<void(base::Result<QueryResult>)> done) {
  if (done == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument, "the query has no completion");
  }
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered;
  auto job = make_job(std::span(&sql, 1));
  job->done = [done = std::move(done)](QueryResults results) { done(std::move(results.front())); };
  return state_->olap_dispatcher->submit(job, false);
}

}  // namespace diptych::dispatcher
