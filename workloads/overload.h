// run_overload: what becomes of calls when more come than the database can take.
//
//   saturate: a call for each place of the queue, always  ─► sustainable rate, latency at the limit
//   then an open loop at shares of that rate, 2 among them ─► answered, refused, expired, latency
//
// The latency of a call that was admitted is bounded by the queue's limit over the rate; so at
// twice the sustainable load it is about what it is at the limit, and what is too much is refused
// at once.
//
// Threads    as run_benchmark.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topology.h"
#include "dispatcher/database_options.h"
#include "workloads/checks.h"
#include "workloads/latency.h"
#include "workloads/run_control.h"

namespace diptych::workloads {

struct OverloadOptions {
  uint32_t warehouses = 1;
  uint32_t queue_requests = 1024;  // the limit on calls that are admitted and not answered
  double timeout_ms = 0;           // of a call; 0: none
  double seconds = 3;              // measured, of each load
  double warmup_seconds = 0.5;
  std::vector<double> loads = {0.5, 0.9, 1, 2};  // shares of the sustainable rate
  base::PlacementOptions placement;
  dispatcher::IsolationLevel isolation = dispatcher::IsolationLevel::kSnapshot;
  std::string keep_path;                                 // a new directory; empty: in memory
  dispatcher::LogMode log = dispatcher::LogMode::kNone;  // of a database that is kept
  uint64_t seed = 42;
};

struct OverloadCell {
  double load = 0;  // 0: as much as it takes
  double offered_per_second = 0;
  double answered_per_second = 0;
  double refused_per_second = 0;
  double expired_per_second = 0;
  Latency latency_ms;  // of those answered, from their arrival
};

struct OverloadReport {
  OverloadOptions options;
  bool interrupted = false;
  OverloadCell limit;  // the sustainable rate
  std::vector<OverloadCell> cells;
  uint64_t calls_failed = 0;
  std::string error;  // the first failure's
  Checks checks;

  // Of the heaviest load's latencies to those at the limit.
  double p50_ratio() const;
  double p99_ratio() const;
  bool clean() const { return !interrupted && calls_failed == 0 && checks.found_nothing(true); }
};

base::Result<OverloadReport> run_overload(const OverloadOptions& options, const StopFlag& stop,
                                          const Progress& progress);

std::string to_json(const OverloadReport& report);
std::string to_table(const OverloadReport& report);

}  // namespace diptych::workloads
