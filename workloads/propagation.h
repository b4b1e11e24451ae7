// run_propagation: what it costs the columnar replica to take TPC-C's updates in.
//
// Threads    as run_benchmark.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "workloads/checks.h"
#include "workloads/run_control.h"
#include "workloads/session_options.h"

namespace diptych::workloads {

struct PropagationOptions {
  uint32_t warehouses = 1;
  uint64_t transactions = 1'000'000;     // applied in all
  uint64_t round_transactions = 10'000;  // made, and then applied in one go
  uint32_t transaction_clients = 32;
  dispatcher::ExportMode mode = dispatcher::ExportMode::kColumns;
  dispatcher::BlockForm blocks = dispatcher::BlockForm::kCompressed;
  SizePolicy size = SizePolicy::kGrowing;
  uint64_t seed = 42;
};

// What applying TPC-C's updates costs (BatchDB, table 1). Rates are per second of CPU time of the
// one thread that applies; shares are of its time.
struct PropagationReport {
  struct TableShare {
    uint64_t updates = 0;
    double time = 0;
  };
  PropagationOptions options;
  bool interrupted = false;
  uint64_t rounds = 0;
  uint64_t transactions = 0;  // that changed something
  uint64_t updates = 0;       // records
  uint64_t calls_failed = 0;
  double apply_cpu_seconds = 0;
  double compact_cpu_seconds = 0;  // making and freezing blocks behind each apply; not in the rates
  double order = 0, route = 0, apply = 0;  // 1 in all
  double index_lookup = 0, write = 0;      // of it, in `apply`
  uint64_t olap_bytes_loaded = 0;          // the replica's memory before the first round,
  uint64_t olap_bytes = 0;                 // and after the last
  std::map<std::string, TableShare> tables;
  Checks checks;

  double transactions_per_second() const;
  double updates_per_second() const;
  double compact_seconds_per_apply_second() const {
    return compact_cpu_seconds / apply_cpu_seconds;
  }
  bool clean() const;  // as BenchmarkReport's
};

// Runs rounds of transactions on the OLTP replica and applies the updates of each, which waited
// meanwhile, to the other.
base::Result<PropagationReport> run_propagation(const PropagationOptions& options,
                                                const StopFlag& stop, const Progress& progress);

std::string to_json(const PropagationReport& report);
std::string to_table(const PropagationReport& report);

}  // namespace diptych::workloads
