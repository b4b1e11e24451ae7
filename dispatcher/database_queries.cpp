// Queries: from SQL text to jobs for the OLAP dispatcher, and back.

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "dispatcher/database_state.h"

namespace diptych::dispatcher {
namespace {

using Results = QueryResults;

std::unique_ptr<QueryJob> make_job(std::span<const std::string> statements,
                                   const QueryOptions& options) {
  const uint64_t now_ns = base::steady_ns();
  const uint64_t timeout_ns = std::min(options.timeout_ns, UINT64_MAX - now_ns);
  auto job = std::make_unique<QueryJob>();
  job->answer = QueryAnswer::make(statements.size(), timeout_ns == 0 ? 0 : now_ns + timeout_ns);
  for (const std::string& sql : statements) {
    job->statements.push_back(
        {.sql = sql, .parameters = options.parameters, .plan = {}, .prepared = false});
  }
  return job;
}

Results all_failed(size_t count, const base::Error& error) {
  return Results(count, base::Result<olap::QueryResult>(error));
}

// What the answer gives, once it does.
template <class Value, class Take>
std::future<Value> promised(QueryAnswer* answer, Take take) {
  const auto promise = std::make_shared<std::promise<Value>>();  // shared_ptr: functions are copied
  answer->set_done(
      [promise, take](Results results) { promise->set_value(take(std::move(results))); });
  return promise->get_future();
}

}  // namespace

void QueryHandle::cancel() const {
  if (const auto watch = watch_.lock()) watch->cancel(answer_);
}

void Database::State::prepare(QueryJob* job, const olap::TableRows& rows) const {
  const base::Catalog& known = catalogs.current();
  for (size_t i = 0; i < job->statements.size(); ++i) {
    QueryJob::Statement& statement = job->statements[i];
    auto plan =
        olap::prepare(statement.sql, known, rows, statement.parameters, known_system_tables);
    if (plan) {
      statement.plan = std::move(*plan);
      statement.prepared = true;
    } else {
      olap_dispatcher->count_failed(plan.code());
      job->answer->put(i, plan.error(), QueryAnswer::Show::kAnyTime);
    }
  }
}

base::Result<void> Database::State::check_may_query() {
  if (auto allowed = check_may_wait("query"); !allowed) return allowed;
  return ensure_recovered();
}

std::vector<base::Result<QueryResult>> Database::query_batch(
    std::span<const std::string> statements, const QueryOptions& options) {
  if (statements.empty()) return {};
  if (auto ready = state_->check_may_query(); !ready) {
    return all_failed(statements.size(), ready.error());
  }
  auto job = make_job(statements, options);
  const QueryAnswerPtr answer = job->answer;
  auto future = promised<Results>(answer.get(), [](Results results) { return results; });
  const bool may_wait = options.admission == Admission::kWait;
  if (auto submitted = state_->olap_dispatcher->submit(job, may_wait); !submitted) {
    return all_failed(statements.size(), submitted.error());
  }
  return future.get();
}

base::Result<QueryResult> Database::query(std::string_view sql,
                                          std::vector<base::Value> parameters) {
  const std::string statement(sql);
  return std::move(
      query_batch(std::span(&statement, 1), {.parameters = std::move(parameters)}).front());
}

base::Result<RunningQuery> Database::start_query(std::string_view sql,
                                                 const QueryOptions& options) {
  if (auto ready = state_->check_may_query(); !ready) return ready.error();
  const std::string statement(sql);
  auto job = make_job(std::span(&statement, 1), options);
  const QueryAnswerPtr answer = job->answer;
  auto future = promised<base::Result<QueryResult>>(
      answer.get(), [](Results results) { return std::move(results.front()); });
  const bool may_wait = options.admission == Admission::kWait;
  if (auto submitted = state_->olap_dispatcher->submit(job, may_wait); !submitted) {
    return submitted.error();
  }
  return RunningQuery(QueryHandle(answer, state_->query_watch), std::move(future));
}

base::Result<QueryHandle> Database::submit_query(
    std::string sql, std::function<void(base::Result<QueryResult>)> done,
    const QueryOptions& options) {
  if (done == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument, "the query has no completion");
  }
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  auto job = make_job(std::span(&sql, 1), options);
  QueryHandle handle(job->answer, state_->query_watch);
  job->answer->set_done(
      [done = std::move(done)](QueryResults results) { done(std::move(results.front())); });
  const bool may_wait = options.admission == Admission::kWait && !state_->on_dispatcher_thread();
  if (auto submitted = state_->olap_dispatcher->submit(job, may_wait); !submitted) {
    return submitted.error();
  }
  return handle;
}

}  // namespace diptych::dispatcher
