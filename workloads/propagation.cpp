// run_propagation: what applying costs, apart from making.
//
//   load -> { transactions for a round -> all calls ended -> one apply }* -> checks
//
// The database applies when a query asks and, here, at no other time: so the updates of a round
// wait until its transactions have ended, the applying core then runs alone, and memory is bounded
// by a round. One worker makes the updates, one thread applies them: its CPU time is what counts,
// the kernel's for new memory too, but not a host's (free_memory.h).

#include "workloads/propagation.h"

#include <chrono>
#include <thread>

#include "workloads/drivers/transaction_driver.h"
#include "workloads/free_memory.h"
#include "workloads/session.h"

namespace diptych::workloads {
namespace {

using base::Result;
using dispatcher::Metrics;

constexpr std::chrono::milliseconds kTick(1);
constexpr uint64_t kNever = 86'400'000'000'000;  // a day, in nanoseconds
// More than an apply of a round takes anew, but for the largest.
constexpr uint64_t kTouchedBytes = uint64_t{256} << 20;
constexpr const char* kAskForSnapshot = "SELECT r_regionkey FROM region";

SessionOptions session_options(const PropagationOptions& options) {
  SessionOptions out;
  out.warehouses = options.warehouses;
  out.transaction_clients = options.transaction_clients;
  out.size = options.size;
  out.export_mode = options.mode;
  out.blocks = options.blocks;
  out.apply_interval_ns = kNever;
  out.placement.oltp_workers = 1;
  out.placement.olap_threads = 1;
  out.seed = options.seed;
  return out;
}

// Those that were refused, or failed otherwise than by a rollback that was asked for.
uint64_t calls_without_success(const Metrics& metrics) {
  uint64_t calls = 0;
  for (const uint64_t refused : metrics.calls_refused) calls += refused;
  for (const uint64_t failed : metrics.calls_failed) calls += failed;
  return calls - metrics.calls_failed[static_cast<size_t>(base::ErrorCode::kAborted)];
}

// Of all tables together.
struct StepTimes {
  double order = 0, route = 0, lookup = 0, write = 0;
  double sum() const { return order + route + lookup + write; }
};

class Rounds {
 public:
  Rounds(Session* session, const PropagationOptions& options, const StopFlag& stop)
      : session_(*session), options_(options), stop_(stop), begin_(session->database()->metrics()) {
    report_.options = options;
  }

  Result<void> run_one() {
    const uint64_t vid = session_.database()->metrics().last_vid.value;
    make_updates();
    touch_free_memory(kTouchedBytes);
    const Metrics before = session_.database()->metrics();
    if (auto asked = session_.database()->query(kAskForSnapshot); !asked) return asked.error();
    const Metrics after = session_.database()->metrics();
    ++report_.rounds;
    report_.transactions += before.last_vid.value - vid;
    report_.updates += after.updates_applied - before.updates_applied;
    report_.apply_cpu_seconds +=
        static_cast<double>(after.apply_cpu_ns - before.apply_cpu_ns) * 1e-9;
    report_.compact_cpu_seconds +=
        static_cast<double>(after.compact_cpu_ns - before.compact_cpu_ns) * 1e-9;
    return {};
  }

  uint64_t transactions() const { return report_.transactions; }
  uint64_t calls_failed() const { return report_.calls_failed; }

  PropagationReport report() {
    const Metrics end = session_.database()->metrics();
    StepTimes all;
    std::map<std::string, double> times;
    for (const base::TableSchema& table : session_.database()->catalog().tables()) {
      const auto& now = end.apply_steps[table.id.value];
      const auto& old = begin_.apply_steps[table.id.value];
      StepTimes own;
      own.order = static_cast<double>(now.order_ns - old.order_ns);
      own.route = static_cast<double>(now.route_ns - old.route_ns);
      const auto apply = static_cast<double>(now.apply_ns - old.apply_ns);
      own.lookup = apply * now.lookup_share();
      own.write = apply - own.lookup;
      all.order += own.order;
      all.route += own.route;
      all.lookup += own.lookup;
      all.write += own.write;
      report_.tables[table.name].updates = now.changes - old.changes;
      times[table.name] = own.sum();
    }
    for (const auto& [name, time] : times) report_.tables[name].time = time / all.sum();
    report_.order = all.order / all.sum();
    report_.route = all.route / all.sum();
    report_.index_lookup = all.lookup / all.sum();
    report_.write = all.write / all.sum();
    report_.apply = report_.index_lookup + report_.write;
    report_.olap_bytes_loaded = begin_.olap_memory_bytes;
    report_.olap_bytes = end.olap_memory_bytes;
    return report_;
  }

 private:
  void make_updates() {
    PhaseSwitch phase;
    TransactionDriver driver(
        session_.database(), session_.procedures(), options_.transaction_clients,
        static_cast<int32_t>(options_.warehouses), options_.seed + report_.rounds, &phase);
    const uint64_t end =
        session_.database()->metrics().last_vid.value + options_.round_transactions;
    const uint64_t failed = calls_without_success(session_.database()->metrics());
    driver.start();
    // Else it may be that no client is left, or that none of their calls will ever succeed.
    const auto goes_well = [&](const Metrics& metrics) {
      return metrics.last_vid.value < end && calls_without_success(metrics) == failed;
    };
    while (!stopped(stop_) && goes_well(session_.database()->metrics())) {
      std::this_thread::sleep_for(kTick);
    }
    phase.set(Phase::kStop);
    driver.join();
    for (const CallStatistics& statistics : driver.statistics()) {
      report_.calls_failed += statistics.failed;
    }
  }

  Session& session_;
  const PropagationOptions& options_;
  const StopFlag& stop_;
  const Metrics begin_;
  PropagationReport report_;
};

}  // namespace

Result<PropagationReport> run_propagation(const PropagationOptions& options, const StopFlag& stop,
                                          const Progress& progress) {
  if (options.transactions == 0 || options.round_transactions == 0 ||
      options.transaction_clients == 0) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "a run needs transactions, rounds of some, and a client");
  }
  auto session = Session::open(session_options(options), stop, progress);
  if (!session) return session.error();
  Rounds rounds(session->get(), options, stop);
  bool interrupted = false;
  while (rounds.transactions() < options.transactions && rounds.calls_failed() == 0) {
    interrupted = stopped(stop);
    if (interrupted) break;
    progress("making and applying updates", static_cast<double>(rounds.transactions()) /
                                                static_cast<double>(options.transactions));
    if (auto ran = rounds.run_one(); !ran) return ran.error();
  }
  PropagationReport report = rounds.report();
  report.interrupted = interrupted;
  report.checks = (*session)->finish(stop, progress);
  return report;
}

double PropagationReport::transactions_per_second() const {
  return static_cast<double>(transactions) / apply_cpu_seconds;
}

double PropagationReport::updates_per_second() const {
  return static_cast<double>(updates) / apply_cpu_seconds;
}

bool PropagationReport::clean() const {
  return rounds > 0 && calls_failed == 0 && checks.found_nothing(true);
}

}  // namespace diptych::workloads
