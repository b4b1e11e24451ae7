// TransactionDriver: closed-loop clients of the transaction side, all on one thread.
//
// Each client has one call in flight; its Request, arguments and reply are its own and used
// again, so a call allocates nothing. Latency is from submission to completion.
//
// Threads    run() is one thread, pinned to the OLTP side, whose load it makes; it sleeps until
//            half of its clients have finished. Statistics are read after join().

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dispatcher/database.h"
#include "dispatcher/metrics.h"
#include "workloads/drivers/completion_list.h"
#include "workloads/drivers/driver_thread.h"
#include "workloads/drivers/phase.h"
#include "workloads/tpcc/inputs.h"

namespace diptych::workloads {

// Of one type of transaction or one query, in the measured time; failures at any time.
struct CallStatistics {
  uint64_t completed = 0;
  uint64_t aborted = 0;
  uint64_t failed = 0;
  uint64_t conflicts = 0;
  std::string error;  // the first failure's
  dispatcher::Histogram latency_ns;
};

class TransactionDriver {
 public:
  TransactionDriver(dispatcher::Database* database, const tpcc::Procedures& procedures,
                    uint32_t clients, int32_t warehouses, uint64_t seed, const PhaseSwitch* phase);
  ~TransactionDriver();

  void start();
  void join();  // after Phase::kStop
  uint64_t cpu_ns() const { return thread_.cpu_ns(); }
  const std::array<CallStatistics, tpcc::kTransactionTypes>& statistics() const {
    return statistics_;
  }

 private:
  struct Client;

  void run();
  void submit(Client* client);
  void record(const Client& client);
  static void complete(dispatcher::Request* request);

  dispatcher::Database* database_;
  tpcc::Procedures procedures_;
  tpcc::InputGenerator inputs_;
  const PhaseSwitch* phase_;
  std::vector<std::unique_ptr<Client>> clients_;
  int64_t in_flight_ = 0;
  CompletionList completions_;
  std::array<CallStatistics, tpcc::kTransactionTypes> statistics_;
  DriverThread thread_;
};

}  // namespace diptych::workloads
