#include "workloads/isolation.h"

#include <algorithm>

#include "workloads/session.h"

namespace diptych::workloads {
namespace {

using base::Result;

double loss_percent(double alone, double together) {
  if (!(alone > 0)) return kNotMeasured;
  return 100 * (alone - together) / alone;
}

}  // namespace

Result<IsolationReport> run_isolation(const IsolationOptions& options, const StopFlag& stop,
                                      const Progress& progress) {
  const auto has_client = [](const std::vector<uint32_t>& counts) {
    return std::any_of(counts.begin(), counts.end(), [](uint32_t count) { return count > 0; });
  };
  if (options.transaction_clients.empty() || options.query_clients.empty() ||
      !(has_client(options.transaction_clients) || has_client(options.query_clients))) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "the grid needs at least one cell with a client");
  }
  BenchmarkOptions cell;
  cell.warehouses = options.warehouses;
  cell.warmup_seconds = options.warmup_seconds;
  cell.seconds = options.seconds;
  cell.queries = options.queries;
  cell.size = SizePolicy::kConstant;
  cell.placement = options.placement;
  cell.seed = options.seed;
  for (const uint32_t clients : options.transaction_clients) {
    cell.transaction_clients = std::max(cell.transaction_clients, clients);
  }
  if (auto checked = cell.check_times(); !checked) return checked.error();
  auto session = Session::open(cell, stop, progress);
  if (!session) return session.error();
  IsolationReport report;
  report.options = options;
  // Queries alone come last, over rows that transactions have changed, as all others do: a loss is
  // what both sides cost each other, and not what changed rows cost.
  std::vector<uint32_t> rows = options.transaction_clients;
  std::stable_partition(rows.begin(), rows.end(), [](uint32_t clients) { return clients != 0; });
  for (const uint32_t transactions : rows) {
    for (const uint32_t queries : options.query_clients) {
      if (transactions == 0 && queries == 0) continue;
      if (stopped(stop)) {
        report.interrupted = true;
        break;
      }
      cell.transaction_clients = transactions;
      cell.query_clients = queries;
      ++cell.seed;
      auto measured = (*session)->measure(cell, stop, progress);
      if (!measured) return measured.error();
      report.interrupted = measured->interrupted;
      if (measured->measured_seconds > 0 || measured->calls_failed > 0) {
        report.cells.push_back(std::move(*measured));
      }
    }
  }
  const auto row_of = [&](const BenchmarkReport& measured) {
    return std::find(options.transaction_clients.begin(), options.transaction_clients.end(),
                     measured.options.transaction_clients);
  };
  std::stable_sort(report.cells.begin(), report.cells.end(),
                   [&](const auto& a, const auto& b) { return row_of(a) < row_of(b); });
  report.checks = (*session)->finish(stop, progress);
  return report;
}

bool IsolationReport::clean() const {
  return !cells.empty() && calls_failed() == 0 && checks.found_nothing(true);
}

uint64_t IsolationReport::calls_failed() const {
  uint64_t failed = 0;
  for (const BenchmarkReport& cell : cells) failed += cell.calls_failed;
  return failed;
}

double IsolationReport::transaction_loss_percent(const BenchmarkReport& of) const {
  const BenchmarkReport* const alone = cell(of.options.transaction_clients, 0);
  return loss_percent(alone == nullptr ? 0 : alone->transactions_per_second,
                      of.transactions_per_second);
}

double IsolationReport::query_loss_percent(const BenchmarkReport& of) const {
  const BenchmarkReport* const alone = cell(0, of.options.query_clients);
  return loss_percent(alone == nullptr ? 0 : alone->queries_per_second, of.queries_per_second);
}

const BenchmarkReport* IsolationReport::cell(uint32_t transaction_clients,
                                             uint32_t query_clients) const {
  for (const BenchmarkReport& report : cells) {
    if (report.options.transaction_clients == transaction_clients &&
        report.options.query_clients == query_clients) {
      return &report;
    }
  }
  return nullptr;
}

}  // namespace diptych::workloads
