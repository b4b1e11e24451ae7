#include "workloads/overload.h"

#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "workloads/drivers/open_loop_driver.h"
#include "workloads/measurement.h"
#include "workloads/session.h"

namespace diptych::workloads {
namespace {

SessionOptions session_options(const OverloadOptions& options) {
  SessionOptions out;
  out.warehouses = options.warehouses;
  out.placement = options.placement;
  out.isolation = options.isolation;
  out.keep_path = options.keep_path;
  out.log = options.log;
  out.queue_requests = options.queue_requests;
  out.size = SizePolicy::kConstant;  // so that all loads meet the same data
  out.seed = options.seed;
  return out;
}

class Loads {
 public:
  Loads(Session* session, const OverloadOptions& options, const StopFlag& stop,
        const Progress& progress)
      : session_(session), options_(options), stop_(stop), progress_(progress) {
    report_.options = options;
  }

  OverloadReport run() {
    report_.limit = measure(0, 0);
    const bool found = report_.limit.answered_per_second > 0;
    if (!found && report_.error.empty() && !stopped(stop_)) {
      ++report_.calls_failed;
      report_.error = "none was answered while the limit was looked for: measure for longer";
    }
    for (const double load : options_.loads) {
      if (!found || stopped(stop_)) break;
      const OverloadCell cell = measure(load, load * report_.limit.answered_per_second);
      if (!std::isnan(cell.answered_per_second)) report_.cells.push_back(cell);
    }
    report_.interrupted = stopped(stop_);
    report_.checks = session_->finish(stop_, progress_);
    return report_;
  }

 private:
  // Load 0 looks for the limit: what is answered if no call has to be in time. NaN where it was
  // stopped before it measured.
  OverloadCell measure(double load, double calls_per_second) {
    const double timeout_ms = load == 0 ? 0 : options_.timeout_ms;
    PhaseSwitch phase;
    OpenLoopDriver driver(session_->database(), session_->procedures(),
                          {.calls_per_second = calls_per_second,
                           .queue_requests = options_.queue_requests,
                           .timeout_ns = static_cast<uint64_t>(timeout_ms * 1e6),
                           .warehouses = static_cast<int32_t>(options_.warehouses),
                           .seed = options_.seed + report_.cells.size()},
                          &phase);
    driver.start();
    wait_seconds(options_.warmup_seconds, "warming up", stop_, progress_);
    const bool stopped_too_early = stopped(stop_);
    if (!stopped_too_early) phase.set(Phase::kMeasure);
    const uint64_t begin_ns = base::steady_ns();
    const std::string what =
        load == 0 ? "looking for the limit" : fmt::format("offering {} of the limit", load);
    wait_seconds(options_.seconds, what.c_str(), stop_, progress_);
    phase.set(Phase::kCooldown);
    const double seconds =
        stopped_too_early ? kNotMeasured : static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
    phase.set(Phase::kStop);
    driver.join();
    const OpenLoopStatistics& counted = driver.statistics();
    report_.calls_failed += counted.failed;
    if (report_.error.empty()) report_.error = counted.error;
    return {.load = load,
            .offered_per_second = static_cast<double>(counted.offered) / seconds,
            .answered_per_second = static_cast<double>(counted.answered) / seconds,
            .refused_per_second = static_cast<double>(counted.refused) / seconds,
            .expired_per_second = static_cast<double>(counted.expired) / seconds,
            .latency_ms = milliseconds(counted.latency_ns)};
  }

  Session* session_;
  const OverloadOptions& options_;
  const StopFlag& stop_;
  const Progress& progress_;
  OverloadReport report_;
};

}  // namespace

double OverloadReport::p50_ratio() const {
  return cells.empty() ? kNotMeasured : cells.back().latency_ms.p50 / limit.latency_ms.p50;
}

double OverloadReport::p99_ratio() const {
  return cells.empty() ? kNotMeasured : cells.back().latency_ms.p99 / limit.latency_ms.p99;
}

base::Result<OverloadReport> run_overload(const OverloadOptions& options, const StopFlag& stop,
                                          const Progress& progress) {
  auto session = Session::open(session_options(options), stop, progress);
  if (!session) return session.error();
  return Loads(session->get(), options, stop, progress).run();
}

}  // namespace diptych::workloads
