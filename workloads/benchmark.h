// Benchmarks: TPC-C, the hybrid CH-benCHmark and the isolation grid, as the program runs them.
//
// One run: make a database in memory, load it, start closed-loop clients of both sides, warm up,
// measure, cool down, stop, then check: TPC-C's consistency conditions on both replicas, and every
// row of every table between the replicas.
//
// Threads    a run uses the calling thread as its conductor; `stop` may be set from a signal
//            handler or another thread: the run then ends early, checks all the same, and reports
//            what was measured so far (interrupted = true). Stopped while it loads, it fails with
//            kCancelled. `progress` is called by one thread at a time, not always the same.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topology.h"

namespace diptych::workloads {

enum class QuerySet : uint8_t {
  kCh,         // the 22 CH-benCHmark queries, in turn; those not supported yet are listed
  kTemplates,  // the 14 templates of BatchDB's appendix, with random parameters
};
// kConstant: New-Order deletes an old order, and so on (workloads/README.md).
enum class SizePolicy : uint8_t { kGrowing, kConstant };

struct BenchmarkOptions {
  uint32_t warehouses = 1;
  uint32_t transaction_clients = 32;
  uint32_t query_clients = 0;
  double warmup_seconds = 1;
  double seconds = 10;
  double cooldown_seconds = 0.5;
  QuerySet queries = QuerySet::kCh;
  SizePolicy size = SizePolicy::kGrowing;
  bool export_updates = true;
  base::PlacementOptions placement;
  uint64_t seed = 42;
  std::string keep_path;  // a new directory where the database is kept; empty: in memory only
};

struct Latency {  // milliseconds
  uint64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
};

struct TypeReport {  // of one transaction type or query
  uint64_t completed = 0;
  uint64_t aborted = 0;  // rolled back by the procedure (New-Order's 1 %)
  uint64_t failed = 0;   // any other error; the first one's text is in `error`
  uint64_t conflicts = 0;
  std::string error;
  Latency latency_ms;
};

struct BenchmarkReport {
  BenchmarkOptions options;
  bool interrupted = false;
  double measured_seconds = 0;
  double load_seconds = 0;
  double transactions_per_second = 0;  // committed, all types, and rolled-back New-Orders
  double queries_per_second = 0;
  double aborts_per_second = 0;  // conflicts that led to a repeated run
  Latency transaction_latency_ms;
  Latency query_latency_ms;
  std::map<std::string, TypeReport> transactions;          // by name
  std::map<std::string, TypeReport> queries;               // by name, e.g. "Q01"
  std::map<std::string, std::string> unsupported_queries;  // name -> why
  Latency freshness_ms;   // age, at a query batch's start, of the newest commit it does not see
  Latency wait_apply_ms;  // a query's wait before its batch runs, applying included
  Latency apply_ms;
  double updates_applied_per_second = 0;
  uint64_t oltp_bytes = 0, olap_bytes = 0;  // memory at the end
  std::map<std::string, uint64_t> table_rows;
  double oltp_cpu_percent = 0, olap_cpu_percent = 0, clients_cpu_percent = 0;  // of one core
  uint64_t consistency_violations = 0;  // conditions false, over both replicas
  std::vector<std::string> violations;  // in words, at most 20
  uint64_t replica_differences = 0;
  std::vector<std::string> differences;  // in words, at most 20
  std::string placement;                 // as printed

  bool clean() const { return consistency_violations == 0 && replica_differences == 0; }
};

// Called now and then: what is being done, and how far (0 to 1; negative: unknown).
using Progress = std::function<void(const std::string& what, double done)>;
using StopFlag = std::atomic<bool>;

base::Result<BenchmarkReport> run_benchmark(const BenchmarkOptions& options, const StopFlag& stop,
                                            const Progress& progress);

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
  // One report per cell with any client, row by row of transaction_clients.
  std::vector<BenchmarkReport> cells;

  // Checked once, after the last cell, whose report has the same values.
  uint64_t consistency_violations = 0;
  std::vector<std::string> violations;
  uint64_t replica_differences = 0;
  std::vector<std::string> differences;

  bool clean() const { return consistency_violations == 0 && replica_differences == 0; }

  // Throughput lost against the same number of clients running alone, in percent; NaN if unknown.
  double transaction_loss_percent(const BenchmarkReport& cell) const;
  double query_loss_percent(const BenchmarkReport& cell) const;
  const BenchmarkReport* cell(uint32_t transaction_clients, uint32_t query_clients) const;
};

// The cells share one loaded database of constant size.
base::Result<IsolationReport> run_isolation(const IsolationOptions& options, const StopFlag& stop,
                                            const Progress& progress);

// JSON with the keys that scripts rely on, and tables for a person.
std::string to_json(const BenchmarkReport& report);
std::string to_json(const IsolationReport& report);
std::string to_table(const BenchmarkReport& report);
std::string to_table(const IsolationReport& report);

}  // namespace diptych::workloads
