#include "dispatcher/client.h"

#include "dispatcher/database_state.h"

namespace diptych::dispatcher {

base::Result<std::unique_ptr<Client>> Client::connect(Database* database,
                                                      const ClientOptions& options) {
  auto queue = database->state_->oltp_dispatcher->connect(options.priority);
  if (!queue) return queue.error();
  return std::unique_ptr<Client>(new Client(database, *queue));
}

Client::~Client() {
  database_->state_->oltp_dispatcher->disconnect(queue_);
}

base::Result<void> Client::submit(Request* request, const CallOptions& options) {
  return database_->state_->submit(request, queue_, options);
}

}  // namespace diptych::dispatcher
