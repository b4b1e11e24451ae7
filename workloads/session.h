// Session: a loaded database with everything that a run needs, for one run or for a grid of them.
//
//   opened -> tables, procedures -> queries tried on the empty tables -> loaded -> measured*
//          -> checked -> closed
//   One that fails or is stopped before it is loaded leaves nothing on disk.
//
// A query is supported if it runs on the empty tables; the error of one that does not is its
// reason.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dispatcher/database.h"
#include "workloads/benchmark.h"
#include "workloads/queries/catalog.h"
#include "workloads/tpcc/consistency.h"
#include "workloads/tpcc/procedures.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads {

class Session {
 public:
  // kInvalidArgument: options that make no run. kCancelled: stopped. Otherwise as Database::open
  // and tpcc::load.
  static base::Result<std::unique_ptr<Session>> open(const SessionOptions& options,
                                                     const StopFlag& stop,
                                                     const Progress& progress);

  // Of a database that is kept and loaded; its log, if it has one, is not replayed yet.
  static base::Result<std::unique_ptr<Session>> reopen(const SessionOptions& options);

  // Warm-up, measurement and cool-down with these numbers of clients; fills all but the checks.
  base::Result<BenchmarkReport> measure(const BenchmarkOptions& options, const StopFlag& stop,
                                        const Progress& progress);

  // The conditions on both replicas, and their comparison. A stop that was set before ends nothing.
  Checks verify(const StopFlag& stop, const Progress& progress) const;

  // The twelve conditions on the OLTP replica alone. kCancelled: stopped.
  base::Result<tpcc::ConsistencyReport> check_oltp(const StopFlag& stop) const;

  // Verifies, and closes the database, which saves one that is kept. One that a driver has given up
  // (drivers/log_wait.h) is closed already: no check is made, and close_error says it.
  Checks finish(const StopFlag& stop, const Progress& progress);

  dispatcher::Database* database() { return database_.get(); }
  const tpcc::Tables& tables() const { return tables_; }
  const tpcc::Procedures& procedures() const { return procedures_; }
  const std::vector<NamedQuery>& queries() const { return queries_; }
  const std::map<std::string, std::string>& unsupported() const { return unsupported_; }
  double load_seconds() const { return load_seconds_; }

 private:
  Session() = default;
  base::Result<void> prepare(const StopFlag& stop, const Progress& progress);
  base::Result<void> attach();
  void try_queries();
  void report_size(BenchmarkReport* report) const;

  SessionOptions options_;  // as opened
  std::unique_ptr<dispatcher::Database> database_;
  tpcc::Tables tables_;
  tpcc::Procedures procedures_;
  tpcc::OltpConsistency consistency_;
  std::vector<NamedQuery> queries_;  // the supported ones
  std::map<std::string, std::string> unsupported_;
  double load_seconds_ = 0;
};

// Closes the database; where that fails, gives the error and what is left of it at its path (empty:
// in memory). One with a log stays as it is; another one is discarded.
std::string close_or_discard(dispatcher::Database* database, const std::string& path,
                             dispatcher::LogMode log);

}  // namespace diptych::workloads
