// to_table: the reports for a person.

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "workloads/benchmark.h"
#include "workloads/reports/machine.h"

namespace diptych::workloads {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

void latency_line(std::string_view what, const Latency& latency, std::string* out) {
  *out += fmt::format("  {:<26}{:>10}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}\n",
                      what, latency.count, latency.mean, latency.p50, latency.p90, latency.p99,
                      latency.p999, latency.max);
}

void type_lines(std::string_view title, const std::map<std::string, TypeReport>& types,
                std::string* out) {
  if (types.empty()) return;
  *out += fmt::format("\n  {:<14}{:>10}{:>9}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", title,
                      "completed", "aborted", "failed", "conflicts", "p50 ms", "p90 ms", "p99 ms",
                      "p99.9 ms", "max ms");
  for (const auto& [name, type] : types) {
    const Latency& latency = type.latency_ms;
    *out +=
        fmt::format("  {:<14}{:>10}{:>9}{:>8}{:>10}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}\n",
                    name, type.completed, type.aborted, type.failed, type.conflicts, latency.p50,
                    latency.p90, latency.p99, latency.p999, latency.max);
    if (!type.error.empty()) *out += fmt::format("    first failure: {}\n", type.error);
  }
}

void check_lines(uint64_t violations, const std::vector<std::string>& violation_words,
                 uint64_t differences, const std::vector<std::string>& difference_words,
                 bool exported, std::string* out) {
  *out += fmt::format("\n  Consistency conditions violated  {}{}\n", violations,
                      exported ? " (twelve on each replica)" : " (twelve, on the OLTP replica)");
  for (const std::string& words : violation_words) *out += fmt::format("    {}\n", words);
  if (exported) {
    *out += fmt::format("  Rows that differ between replicas  {}\n", differences);
  } else {
    *out += "  Replicas not compared: updates were not exported\n";
  }
  for (const std::string& words : difference_words) *out += fmt::format("    {}\n", words);
}

void unsupported_lines(const std::map<std::string, std::string>& unsupported, std::string* out) {
  if (unsupported.empty()) return;
  *out += "\n  Queries that are not supported yet and did not run:\n";
  for (const auto& [name, why] : unsupported) *out += fmt::format("    {}  {}\n", name, why);
}

std::string percent(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f}", value) : std::string("-");
}

}  // namespace

std::string to_table(const BenchmarkReport& report) {
  const BenchmarkOptions& options = report.options;
  std::string out = fmt::format(
      "{} warehouses, {} transaction clients, {} query clients, {:.1f} s measured{}, loaded in "
      "{:.1f} s, seed {}, commit {}\n",
      options.warehouses, options.transaction_clients, options.query_clients,
      report.measured_seconds, report.interrupted ? " (interrupted)" : "", report.load_seconds,
      options.seed, build_commit());
  out += report.placement;
  if (!out.ends_with('\n')) out += '\n';
  out += fmt::format("\n  Transactions per second    {:>12.0f}\n", report.transactions_per_second);
  out += fmt::format("  Queries per second         {:>12.2f}\n", report.queries_per_second);
  out += fmt::format("  Conflicts per second       {:>12.1f}  (runs that were repeated)\n",
                     report.aborts_per_second);
  out += fmt::format("  Updates applied per second {:>12.0f}\n", report.updates_applied_per_second);
  out += fmt::format("  CPU, percent of one core   OLTP {:.0f}, OLAP {:.0f}, clients {:.0f}\n",
                     report.oltp_cpu_percent, report.olap_cpu_percent, report.clients_cpu_percent);
  out += fmt::format("  Memory, MiB                OLTP {:.0f}, OLAP {:.0f}\n",
                     static_cast<double>(report.oltp_bytes) / kMebibyte,
                     static_cast<double>(report.olap_bytes) / kMebibyte);
  out += fmt::format("\n  {:<26}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "Milliseconds",
                     "count", "mean", "p50", "p90", "p99", "p99.9", "max");
  latency_line("Transaction latency", report.transaction_latency_ms, &out);
  latency_line("Query latency", report.query_latency_ms, &out);
  latency_line("Freshness", report.freshness_ms, &out);
  latency_line("Query wait and apply", report.wait_apply_ms, &out);
  latency_line("Apply", report.apply_ms, &out);
  if (options.transaction_clients > 0) type_lines("Transaction", report.transactions, &out);
  if (options.query_clients > 0) type_lines("Query", report.queries, &out);
  if (options.query_clients > 0) unsupported_lines(report.unsupported_queries, &out);
  if (!report.table_rows.empty()) {
    out += "\n  Rows:";
    for (const auto& [table, rows] : report.table_rows) out += fmt::format(" {} {}", table, rows);
    out += '\n';
  }
  check_lines(report.consistency_violations, report.violations, report.replica_differences,
              report.differences, options.export_updates, &out);
  return out;
}

std::string to_table(const IsolationReport& report) {
  std::string out =
      fmt::format("{} warehouses, constant size, seed {}, commit {}{}\n", report.options.warehouses,
                  report.options.seed, build_commit(), report.interrupted ? " (interrupted)" : "");
  if (!report.cells.empty()) out += report.cells.front().placement;
  if (!out.ends_with('\n')) out += '\n';
  out += fmt::format("\n  {:>8}{:>9}{:>12}{:>8}{:>11}{:>11}{:>8}{:>11}{:>11}{:>11}{:>10}\n", "txn",
                     "query", "txn/s", "loss", "txn p99", "queries/s", "loss", "query p50",
                     "query p99", "fresh p99", "apply p99");
  out += fmt::format("  {:>8}{:>9}{:>12}{:>8}{:>11}{:>11}{:>8}{:>11}{:>11}{:>11}{:>10}\n",
                     "clients", "clients", "", "%", "ms", "", "%", "ms", "ms", "ms", "ms");
  for (const BenchmarkReport& cell : report.cells) {
    out += fmt::format(
        "  {:>8}{:>9}{:>12.0f}{:>8}{:>11.3f}{:>11.2f}{:>8}{:>11.2f}{:>11.2f}{:>11.2f}{:>10.2f}\n",
        cell.options.transaction_clients, cell.options.query_clients, cell.transactions_per_second,
        percent(report.transaction_loss_percent(cell)), cell.transaction_latency_ms.p99,
        cell.queries_per_second, percent(report.query_loss_percent(cell)),
        cell.query_latency_ms.p50, cell.query_latency_ms.p99, cell.freshness_ms.p99,
        cell.apply_ms.p99);
  }
  if (!report.cells.empty()) unsupported_lines(report.cells.front().unsupported_queries, &out);
  check_lines(report.consistency_violations, report.violations, report.replica_differences,
              report.differences, true, &out);
  return out;
}

}  // namespace diptych::workloads
