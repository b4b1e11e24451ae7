// run_recovery: how long a database takes to run again, and how fast its log is replayed.
//
//   load, close ─► read the files (cold) ─► open (cold) ─► TPC-C, logged ─► crash ─► open, replay
//                  files_read_seconds       recovery_seconds  first run               replay
//                                             ─► the primary is lost, and rebuilt ─► checked
//                                                lost_primary_seconds
//
// Cold: the files are not in the page cache, but the machine's free memory is at hand, since it is
// touched before; both are done several times, and the medians are told. The first run is in the
// same process as the replay, with the same workers; its rate counts what the log has: transactions
// that changed something.
//
// Threads    as run_benchmark.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/topology.h"
#include "dispatcher/database_options.h"
#include "workloads/checks.h"
#include "workloads/run_control.h"

namespace diptych::workloads {

struct RecoveryOptions {
  uint32_t warehouses = 1;
  uint32_t transaction_clients = 256;
  double seconds = 5;  // of the first run
  base::PlacementOptions placement;
  dispatcher::IsolationLevel isolation = dispatcher::IsolationLevel::kSnapshot;
  dispatcher::LogMode log = dispatcher::LogMode::kCommand;  // kNone has nothing to replay
  std::string path;  // a new directory, which is kept; empty: one that is removed
  uint64_t seed = 42;
};

struct RecoveryBenchmarkReport {
  RecoveryOptions options;
  bool interrupted = false;
  uint64_t file_bytes = 0;        // of the closed database
  double files_read_seconds = 0;  // of these, one after the other, by one thread
  double recovery_seconds = 0;    // from there to a running primary
  uint64_t log_bytes = 0;
  double first_transactions_per_second = 0;  // that changed something, as they were acknowledged
  uint64_t replayed_transactions = 0;
  double replay_seconds = 0;
  double replayed_transactions_per_second = 0;
  double lost_primary_seconds = 0;  // from the loss of the OLTP replica to a running one
  Checks checks;

  bool clean() const { return !interrupted && checks.found_nothing(true); }
};

base::Result<RecoveryBenchmarkReport> run_recovery(const RecoveryOptions& options,
                                                   const StopFlag& stop, const Progress& progress);

std::string to_json(const RecoveryBenchmarkReport& report);
std::string to_table(const RecoveryBenchmarkReport& report);

}  // namespace diptych::workloads
