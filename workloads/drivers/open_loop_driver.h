// OpenLoopDriver: TPC-C calls that come at a rate, whether or not those before have been answered.
//
// Arrivals are a Poisson process. A call that the database refuses is counted and gone. At rate 0
// there is always a call for each place of the queue: as much as the database can take, with
// nothing refused.
//
// Threads    run() is one thread, pinned to the OLAP side, so that what it refuses does not take
//            the transactions' core; at a rate with real-time priority, where that is permitted.
//            Statistics are read after join().

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dispatcher/database.h"
#include "dispatcher/histogram.h"
#include "workloads/drivers/completion_list.h"
#include "workloads/drivers/driver_thread.h"
#include "workloads/drivers/phase.h"
#include "workloads/tpcc/inputs.h"

namespace diptych::workloads {

// In the measured time; failures at any time.
struct OpenLoopStatistics {
  uint64_t offered = 0;
  uint64_t answered = 0;  // rolled-back New-Orders included
  uint64_t refused = 0;
  uint64_t expired = 0;  // their deadline passed
  uint64_t failed = 0;
  std::string error;  // the first failure's
  // Of those answered, from their arrival: what a late driver adds to their waiting is theirs, too
  // (Tene's "coordinated omission").
  dispatcher::Histogram latency_ns;
};

struct OpenLoopOptions {
  double calls_per_second = 0;  // 0: as many as it takes
  uint32_t queue_requests = 0;  // the database's
  uint64_t timeout_ns = 0;      // of a call; 0: none
  int32_t warehouses = 1;
  uint64_t seed = 42;
};

class OpenLoopDriver {
 public:
  OpenLoopDriver(dispatcher::Database* database, const tpcc::Procedures& procedures,
                 const OpenLoopOptions& options, const PhaseSwitch* phase);
  ~OpenLoopDriver();

  void start();
  void join();  // after Phase::kStop
  const OpenLoopStatistics& statistics() const { return statistics_; }

 private:
  struct Call;

  void run();
  void submit(Call* call, uint64_t arrived_ns);
  void take_finished();
  void record(const Call& call);
  void fail(const base::Error& error);
  uint64_t next_gap_ns();
  static void complete(dispatcher::Request* request);

  dispatcher::Database* database_;
  tpcc::Procedures procedures_;
  const OpenLoopOptions options_;
  tpcc::InputGenerator inputs_;
  tpcc::Random random_;
  const PhaseSwitch* phase_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> free_;
  bool closed_ = false;  // the database takes no more
  CompletionList completions_;
  OpenLoopStatistics statistics_;
  DriverThread thread_;
};

}  // namespace diptych::workloads
