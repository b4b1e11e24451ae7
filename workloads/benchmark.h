// Benchmarks: TPC-C, the hybrid CH-benCHmark, the isolation grid, and propagation on its own, as
// the program runs them.
//
// One run: make a database in memory, load it, start closed-loop clients of both sides, warm up,
// measure, cool down, stop, then check: TPC-C's consistency conditions on both replicas, and every
// row of every table between the replicas.
//
// Threads    a run uses the calling thread as its conductor; `stop` may be set from a signal
//            handler or another thread. Set while it loads, the run fails with kCancelled and
//            leaves nothing on disk. Set before the checks, the run ends early, checks all the
//            same, and reports what was measured so far (interrupted = true). Set during the
//            checks, those that are left are not made. `progress` is called by one thread at a
//            time, not always the same.
// Figures    NaN where nothing was measured: a side without clients, a run stopped in its warm-up.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topology.h"
#include "dispatcher/database.h"

namespace diptych::workloads {

enum class QuerySet : uint8_t {
  kCh,         // the 22 CH-benCHmark queries, in turn; those not supported yet are listed
  kTemplates,  // the 14 templates of BatchDB's appendix, with random parameters
  kGrouped,    // the same, each with a GROUP BY
};
// kConstant: New-Order deletes an old order, and so on (workloads/README.md).
enum class SizePolicy : uint8_t { kGrowing, kConstant };

// Of a run; clients of each side.
inline constexpr uint32_t kWarehousesMax = 100'000;
inline constexpr uint32_t kClientsMax = 100'000;
static_assert(kClientsMax <= dispatcher::kQueueMax, "each may have one call admitted");

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
  dispatcher::ExportMode export_mode = dispatcher::ExportMode::kColumns;
  dispatcher::BlockForm blocks = dispatcher::BlockForm::kCompressed;
  uint64_t apply_interval_ns = 0;  // 0: the database's default
  uint64_t push_limit_ns = 0;      // 0: the database's default
  uint32_t queue_requests = 0;     // 0: the database's default, or as many as clients
  dispatcher::IsolationLevel isolation = dispatcher::IsolationLevel::kSnapshot;
  base::PlacementOptions placement;
  uint64_t seed = 42;
  dispatcher::LogMode log = dispatcher::LogMode::kNone;  // of a database that is kept
  uint64_t checkpoint_log_bytes = uint64_t{1} << 30;     // likewise: a checkpoint after so much
  double checkpoint_seconds = 0;                         // likewise, and after so long; 0: never
  double checkpoint_mib_per_second = 0;                  // 0: the database's default
  std::string keep_path;  // a new directory where the database is kept; empty: in memory only
};

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct Latency {  // milliseconds
  uint64_t count = 0;
  double mean = kNotMeasured, p50 = kNotMeasured, p90 = kNotMeasured, p99 = kNotMeasured,
         p999 = kNotMeasured, max = kNotMeasured;
};

struct TypeReport {  // of one transaction type or query
  uint64_t completed = 0;
  uint64_t aborted = 0;  // rolled back by the procedure (New-Order's 1 %)
  uint64_t failed = 0;   // any other error, at any time; the first one's text is in `error`
  uint64_t conflicts = 0;
  std::string error;
  Latency latency_ms;
};

// What was found after the last call. A check that was begun and could not be made counts as one
// that found something.
struct Checks {
  std::optional<uint64_t> consistency_violations;  // conditions false, over both replicas;
                                                   // none: not all were checked
  std::vector<std::string> violations;             // in words, at most 20
  std::optional<uint64_t> replica_differences;     // none: not compared
  std::vector<std::string> differences;            // in words, at most 20
  std::string close_error;                         // why the database could not be closed and saved

  bool found_nothing(bool exported) const;  // and every check was made
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

// Called now and then: what is being done, and how far (0 to 1; negative: unknown).
using Progress = std::function<void(const std::string& what, double done)>;
using StopFlag = std::atomic<bool>;
inline bool stopped(const StopFlag& stop) {
  // relaxed: a flag on its own, nothing is read behind it.
  return stop.load(std::memory_order_relaxed);
}

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
  // One report per cell with any client that was measured, row by row of transaction_clients.
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

// JSON with the keys that scripts rely on, and tables for a person.
std::string to_json(const BenchmarkReport& report);
std::string to_json(const IsolationReport& report);
std::string to_json(const PropagationReport& report);
std::string to_table(const BenchmarkReport& report);
std::string to_table(const IsolationReport& report);
std::string to_table(const PropagationReport& report);

}  // namespace diptych::workloads
