// Session: a loaded database with everything that a run needs, for one run or for a grid of them.
//
//   opened -> tables, procedures -> queries tried on the empty tables -> loaded -> measured*
//          -> checked
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
  // kInvalidArgument: options that make no run. Otherwise as Database::open and tpcc::load.
  static base::Result<std::unique_ptr<Session>> open(const BenchmarkOptions& options,
                                                     const StopFlag& stop,
                                                     const Progress& progress);

  // Warm-up, measurement and cool-down with these numbers of clients; fills all but the checks.
  base::Result<BenchmarkReport> measure(const BenchmarkOptions& options, const StopFlag& stop,
                                        const Progress& progress);

  // Adds the conditions on both replicas and their comparison. A check that cannot be made counts
  // as a violation.
  void verify(const Progress& progress, BenchmarkReport* report);

  // The twelve conditions on the OLTP replica alone.
  base::Result<tpcc::ConsistencyReport> check_oltp() const;

  // Closes the database, which saves one that is kept.
  base::Result<void> close();

  dispatcher::Database* database() { return database_.get(); }
  const tpcc::Tables& tables() const { return tables_; }
  const tpcc::Procedures& procedures() const { return procedures_; }
  const std::vector<NamedQuery>& queries() const { return queries_; }
  const std::map<std::string, std::string>& unsupported() const { return unsupported_; }

 private:
  Session() = default;
  base::Result<void> prepare();
  void try_queries();
  void count_rows(BenchmarkReport* report);

  BenchmarkOptions options_;  // as opened
  std::unique_ptr<dispatcher::Database> database_;
  tpcc::Tables tables_;
  tpcc::Procedures procedures_;
  tpcc::OltpConsistency consistency_;
  std::vector<NamedQuery> queries_;  // the supported ones
  std::map<std::string, std::string> unsupported_;
  double load_seconds_ = 0;
};

}  // namespace diptych::workloads
