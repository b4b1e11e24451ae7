#include "workloads/query_benchmark.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/topology.h"
#include "workloads/drivers/query_driver.h"
#include "workloads/measurement.h"
#include "workloads/session.h"

namespace diptych::workloads {
namespace {

using base::Result;

constexpr double kMilliseconds = 1e-6;  // in a nanosecond

// Of values in ascending order: the one that the share q of them does not exceed; of two in the
// middle, the mean.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Latency exact_latency(std::vector<double> values) {
  Latency out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  out.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  out.p50 = quantile(values, 0.5);
  out.p90 = quantile(values, 0.9);
  out.p99 = quantile(values, 0.99);
  out.p999 = quantile(values, 0.999);
  out.max = values.back();
  return out;
}

class QueriesAlone {
 public:
  QueriesAlone(Session* session, const QueryBenchmarkOptions& options)
      : session_(*session), options_(options) {}

  // Sets `interrupted` if it was stopped; a round that was begun is then not counted for the
  // queries that it did not reach, and stopped in the round that warms up, nothing is measured.
  QueryCell run(const StopFlag& stop, const Progress& progress, bool* interrupted) {
    progress("warming up", -1);
    run_round(nullptr, stop);
    *interrupted = stopped(stop);
    if (*interrupted) return {};
    std::map<std::string, std::vector<double>> times;
    const uint64_t begin = base::steady_ns();
    double seconds = 0;
    for (uint32_t round = 0; round < kQueryRoundsMin || seconds < options_.seconds; ++round) {
      progress("measuring each query alone", std::min(1.0, seconds / options_.seconds));
      run_round(&times, stop);
      seconds = static_cast<double>(base::steady_ns() - begin) * 1e-9;
      *interrupted = stopped(stop);
      if (*interrupted) break;
    }
    cell_.measured_seconds = seconds;
    cell_.queries_in_all = session_.queries().size();
    std::vector<double> all;
    for (auto& [name, values] : times) {
      all.insert(all.end(), values.begin(), values.end());
      cell_.queries[name] = exact_latency(std::move(values));
    }
    if (!all.empty()) cell_.queries_per_second = static_cast<double>(all.size()) / seconds;
    cell_.latency_ms = exact_latency(std::move(all));
    return std::move(cell_);
  }

 private:
  void run_round(std::map<std::string, std::vector<double>>* times, const StopFlag& stop) {
    for (const NamedQuery& query : session_.queries()) {
      if (stopped(stop)) return;
      const uint64_t begin = base::steady_ns();
      const auto result = session_.database()->query(query.text);
      const uint64_t spent = base::steady_ns() - begin;
      if (!result) {
        ++cell_.failed;
        cell_.errors.try_emplace(query.name, result.error().to_string());
      } else if (times != nullptr) {
        (*times)[query.name].push_back(static_cast<double>(spent) * kMilliseconds);
      }
    }
  }

  Session& session_;
  const QueryBenchmarkOptions& options_;
  QueryCell cell_;
};

class QueryLoop {
 public:
  QueryLoop(Session* session, uint32_t clients, uint64_t seed)
      : driver_(session->database(), session->queries(), clients, seed, &phase_),
        clients_(clients) {}

  // From the first call until the last one has been answered, so that all that was counted was done
  // in this time, however long an answer takes. A stop ends it with the calls in flight.
  QueryCell run(double seconds, const char* what, const StopFlag& stop, const Progress& progress) {
    const uint64_t begin = base::steady_ns();
    phase_.set(Phase::kMeasure);
    driver_.start();
    wait_seconds(seconds, what, stop, progress);
    phase_.set(Phase::kLastCalls);
    progress("waiting for the last calls", -1);
    driver_.join();
    return cell(static_cast<double>(base::steady_ns() - begin) * 1e-9);
  }

 private:
  QueryCell cell(double seconds) const {
    QueryCell out;
    out.clients = clients_;
    out.measured_seconds = seconds;
    out.queries_in_all = driver_.queries().size();
    dispatcher::Histogram all;
    for (size_t i = 0; i < driver_.queries().size(); ++i) {
      const CallStatistics& statistics = driver_.statistics()[i];
      const std::string& name = driver_.queries()[i].name;
      if (statistics.completed > 0) out.queries[name] = milliseconds(statistics.latency_ns);
      if (!statistics.error.empty()) out.errors[name] = statistics.error;
      out.failed += statistics.failed;
      all.merge(statistics.latency_ns);
    }
    out.latency_ms = milliseconds(all);
    if (all.count() > 0) out.queries_per_second = static_cast<double>(all.count()) / seconds;
    return out;
  }

  PhaseSwitch phase_;
  QueryDriver driver_;
  uint32_t clients_;
};

SessionOptions session_options(const QueryBenchmarkOptions& options) {
  SessionOptions out;
  out.warehouses = options.warehouses;
  out.transaction_clients = 0;
  for (const uint32_t clients : options.clients) {
    out.query_clients = std::max(out.query_clients, clients);
  }
  out.query_clients = std::max(out.query_clients, 1U);
  out.queries = options.queries;
  out.placement = options.placement;
  if (out.placement.olap_cores.empty() && out.placement.olap_threads != 0) {
    out.placement.olap_cores =
        base::cores_for_queries(base::Topology::detect(), out.placement.olap_threads);
  }
  out.seed = options.seed;
  out.keep_path = options.keep_path;
  return out;
}

void measure_cells(Session* session, const StopFlag& stop, const Progress& progress,
                   QueryBenchmarkReport* report) {
  const QueryBenchmarkOptions& options = report->options;
  if (options.alone()) {
    QueryCell cell = QueriesAlone(session, options).run(stop, progress, &report->interrupted);
    if (cell.measured_seconds > 0) report->cells.push_back(std::move(cell));
    return;
  }
  std::vector<uint32_t> clients = options.clients;
  if (clients.empty()) clients.push_back(1);
  uint64_t seed = options.seed;
  if (options.warmup_seconds > 0) {
    QueryLoop(session, 1, seed).run(options.warmup_seconds, "warming up", stop, progress);
  }
  for (const uint32_t count : clients) {
    if (stopped(stop)) break;
    report->cells.push_back(
        QueryLoop(session, count, ++seed).run(options.seconds, "measuring", stop, progress));
  }
  report->interrupted = stopped(stop);
}

Result<void> age_and_measure(Session* session, const StopFlag& stop, const Progress& progress,
                             QueryBenchmarkReport* report) {
  if (report->options.aged) {
    const QueryBenchmarkOptions& options = report->options;
    auto aged =
        age(session, options.warehouses, options.seed, stop, progress, options.aging_growth);
    if (!aged) return aged.error();
    report->aging = *aged;
  }
  measure_cells(session, stop, progress, report);
  return {};
}

Result<void> check_options(const QueryBenchmarkOptions& options) {
  const bool none =
      std::find(options.clients.begin(), options.clients.end(), 0U) != options.clients.end();
  if (!none) return {};
  return base::Error(base::ErrorCode::kInvalidArgument, "clients: at least 1");
}

}  // namespace

double QueryCell::geometric_mean_ms(const std::string& without) const {
  if (queries.size() < queries_in_all) return kNotMeasured;
  double logarithms = 0;
  double count = 0;
  for (const auto& [name, latency] : queries) {
    if (name == without) continue;
    logarithms += std::log(latency.p50);
    ++count;
  }
  return count > 0 && errors.empty() ? std::exp(logarithms / count) : kNotMeasured;
}

bool QueryBenchmarkReport::clean() const {
  const size_t queries = catalog(options.queries).size();
  const bool measured = std::all_of(cells.begin(), cells.end(), [&](const QueryCell& cell) {
    return cell.failed == 0 && cell.measured_seconds > 0 && !cell.queries.empty() &&
           (interrupted || !options.alone() || cell.queries.size() == queries);
  });
  return !cells.empty() && measured && unsupported_queries.empty() && checks.close_error.empty() &&
         (!aging || checks.found_nothing(true));
}

Result<QueryBenchmarkReport> run_queries(const QueryBenchmarkOptions& options, const StopFlag& stop,
                                         const Progress& progress) {
  if (auto checked = check_options(options); !checked) return checked.error();
  auto session = Session::open(session_options(options), stop, progress);
  if (!session) return session.error();
  QueryBenchmarkReport report;
  report.options = options;
  report.load_seconds = (*session)->load_seconds();
  report.threads = (*session)->database()->placement().olap.threads;
  report.placement = (*session)->database()->placement().to_string();
  report.unsupported_queries = (*session)->unsupported();
  auto measured = age_and_measure(session->get(), stop, progress, &report);
  if (!measured) {
    static_cast<void>((*session)->database()->discard());
    return measured.error();
  }
  if (report.aging) {
    report.checks = (*session)->finish(stop, progress);
  } else {
    report.checks.close_error =
        close_or_discard((*session)->database(), options.keep_path, dispatcher::LogMode::kNone);
  }
  return report;
}

}  // namespace diptych::workloads
