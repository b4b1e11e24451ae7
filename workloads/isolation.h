// run_isolation: a grid of transaction clients by query clients: what each side costs the other.
//
// Threads    as run_benchmark.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topology.h"
#include "workloads/benchmark.h"

namespace diptych::workloads {

struct IsolationOptions {
  uint32_t warehouses = 1;
  double seconds = 5;  // measured per cell
  double warmup_seconds = 1;
  std::vector<uint32_t> transaction_clients = {0, 1, 8, 64};
  std::vector<uint32_t> query_clients = {0, 1, 4, 16};
  QuerySet queries = QuerySet::kTemplates;
  base::PlacementOptions placement;
  uint64_t seed = 42;
};

struct IsolationReport {
  IsolationOptions options;
  bool interrupted = false;
  // One report per cell with any client that was measured, or in which a call failed, row by row
  // of transaction_clients.
  std::vector<BenchmarkReport> cells;
  Checks checks;  // after the last cell

  bool clean() const;  // as BenchmarkReport's
  uint64_t calls_failed() const;

  // Throughput lost against the same number of clients running alone, in percent; NaN if unknown.
  // Queries alone ran last: over rows that transactions had changed, too.
  double transaction_loss_percent(const BenchmarkReport& cell) const;
  double query_loss_percent(const BenchmarkReport& cell) const;
  const BenchmarkReport* cell(uint32_t transaction_clients, uint32_t query_clients) const;
};

// The cells share one loaded database of constant size.
base::Result<IsolationReport> run_isolation(const IsolationOptions& options, const StopFlag& stop,
                                            const Progress& progress);

std::string to_json(const IsolationReport& report);
std::string to_table(const IsolationReport& report);

}  // namespace diptych::workloads
