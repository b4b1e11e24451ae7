#include "dispatcher/replica_access.h"

#include "dispatcher/database_state.h"

namespace diptych::dispatcher {

ReplicaAccess::ReplicaAccess(Database* database)
    : replica_(database->state_->replica),
      executor_(database->state_->executor),
      placement_(database->state_->placement.olap),
      held_(database->state_->gate.exclude()) {}

void ReplicaAccess::run_on_each_thread(const std::function<void(uint32_t thread)>& body) {
  executor_.run_parallel(placement_.threads, body);
}

}  // namespace diptych::dispatcher
