#include "workloads/benchmark.h"

#include "workloads/session.h"

namespace diptych::workloads {

using base::Result;

Result<void> BenchmarkOptions::check_times() const {
  const auto wrong = [](const char* what) {
    return base::Error(base::ErrorCode::kInvalidArgument, what);
  };
  if (!(seconds > 0)) return wrong("seconds: must be more than 0");
  if (!(warmup_seconds >= 0 && cooldown_seconds >= 0)) {
    return wrong("warm-up and cool-down: must not be negative");
  }
  return {};
}

Result<BenchmarkReport> run_benchmark(const BenchmarkOptions& options, const StopFlag& stop,
                                      const Progress& progress) {
  if (options.transaction_clients == 0 && options.query_clients == 0) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "a run needs at least one transaction or query client");
  }
  if (auto checked = options.check_times(); !checked) return checked.error();
  auto session = Session::open(options, stop, progress);
  if (!session) return session.error();
  auto report = (*session)->measure(options, stop, progress);
  if (!report) return report.error();
  report->checks = (*session)->finish(stop, progress);
  return report;
}

bool BenchmarkReport::clean() const {
  return measured_seconds > 0 && calls_failed == 0 && checks.found_nothing(options.export_updates);
}

}  // namespace diptych::workloads
