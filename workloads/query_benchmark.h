// run_queries: how fast the analytical side answers, without transactions beside it.
//
//   alone         each query of the set in turn, one at a time, for some rounds after one that
//                 warms up; what counts is the median of a query, from its text to its rows.
//   closed loop   so many clients, each of which asks the next query when its last one is answered,
//                 in turn, each from another one on; templates with new random parameters each
//                 time. One cell for each number of clients, measured from its first call until
//                 the last one is answered: a batch of a thousand queries may take longer than
//                 the time that is asked for, and is never cut in two.
//
// The CH queries run alone where no number of clients is given. The query side gets as many cores
// as it has threads, where cores are not given: nothing else needs them.
//
// Threads    as run_benchmark.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topology.h"
#include "workloads/aging.h"
#include "workloads/checks.h"
#include "workloads/latency.h"
#include "workloads/run_control.h"
#include "workloads/session_options.h"

namespace diptych::workloads {

inline constexpr uint32_t kQueryRoundsMin = 3;

struct QueryBenchmarkOptions {
  uint32_t warehouses = 1;
  QuerySet queries = QuerySet::kCh;
  std::vector<uint32_t> clients;  // empty: the CH queries alone, templates with one client
  double warmup_seconds = 0.5;    // with one client, before the first cell
  double seconds = 5;  // in which each cell makes calls; alone: and kQueryRoundsMin rounds
  bool aged = false;   // an hour's worth of transactions before (workloads/aging.h)
  double aging_growth = kAgingGrowth;  // for tests
  base::PlacementOptions placement;
  uint64_t seed = 42;
  std::string keep_path;  // as SessionOptions

  bool alone() const { return clients.empty() && queries == QuerySet::kCh; }
};

// One number of clients; `clients` is 1 where the queries ran alone.
struct QueryCell {
  uint32_t clients = 1;
  double measured_seconds = 0;
  double queries_per_second = kNotMeasured;
  Latency latency_ms;
  size_t queries_in_all = 0;               // of the set
  std::map<std::string, Latency> queries;  // by name; their medians are exact where alone
  uint64_t failed = 0;
  std::map<std::string, std::string> errors;  // name -> a query's first error

  // Of the medians; without the query named, if any. NaN where one is missing.
  double geometric_mean_ms(const std::string& without = {}) const;
};

struct QueryBenchmarkReport {
  QueryBenchmarkOptions options;
  bool interrupted = false;
  double load_seconds = 0;
  uint32_t threads = 0;
  std::string placement;  // as printed
  std::optional<AgingReport> aging;
  std::vector<QueryCell> cells;
  std::map<std::string, std::string> unsupported_queries;  // name -> why
  Checks checks;                                           // made only if transactions ran (aged)

  // Every query was measured, none failed, and the checks, if any, found nothing.
  bool clean() const;
};

base::Result<QueryBenchmarkReport> run_queries(const QueryBenchmarkOptions& options,
                                               const StopFlag& stop, const Progress& progress);

std::string to_json(const QueryBenchmarkReport& report);
std::string to_table(const QueryBenchmarkReport& report);

}  // namespace diptych::workloads
