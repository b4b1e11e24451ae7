#include "workloads/measurement.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "workloads/drivers/query_driver.h"
#include "workloads/drivers/transaction_driver.h"
#include "workloads/session.h"

namespace diptych::workloads {

void wait_seconds(double seconds, const char* what, const StopFlag& stop,
                  const Progress& progress) {
  constexpr double kTickSeconds = 0.1;
  const uint64_t begin = base::steady_ns();
  while (!stopped(stop)) {
    const double passed = static_cast<double>(base::steady_ns() - begin) * 1e-9;
    if (passed >= seconds) return;
    progress(what, passed / seconds);
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::min(kTickSeconds, seconds - passed)));
  }
}

Latency milliseconds(const dispatcher::Histogram& nanoseconds) {
  const auto quantile = [&](double q) {
    return static_cast<double>(nanoseconds.quantile(q)) * 1e-6;
  };
  Latency latency;
  latency.count = nanoseconds.count();
  if (latency.count == 0) return latency;
  latency.mean = nanoseconds.mean() * 1e-6;
  latency.p50 = quantile(0.5);
  latency.p90 = quantile(0.9);
  latency.p99 = quantile(0.99);
  latency.p999 = quantile(0.999);
  // Not max(): of a difference of two histograms that is the older one's too.
  latency.max = quantile(1.0);
  return latency;
}

namespace {

using dispatcher::Histogram;
using dispatcher::Metrics;

TypeReport type_report(const CallStatistics& statistics) {
  return {statistics.completed, statistics.aborted, statistics.failed,
          statistics.conflicts, statistics.error,   milliseconds(statistics.latency_ns)};
}

// What is read at the beginning and at the end of the measured time.
struct Reading {
  uint64_t at_ns;
  Metrics metrics;
  uint64_t clients_cpu_ns;
};

void fill_engine(const Reading& before, const Reading& after, BenchmarkReport* report) {
  const double nanoseconds = static_cast<double>(after.at_ns - before.at_ns);
  const double seconds = nanoseconds * 1e-9;
  const Metrics& old = before.metrics;
  const Metrics& now = after.metrics;
  const auto percent = [&](uint64_t earlier, uint64_t later) {
    return 100 * static_cast<double>(later - earlier) / nanoseconds;
  };
  report->measured_seconds = seconds;
  if (report->options.transaction_clients > 0) {
    report->aborts_per_second = static_cast<double>(now.conflicts - old.conflicts) / seconds;
  }
  report->freshness_ms = milliseconds(now.freshness_ns.since(old.freshness_ns));
  report->wait_apply_ms = milliseconds(now.wait_apply_ns.since(old.wait_apply_ns));
  report->apply_ms = milliseconds(now.apply_ns.since(old.apply_ns));
  report->compaction_ms = milliseconds(now.compact_ns.since(old.compact_ns));
  report->updates_applied_per_second =
      static_cast<double>(now.updates_applied - old.updates_applied) / seconds;
  report->oltp_cpu_percent = percent(old.oltp_cpu_ns, now.oltp_cpu_ns);
  report->olap_cpu_percent = percent(old.olap_cpu_ns, now.olap_cpu_ns);
  report->clients_cpu_percent = percent(before.clients_cpu_ns, after.clients_cpu_ns);
}

void fill_transactions(const TransactionDriver& driver, BenchmarkReport* report) {
  Histogram all;
  uint64_t ended = 0;
  for (size_t i = 0; i < tpcc::kTransactionTypes; ++i) {
    const CallStatistics& statistics = driver.statistics()[i];
    const auto name = tpcc::transaction_name(static_cast<tpcc::TransactionType>(i));
    report->transactions[std::string(name)] = type_report(statistics);
    all.merge(statistics.latency_ns);
    ended += statistics.completed + statistics.aborted;
    report->calls_failed += statistics.failed;
  }
  report->transaction_latency_ms = milliseconds(all);
  if (report->options.transaction_clients > 0 && report->measured_seconds > 0) {
    report->transactions_per_second = static_cast<double>(ended) / report->measured_seconds;
  }
}

void fill_queries(const QueryDriver& driver, BenchmarkReport* report) {
  Histogram all;
  uint64_t completed = 0;
  for (size_t i = 0; i < driver.queries().size(); ++i) {
    const CallStatistics& statistics = driver.statistics()[i];
    report->queries[driver.queries()[i].name] = type_report(statistics);
    all.merge(statistics.latency_ns);
    completed += statistics.completed;
    report->calls_failed += statistics.failed;
  }
  report->query_latency_ms = milliseconds(all);
  if (report->options.query_clients > 0 && report->measured_seconds > 0) {
    report->queries_per_second = static_cast<double>(completed) / report->measured_seconds;
  }
}

}  // namespace

base::Result<BenchmarkReport> Session::measure(const BenchmarkOptions& options,
                                               const StopFlag& stop, const Progress& progress) {
  PhaseSwitch phase;
  TransactionDriver transactions(database_.get(), procedures_, options.transaction_clients,
                                 static_cast<int32_t>(options.warehouses), options.seed, &phase);
  QueryDriver queries(database_.get(), queries_, options.query_clients, options.seed + 1, &phase);
  const auto read = [&]() -> Reading {
    return {base::steady_ns(), database_->metrics(), transactions.cpu_ns() + queries.cpu_ns()};
  };
  transactions.start();
  queries.start();
  wait_seconds(options.warmup_seconds, "warming up", stop, progress);
  const bool stopped_too_early = stopped(stop);
  const Reading before = read();
  if (!stopped_too_early) phase.set(Phase::kMeasure);
  wait_seconds(options.seconds, "measuring", stop, progress);
  phase.set(Phase::kCooldown);
  const Reading after = read();
  const bool interrupted = stopped(stop);
  wait_seconds(options.cooldown_seconds, "cooling down", stop, progress);
  phase.set(Phase::kStop);
  progress("waiting for the last calls", -1);
  transactions.join();
  queries.join();

  BenchmarkReport report;
  report.options = options;
  report.interrupted = interrupted;
  report.load_seconds = load_seconds_;
  report.placement = database_->placement().to_string();
  report.unsupported_queries = unsupported_;
  if (!stopped_too_early) fill_engine(before, after, &report);
  fill_transactions(transactions, &report);
  fill_queries(queries, &report);
  report_size(&report);
  return report;
}

}  // namespace diptych::workloads
