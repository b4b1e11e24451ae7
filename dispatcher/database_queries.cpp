// Queries: from SQL text to jobs for the OLAP dispatcher, and back.

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "dispatcher/database_state.h"

namespace diptych::dispatcher {
namespace {

std::unique_ptr<QueryJob> make_job(std::span<const std::string> statements,
                                   const QueryOptions& options) {
  const uint64_t now_ns = base::steady_ns();
  const uint64_t timeout_ns = std::min(options.timeout_ns, kForeverNs);
  auto job = std::make_unique<QueryJob>();
  job->answer = QueryAnswer::make(statements.size(), timeout_ns == 0 ? 0 : now_ns + timeout_ns);
  for (const std::string& sql : statements) {
    job->statements.push_back(
        {.sql = sql, .parameters = options.parameters, .plan = {}, .prepared = false});
  }
  return job;
}

QueryResults all_failed(size_t count, const base::Error& error) {
  return QueryResults(count, base::Result<olap::QueryResult>(error));
}

// What the answer gives, once it does.
template <class Value, class Take>
std::future<Value> promised(QueryAnswer* answer, Take take) {
  const auto promise = std::make_shared<std::promise<Value>>();  // shared_ptr: functions are copied
  answer->set_done(
      [promise, take](QueryResults results) { promise->set_value(take(std::move(results))); });
  return promise->get_future();
}

}  // namespace

void QueryHandle::cancel() const {
  if (const auto watch = watch_.lock()) watch->cancel(answer_);
}

bool QueryHandle::awaits_this_thread() const {
  const auto watch = watch_.lock();
  return watch != nullptr && watch->awaits_this_thread();
}

base::Result<olap::QueryResult> RunningQuery::get() {
  if (!wait_for(0) && handle_.awaits_this_thread()) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "RunningQuery::get was called in a completion or a procedure, where it "
                       "would wait for itself");
  }
  return result_.get();
}

void Database::State::prepare(QueryJob* job, size_t index, const olap::TableRows& rows) const {
  QueryJob::Statement& statement = job->statements[index];
  auto plan = olap::prepare(statement.sql, catalogs.current(), rows, statement.parameters,
                            known_system_tables, &job->answer->control());
  if (plan) {
    statement.plan = std::move(*plan);
    statement.prepared = true;
  } else {
    if (!std::exchange(statement.counted, true)) olap_dispatcher->count_failed(plan.code());
    job->answer->put(index, plan.error(), QueryAnswer::Show::kAnyTime);
  }
}

base::Result<void> Database::State::check_may_query() {
  auto may = check_may_wait("query");
  return may ? recovered_for_query() : may;
}

base::Result<void> Database::State::recovered_for_query() {
  auto ready = ensure_recovered();
  if (!ready) olap_dispatcher->queues().note_refusal(ready.code());
  return ready;
}

base::Result<void> Database::State::submit(std::unique_ptr<QueryJob> job, QueryQueue* queue,
                                           Admission admission) {
  auto submitted = olap_dispatcher->submit(std::move(job), queue, admission_here(admission));
  if (submitted || submitted.code() != base::ErrorCode::kDeadlineExceeded) return submitted;
  return base::Error(base::ErrorCode::kDeadlineExceeded,
                     "the query's time was over before it was admitted");
}

QueryResults Database::State::query_batch(QueryQueue* queue,
                                          std::span<const std::string> statements,
                                          const QueryOptions& query) {
  if (statements.empty()) return {};
  if (auto ready = check_may_query(); !ready) return all_failed(statements.size(), ready.error());
  auto job = make_job(statements, query);
  const QueryAnswerPtr answer = job->answer;
  auto future = promised<QueryResults>(answer.get(), [](QueryResults results) { return results; });
  if (auto submitted = submit(std::move(job), queue, query.admission); !submitted) {
    return all_failed(statements.size(), submitted.error());
  }
  return future.get();
}

base::Result<RunningQuery> Database::State::start_query(QueryQueue* queue, std::string_view sql,
                                                        const QueryOptions& query) {
  if (auto ready = check_may_query(); !ready) return ready.error();
  const std::string statement(sql);
  auto job = make_job(std::span(&statement, 1), query);
  const QueryAnswerPtr answer = job->answer;
  auto future = promised<base::Result<olap::QueryResult>>(
      answer.get(), [](QueryResults results) { return std::move(results.front()); });
  if (auto submitted = submit(std::move(job), queue, query.admission); !submitted) {
    return submitted.error();
  }
  return RunningQuery(QueryHandle(answer, query_watch), std::move(future));
}

base::Result<QueryHandle> Database::State::submit_query(QueryQueue* queue, std::string sql,
                                                        QueryDone done, const QueryOptions& query) {
  if (done == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument, "the query has no completion");
  }
  if (auto outside = check_outside_procedure("submit_query"); !outside) return outside.error();
  if (auto ready = recovered_for_query(); !ready) return ready.error();
  auto job = make_job(std::span(&sql, 1), query);
  QueryHandle handle(job->answer, query_watch);
  job->answer->set_done(
      [done = std::move(done)](QueryResults results) { done(std::move(results.front())); });
  if (auto submitted = submit(std::move(job), queue, query.admission); !submitted) {
    return submitted.error();
  }
  return handle;
}

QueryResults Database::query_batch(std::span<const std::string> statements,
                                   const QueryOptions& options) {
  return state_->query_batch(state_->query_queue(options.priority), statements, options);
}

base::Result<QueryResult> Database::query(std::string_view sql,
                                          std::vector<base::Value> parameters) {
  return query(sql, QueryOptions{.parameters = std::move(parameters)});
}

base::Result<RunningQuery> Database::start_query(std::string_view sql,
                                                 const QueryOptions& options) {
  return state_->start_query(state_->query_queue(options.priority), sql, options);
}

base::Result<QueryHandle> Database::submit_query(std::string sql, QueryDone done,
                                                 const QueryOptions& options) {
  return state_->submit_query(state_->query_queue(options.priority), std::move(sql),
                              std::move(done), options);
}

}  // namespace diptych::dispatcher
