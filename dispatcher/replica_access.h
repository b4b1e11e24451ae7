// ReplicaAccess: the columnar replica of an open database, and the threads that scan it, for who
// measures them beneath SQL.
//
// Both sides stand still while it lives. What is written through it the OLTP replica does not have
// and the log neither: the database is to be discarded.
//
// Threads    of the caller's; not a dispatcher's, which it would wait for.

#pragma once

#include <cstdint>
#include <functional>

#include "base/topology.h"
#include "dispatcher/batch_gate.h"

namespace diptych::olap {
class Executor;
}
namespace diptych::storage {
class Replica;
}

namespace diptych::dispatcher {

class Database;

class ReplicaAccess {
 public:
  explicit ReplicaAccess(Database* database);  // which outlives it

  storage::Replica& replica() { return replica_; }
  const base::SidePlacement& placement() const { return placement_; }
  // body(thread), on each of the analytical side's threads; returns when all have.
  void run_on_each_thread(const std::function<void(uint32_t thread)>& body);

 private:
  storage::Replica& replica_;
  olap::Executor& executor_;
  const base::SidePlacement& placement_;
  const BatchGate::Exclusive held_;
};

}  // namespace diptych::dispatcher
