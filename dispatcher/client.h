// Client: a share of its own in what a database does: calls of clients take turns in its batches,
// so that who has submitted thousands does not hold up who has submitted one.
//
//   auto client = Client::connect(&database, {.priority = Priority::kHigh});
//   auto reply = (*client)->call(transfer, {.from = 1, .to = 2}, {.timeout_ns = 10'000'000}).get();
//
// At most `client_requests` of its calls are admitted and not answered, whatever others have.
// Callers without a client share one turn and `queue_requests`, for each priority.
//
// Threads    call, submit: any number. It goes before its database; calls that were submitted end.

#pragma once

#include <memory>

#include "dispatcher/database.h"

namespace diptych::dispatcher {

class CallQueue;  // dispatcher/call_queue.h

class Client {
 public:
  // kOverloaded: `clients_max` of the priority are connected, or their last calls are not answered
  // yet. kClosed.
  static base::Result<std::unique_ptr<Client>> connect(Database* database,
                                                       const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // As the database's; the priority is the client's.
  template <class Arguments, class Reply>
  Future<Reply> call(const ProcedureRef<Arguments, Reply>& procedure, const Arguments& arguments,
                     const CallOptions& options = {}) {
    return detail::call(procedure, arguments,
                        [&](Request* request) { return submit(request, options); });
  }
  base::Result<void> submit(Request* request, const CallOptions& options);

 private:
  Client(Database* database, CallQueue* queue) : database_(database), queue_(queue) {}

  Database* database_;
  CallQueue* queue_;
};

}  // namespace diptych::dispatcher
