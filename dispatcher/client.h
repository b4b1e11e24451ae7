// Client: a guaranteed share of a database. Clients take turns in its batches, so one that submits
// thousands of calls does not delay one that submits a single call.
//
//   auto client = Client::connect(&database, {.priority = Priority::kHigh});
//   auto reply = (*client)->call(transfer, {.from = 1, .to = 2}, {.timeout_ns = 10'000'000}).get();
//   auto rows = (*client)->query("SELECT sum(balance) FROM account");
//
// At most `client_requests` of its calls and `client_queries` of its queries are admitted and not
// answered, whatever others have. Callers without a client share one turn, `queue_requests` and
// `queue_queries`, for each priority.
//
// Threads    all members: any number. It goes before its database; what was submitted ends.

#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatcher/database.h"

namespace diptych::dispatcher {

struct QueryJob;
template <class Item>
class AdmissionQueue;
using CallQueue = AdmissionQueue<oltp::Request*>;  // as dispatcher/admission_queue.h
using QueryQueue = AdmissionQueue<std::unique_ptr<QueryJob>>;

struct ClientOptions {
  Priority priority = Priority::kNormal;
};

class Client {
 public:
  // kOverloaded: `clients_max` of the priority are connected, or what they submitted last is not
  // answered yet. kClosed.
  static base::Result<std::unique_ptr<Client>> connect(Database* database,
                                                       const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // All as the database's; the priority is the client's.
  template <class Arguments, class Reply>
  Future<Reply> call(const ProcedureRef<Arguments, Reply>& procedure, const Arguments& arguments,
                     const CallOptions& options = {}) {
    return detail::call(procedure, arguments,
                        [&](Request* request) { return submit(request, options); });
  }
  template <class Arguments, class Reply>
  Future<Reply> call(const ProcedureRef<Arguments, Reply>& procedure, const Arguments& arguments,
                     Admission admission) {
    return call(procedure, arguments, CallOptions{.admission = admission});
  }
  base::Result<std::vector<base::Value>> call_by_name(std::string_view procedure,
                                                      std::span<const base::Value> arguments,
                                                      const CallOptions& options = {});
  base::Result<void> submit(Request* request, const CallOptions& options);
  base::Result<void> submit(Request* request, Admission admission) {
    return submit(request, CallOptions{.admission = admission});
  }

  base::Result<QueryResult> query(std::string_view sql, const QueryOptions& options = {});
  // A template, since braces mean the options.
  template <std::same_as<std::vector<base::Value>> Parameters>
  base::Result<QueryResult> query(std::string_view sql, Parameters parameters) {
    return query(sql, QueryOptions{.parameters = std::move(parameters)});
  }
  std::vector<base::Result<QueryResult>> query_batch(std::span<const std::string> statements,
                                                     const QueryOptions& options = {});
  base::Result<RunningQuery> start_query(std::string_view sql, const QueryOptions& options = {});
  base::Result<QueryHandle> submit_query(std::string sql, QueryDone done,
                                         const QueryOptions& options = {
                                             .admission = Admission::kRefuse});

 private:
  Client(Database* database, CallQueue* calls, QueryQueue* queries)
      : database_(database), calls_(calls), queries_(queries) {}

  Database* const database_;
  CallQueue* const calls_;
  QueryQueue* const queries_;
};

}  // namespace diptych::dispatcher
