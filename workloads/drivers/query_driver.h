// QueryDriver: closed-loop clients of the query side, all on one thread.
//
// The clients go through the queries in turn, each from another one on; templates get new random
// parameters at each run. A query that fails is counted and its client goes on after a pause.
//
// Threads    as TransactionDriver, on the OLAP side's cores.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dispatcher/database.h"
#include "workloads/drivers/completion_list.h"
#include "workloads/drivers/driver_thread.h"
#include "workloads/drivers/phase.h"
#include "workloads/drivers/transaction_driver.h"
#include "workloads/queries/catalog.h"
#include "workloads/tpcc/random.h"

namespace diptych::workloads {

class QueryDriver {
 public:
  // No query: no client runs.
  QueryDriver(dispatcher::Database* database, std::vector<NamedQuery> queries, uint32_t clients,
              uint64_t seed, const PhaseSwitch* phase);
  ~QueryDriver();

  void start();
  void join();  // after Phase::kStop
  uint64_t cpu_ns() const { return thread_.cpu_ns(); }
  const std::vector<NamedQuery>& queries() const { return queries_; }
  const std::vector<CallStatistics>& statistics() const { return statistics_; }  // by query

 private:
  struct Client;

  void run();
  void submit(Client* client);
  void record(const Client& client);

  dispatcher::Database* database_;
  std::vector<NamedQuery> queries_;
  std::vector<CallStatistics> statistics_;
  tpcc::Random random_;
  const PhaseSwitch* phase_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> pausing_;  // failed; submitted again after the next wait
  int64_t in_flight_ = 0;
  CompletionList completions_;
  DriverThread thread_;
};

}  // namespace diptych::workloads
