// run_benchmark: TPC-C, alone or as the hybrid CH-benCHmark.
//
// One run: make a database, load it, start closed-loop clients of both sides, warm up, measure,
// cool down, stop, then check.
//
// Threads    workloads/run_control.h says what `stop` and `progress` may do.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "workloads/checks.h"
#include "workloads/latency.h"
#include "workloads/run_control.h"
#include "workloads/session_options.h"

namespace diptych::workloads {

// The clients are those of this run.
struct BenchmarkOptions : SessionOptions {
  double warmup_seconds = 1;
  double seconds = 10;
  double cooldown_seconds = 0.5;

  base::Result<void> check_times() const;  // kInvalidArgument: they make no run
};

struct BenchmarkReport {
  BenchmarkOptions options;
  bool interrupted = false;
  double measured_seconds = 0;
  double load_seconds = 0;
  uint64_t calls_failed = 0;  // transactions and queries, in the warm-up and cool-down too
  double transactions_per_second = kNotMeasured;  // committed, and rolled-back New-Orders
  double queries_per_second = kNotMeasured;
  double aborts_per_second = kNotMeasured;  // conflicts that led to a repeated run
  Latency transaction_latency_ms;
  Latency query_latency_ms;
  std::map<std::string, TypeReport> transactions;          // by name
  std::map<std::string, TypeReport> queries;               // by name, e.g. "Q01"
  std::map<std::string, std::string> unsupported_queries;  // name -> why
  // When a batch of queries starts: the time since the first commit that it does not see (an upper
  // bound); 0 if it sees all.
  Latency freshness_ms;
  Latency wait_apply_ms;  // a query's wait before its batch runs, applying included
  Latency apply_ms;       // compaction included
  Latency compaction_ms;  // of it
  double updates_applied_per_second = kNotMeasured;
  uint64_t oltp_bytes = 0, olap_bytes = 0;  // memory at the end
  std::string metrics_text;                 // the database's, at the end, as Prometheus reads it
  std::map<std::string, uint64_t> table_rows;
  double oltp_cpu_percent = kNotMeasured, olap_cpu_percent = kNotMeasured;  // of one core
  double clients_cpu_percent = kNotMeasured;
  std::string placement;  // as printed
  Checks checks;          // of a run alone; those of a grid are made once

  // Something was measured, no call failed, every check was made and found nothing, and the
  // database was closed.
  bool clean() const;
};

base::Result<BenchmarkReport> run_benchmark(const BenchmarkOptions& options, const StopFlag& stop,
                                            const Progress& progress);

// JSON with the keys that scripts rely on, and a table for a person.
std::string to_json(const BenchmarkReport& report);
std::string to_table(const BenchmarkReport& report);

}  // namespace diptych::workloads
