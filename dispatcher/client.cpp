#include "dispatcher/client.h"

#include <utility>

#include "dispatcher/database_state.h"

namespace diptych::dispatcher {

base::Result<std::unique_ptr<Client>> Client::connect(Database* database,
                                                      const ClientOptions& options) {
  CallQueues& calls = database->state_->oltp_dispatcher->queues();
  auto own_calls = calls.connect(options.priority);
  if (!own_calls) return own_calls.error();
  auto own_queries = database->state_->olap_dispatcher->queues().connect(options.priority);
  if (!own_queries) {
    calls.disconnect(*own_calls);
    return own_queries.error();
  }
  return std::unique_ptr<Client>(new Client(database, *own_calls, *own_queries));
}

Client::~Client() {
  database_->state_->oltp_dispatcher->queues().disconnect(calls_);
  database_->state_->olap_dispatcher->queues().disconnect(queries_);
}

base::Result<void> Client::submit(Request* request, const CallOptions& options) {
  return database_->state_->submit(request, calls_, options);
}

base::Result<std::vector<base::Value>> Client::call_by_name(std::string_view procedure,
                                                            std::span<const base::Value> arguments,
                                                            const CallOptions& options) {
  return database_->state_->call_by_name(calls_, procedure, arguments, options);
}

base::Result<QueryResult> Client::query(std::string_view sql, const QueryOptions& options) {
  const std::string statement(sql);
  return std::move(query_batch(std::span(&statement, 1), options).front());
}

std::vector<base::Result<QueryResult>> Client::query_batch(std::span<const std::string> statements,
                                                           const QueryOptions& options) {
  return database_->state_->query_batch(queries_, statements, options);
}

base::Result<RunningQuery> Client::start_query(std::string_view sql, const QueryOptions& options) {
  return database_->state_->start_query(queries_, sql, options);
}

base::Result<QueryHandle> Client::submit_query(std::string sql, QueryDone done,
                                               const QueryOptions& options) {
  return database_->state_->submit_query(queries_, std::move(sql), std::move(done), options);
}

}  // namespace diptych::dispatcher
