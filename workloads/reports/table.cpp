// to_table: the reports for a person.

#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/counted.h"
#include "workloads/benchmark.h"
#include "workloads/isolation.h"
#include "workloads/overload.h"
#include "workloads/propagation.h"
#include "workloads/query_benchmark.h"
#include "workloads/recovery.h"
#include "workloads/reports/machine.h"
#include "workloads/scan.h"

namespace diptych::workloads {
namespace {

using base::counted;

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kNanoseconds = 1e9;

std::string figure(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string figures(const Latency& latency) {
  std::string out;
  for (const double value : {latency.p50, latency.p90, latency.p99, latency.p999, latency.max}) {
    out += fmt::format("{:>10}", figure(value, 3));
  }
  return out;
}

void latency_line(std::string_view what, const Latency& latency, std::string* out) {
  *out += fmt::format("  {:<26}{:>10}{:>10}{}\n", what, latency.count, figure(latency.mean, 3),
                      figures(latency));
}

void type_lines(std::string_view title, const std::map<std::string, TypeReport>& types,
                std::string* out) {
  if (types.empty()) return;
  *out += fmt::format("\n  {:<14}{:>10}{:>9}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", title,
                      "completed", "aborted", "failed", "conflicts", "p50 ms", "p90 ms", "p99 ms",
                      "p99.9 ms", "max ms");
  for (const auto& [name, type] : types) {
    *out += fmt::format("  {:<14}{:>10}{:>9}{:>8}{:>10}{}\n", name, type.completed, type.aborted,
                        type.failed, type.conflicts, figures(type.latency_ms));
    if (!type.error.empty()) *out += fmt::format("    first failure: {}\n", type.error);
  }
}

std::string count_or_not(const std::optional<uint64_t>& count, std::string_view not_made) {
  return count ? fmt::format("{}", *count) : std::string(not_made);
}

void check_lines(const Checks& checks, bool exported, std::string* out) {
  *out += fmt::format("\n  Consistency conditions violated  {}{}\n",
                      count_or_not(checks.consistency_violations, "not checked"),
                      exported ? " (twelve on each replica)" : " (twelve, on the OLTP replica)");
  for (const std::string& words : checks.violations) *out += fmt::format("    {}\n", words);
  *out += fmt::format(
      "  Rows that differ between replicas  {}\n",
      count_or_not(checks.replica_differences,
                   exported ? "not checked" : "not checked: updates were not exported"));
  for (const std::string& words : checks.differences) *out += fmt::format("    {}\n", words);
  if (!checks.close_error.empty()) {
    *out += fmt::format("  The database could not be closed: {}\n", checks.close_error);
  }
}

void unsupported_lines(const std::map<std::string, std::string>& unsupported, std::string* out) {
  if (unsupported.empty()) return;
  *out += "\n  Queries that are not supported yet and did not run:\n";
  for (const auto& [name, why] : unsupported) *out += fmt::format("    {}  {}\n", name, why);
}

void cell_lines(const QueryCell& cell, std::string* out) {
  *out += fmt::format("\n  {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "Query", "completed", "p50 ms",
                      "p90 ms", "p99 ms", "max ms");
  const auto line = [&](const std::string& name, const Latency& latency) {
    *out += fmt::format("  {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name, latency.count,
                        figure(latency.p50, 3), figure(latency.p90, 3), figure(latency.p99, 3),
                        figure(latency.max, 3));
  };
  for (const auto& [name, latency] : cell.queries) line(name, latency);
  line("all", cell.latency_ms);
  for (const auto& [name, error] : cell.errors) {
    *out += fmt::format("  {} FAILED: {}\n", name, error);
  }
  *out +=
      fmt::format("  Geometric mean of the medians {} ms, without Q05 {} ms\n",
                  figure(cell.geometric_mean_ms(), 3), figure(cell.geometric_mean_ms("Q05"), 3));
  *out += fmt::format("  {}: {} queries per second, {:.1f} s measured\n",
                      counted(cell.clients, "client"), figure(cell.queries_per_second, 2),
                      cell.measured_seconds);
}

void scan_lines(const ColumnScan& scan, std::string* out) {
  constexpr double kGigabyte = 1e9;
  const std::pair<std::string_view, const ColumnScan::Stage*> stages[] = {
      {"frozen", &scan.frozen},
      {"updated", &scan.updated},
      {"extended", &scan.extended},
      {"frozen again", &scan.frozen_again}};
  for (const auto& [name, stage] : stages) {
    std::string forms;
    for (const auto& [form, blocks] : stage->forms.blocks) {
      forms += fmt::format("{}{} {}", forms.empty() ? "" : ", ", form, blocks);
    }
    *out += fmt::format("  {:<36}{:<14}{:<14}{:>14}{:>13}{:>8}{:>10}  {}\n",
                        scan.table + "." + scan.column + " " + scan.predicate, scan.form, name,
                        figure(stage->speed.bytes_per_second / kGigabyte, 1),
                        figure(stage->speed.reference / kGigabyte, 1),
                        figure(stage->speed.share, 2), figure(scan.slowdown(*stage), 2), forms);
  }
}

}  // namespace

std::string to_table(const BenchmarkReport& report) {
  const BenchmarkOptions& options = report.options;
  const bool transactions = options.transaction_clients > 0;
  const bool queries = options.query_clients > 0;
  std::string out =
      fmt::format("{}, {}, {}, {}, {:.1f} s measured{}, loaded in {:.1f} s, seed {}, commit {}\n",
                  counted(options.warehouses, "warehouse"),
                  counted(options.transaction_clients, "transaction client"),
                  counted(options.query_clients, "query client"), to_string(options.isolation),
                  report.measured_seconds, report.interrupted ? " (interrupted)" : "",
                  report.load_seconds, options.seed, build_commit());
  out += report.placement;
  if (!out.ends_with('\n')) out += '\n';
  if (report.measured_seconds == 0) out += "\n  Nothing was measured yet\n";
  out += '\n';
  const auto line = [&](bool shown, std::string_view what, double value, int digits) {
    if (shown) out += fmt::format("  {:<27}{:>12}\n", what, figure(value, digits));
  };
  if (report.calls_failed > 0) {
    out += fmt::format("  CALLS THAT FAILED {:>21}\n", report.calls_failed);
  }
  line(transactions, "Transactions per second", report.transactions_per_second, 0);
  line(queries, "Queries per second", report.queries_per_second, 2);
  if (transactions) {
    out += fmt::format("  Conflicts per second       {:>12}  (runs that were repeated)\n",
                       figure(report.aborts_per_second, 1));
  }
  line(options.export_updates, "Updates applied per second", report.updates_applied_per_second, 0);
  out += fmt::format("  CPU, percent of one core   OLTP {}, OLAP {}, clients {}\n",
                     figure(report.oltp_cpu_percent, 0), figure(report.olap_cpu_percent, 0),
                     figure(report.clients_cpu_percent, 0));
  out += fmt::format("  Memory, MiB                OLTP {:.0f}, OLAP {:.0f}\n",
                     static_cast<double>(report.oltp_bytes) / kMebibyte,
                     static_cast<double>(report.olap_bytes) / kMebibyte);
  out += fmt::format("\n  {:<26}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "Milliseconds",
                     "count", "mean", "p50", "p90", "p99", "p99.9", "max");
  if (transactions) latency_line("Transaction latency", report.transaction_latency_ms, &out);
  if (queries) {
    latency_line("Query latency", report.query_latency_ms, &out);
    latency_line("Freshness", report.freshness_ms, &out);
    latency_line("Query wait and apply", report.wait_apply_ms, &out);
  }
  if (options.export_updates) {
    latency_line("Apply", report.apply_ms, &out);
    latency_line("Compaction, of it", report.compaction_ms, &out);
  }
  if (transactions) type_lines("Transaction", report.transactions, &out);
  if (queries) type_lines("Query", report.queries, &out);
  if (queries) unsupported_lines(report.unsupported_queries, &out);
  if (!report.table_rows.empty()) {
    out += "\n  Rows:";
    for (const auto& [table, rows] : report.table_rows) out += fmt::format(" {} {}", table, rows);
    out += '\n';
  }
  check_lines(report.checks, options.export_updates, &out);
  return out;
}

std::string to_table(const IsolationReport& report) {
  std::string out = fmt::format(
      "{}, constant size, seed {}, commit {}{}\n", counted(report.options.warehouses, "warehouse"),
      report.options.seed, build_commit(), report.interrupted ? " (interrupted)" : "");
  if (!report.cells.empty()) out += report.cells.front().placement;
  if (!out.ends_with('\n')) out += '\n';
  if (report.cells.empty()) out += "\n  Nothing was measured yet\n";
  if (report.calls_failed() > 0) {
    out += fmt::format("\n  CALLS THAT FAILED  {}\n", report.calls_failed());
  }
  constexpr std::string_view kLine =
      "  {:>8}{:>9}{:>12}{:>8}{:>11}{:>11}{:>8}{:>11}{:>11}{:>11}{:>10}\n";
  out += '\n';
  out += fmt::format(kLine, "txn", "query", "txn/s", "loss", "txn p99", "queries/s", "loss",
                     "query p50", "query p99", "fresh p99", "apply p99");
  out += fmt::format(kLine, "clients", "clients", "", "%", "ms", "", "%", "ms", "ms", "ms", "ms");
  for (const BenchmarkReport& cell : report.cells) {
    out += fmt::format(
        kLine, cell.options.transaction_clients, cell.options.query_clients,
        figure(cell.transactions_per_second, 0), figure(report.transaction_loss_percent(cell), 1),
        figure(cell.transaction_latency_ms.p99, 3), figure(cell.queries_per_second, 2),
        figure(report.query_loss_percent(cell), 1), figure(cell.query_latency_ms.p50, 2),
        figure(cell.query_latency_ms.p99, 2), figure(cell.freshness_ms.p99, 2),
        figure(cell.apply_ms.p99, 2));
  }
  if (!report.cells.empty()) unsupported_lines(report.cells.front().unsupported_queries, &out);
  check_lines(report.checks, true, &out);
  return out;
}

std::string to_table(const PropagationReport& report) {
  const PropagationOptions& options = report.options;
  const bool rows = options.mode == dispatcher::ExportMode::kRows;
  std::string out =
      fmt::format("{}, {} exported, {} blocks, {} of {} transactions{}, seed {}, commit {}\n\n",
                  counted(options.warehouses, "warehouse"), rows ? "whole rows" : "changed columns",
                  options.blocks == dispatcher::BlockForm::kPlain ? "plain" : "compressed",
                  counted(report.rounds, "round"), options.round_transactions,
                  report.interrupted ? " (interrupted)" : "", options.seed, build_commit());
  if (report.calls_failed > 0) {
    out += fmt::format("  CALLS THAT FAILED {:>21}\n", report.calls_failed);
  }
  const auto line = [&](std::string_view what, double value, int digits) {
    out += fmt::format("  {:<40}{:>12}\n", what, figure(value, digits));
  };
  line("Transactions applied per second and core", report.transactions_per_second(), 0);
  line("Updates applied per second and core", report.updates_per_second(), 0);
  line("Updates per transaction",
       static_cast<double>(report.updates) / static_cast<double>(report.transactions), 1);
  line("CPU seconds of applying", report.apply_cpu_seconds, 3);
  line("CPU seconds of compaction, beside that", report.compact_cpu_seconds, 3);
  line("For each second of applying", report.compact_seconds_per_apply_second(), 3);
  constexpr double kMegabyte = 1e6;
  line("OLAP memory after loading, MB", static_cast<double>(report.olap_bytes_loaded) / kMegabyte,
       1);
  line("OLAP memory at the end, MB", static_cast<double>(report.olap_bytes) / kMegabyte, 1);
  constexpr double kPercent = 100;
  out += fmt::format(
      "\n  Order {} %, route {} %, apply {} % (of it in the index {} %, in the cells {} %)\n",
      figure(kPercent * report.order, 1), figure(kPercent * report.route, 1),
      figure(kPercent * report.apply, 1), figure(kPercent * report.index_lookup, 1),
      figure(kPercent * report.write, 1));
  out +=
      fmt::format("\n  {:<14}{:>12}{:>10}{:>16}\n", "Table", "updates", "time, %", "ns an update");
  for (const auto& [name, table] : report.tables) {
    if (table.updates == 0) continue;
    const double ns =
        report.apply_cpu_seconds * kNanoseconds * table.time / static_cast<double>(table.updates);
    out += fmt::format("  {:<14}{:>12}{:>10}{:>16}\n", name, table.updates,
                       figure(kPercent * table.time, 1), figure(ns, 1));
  }
  check_lines(report.checks, true, &out);
  return out;
}

std::string to_table(const QueryBenchmarkReport& report) {
  std::string out = fmt::format(
      "{}, {}, {}, loaded in {:.1f} s, seed {}, commit {}{}\n",
      counted(report.options.warehouses, "warehouse"), counted(report.threads, "query thread"),
      report.options.alone() ? "queries alone" : "closed loop", report.load_seconds,
      report.options.seed, build_commit(), report.interrupted ? " (interrupted)" : "");
  out += report.placement;
  if (!out.ends_with('\n')) out += '\n';
  if (report.aging) {
    constexpr double kPercent = 100;
    const AgingReport& aging = *report.aging;
    out += fmt::format(
        "Aged by {} transactions in {:.1f} s: order lines {} -> {}, changed {:.0f} % of stock and "
        "{:.0f} % of customers\n",
        aging.transactions, aging.seconds, aging.order_lines_loaded, aging.order_lines,
        kPercent * aging.stock_changed, kPercent * aging.customers_changed);
  }
  if (report.cells.empty()) out += "\n  Nothing was measured yet\n";
  for (const QueryCell& cell : report.cells) cell_lines(cell, &out);
  unsupported_lines(report.unsupported_queries, &out);
  if (report.aging) check_lines(report.checks, true, &out);
  return out;
}

std::string to_table(const ScanReport& report) {
  constexpr double kGigabyte = 1e9;
  constexpr double kMegabyte = 1e6;
  std::string out = fmt::format(
      "{}, {}, {} a measurement, seed {}, commit {}\n\n",
      counted(report.options.warehouses, "warehouse"), counted(report.threads, "thread"),
      fmt::format("{} s", report.options.seconds), report.options.seed, build_commit());
  if (report.cold) {
    using Speed = scan::ScanSpeed;
    const auto line = [&](std::string_view what, auto Speed::*member, double unit, int digits) {
      const auto value = [&](const Speed& speed) {
        return figure(static_cast<double>(speed.*member) / unit, digits);
      };
      out += fmt::format("  {:<44}{:>12}{:>16}\n", what, value(*report.cold),
                         report.cold_integers ? value(*report.cold_integers) : "");
    };
    out += fmt::format("  {:<44}{:>12}{:>16}\n", "Columns", "all", "4-byte numbers");
    line("Read while scanning, GB/s", &Speed::bytes_per_second, kGigabyte, 3);
    line("The same chunks by the reader alone, GB/s", &Speed::reference, kGigabyte, 3);
    line("Share", &Speed::share, 1, 3);
    if (report.cold->other_error.empty()) {
      line("fio on the same file at this depth, GB/s", &Speed::other, kGigabyte, 3);
      line("Share, median of the passes", &Speed::other_share, 1, 3);
      line("Share, least of the passes", &Speed::other_share_min, 1, 3);
    } else {
      out += fmt::format("  Nothing by fio: {}\n", report.cold->other_error);
    }
    line("Decoded, GB/s", &Speed::decoded, kGigabyte, 3);
    line("Bytes that a scan read, MB", &Speed::bytes, kMegabyte, 1);
    line("Bytes that the reader read, MB", &Speed::reference_bytes, kMegabyte, 1);
    return out;
  }
  out += fmt::format("  {:<36}{:<14}{:<14}{:>14}{:>13}{:>8}{:>10}  {}\n", "Column", "loaded as",
                     "now", "scanned, GB/s", "memory, GB/s", "share", "slowdown", "blocks by form");
  for (const ColumnScan& scan : report.columns) scan_lines(scan, &out);
  out += fmt::format("  Largest slowdown {}\n\n", figure(report.slowdown_max(), 2));
  const auto encoding_line = [&](std::string_view what, const scan::EncodingSpeed& speed) {
    out += fmt::format("  {:<14}{:>10}{:>14}\n", what,
                       figure(static_cast<double>(speed.bytes) / kMegabyte, 1),
                       figure(speed.bytes_per_second() / kMegabyte, 0));
  };
  out += fmt::format("  {:<14}{:>10}{:>14}\n", "Encoding", "MB", "MB/s a core");
  for (const auto& [table, speed] : report.encoding) encoding_line(table, speed);
  encoding_line("all", report.encoding_in_all());
  return out;
}

std::string to_table(const RecoveryBenchmarkReport& report) {
  constexpr double kMegabyte = 1e6;
  std::string out = fmt::format(
      "{}, {}, seed {}, commit {}\n\n", counted(report.options.warehouses, "warehouse"),
      counted(report.options.transaction_clients, "client"), report.options.seed, build_commit());
  const auto line = [&](std::string_view what, double value, int digits) {
    out += fmt::format("  {:<52}{:>12}\n", what, figure(value, digits));
  };
  line("Files, MB", static_cast<double>(report.file_bytes) / kMegabyte, 1);
  line("Reading them, s", report.files_read_seconds, 3);
  line("From them to a running primary, s", report.recovery_seconds, 3);
  line("Log, MB", static_cast<double>(report.log_bytes) / kMegabyte, 1);
  line("Transactions in it", static_cast<double>(report.replayed_transactions), 0);
  line("Per second, when they first ran", report.first_transactions_per_second, 0);
  line("Per second, replayed", report.replayed_transactions_per_second, 0);
  line("From a lost primary to a running one, s", report.lost_primary_seconds, 3);
  check_lines(report.checks, true, &out);
  return out;
}

std::string to_table(const OverloadReport& report) {
  std::string out = fmt::format("{}, {} admitted at most, seed {}, commit {}\n\n",
                                counted(report.options.warehouses, "warehouse"),
                                counted(report.options.queue_requests, "call"), report.options.seed,
                                build_commit());
  out += fmt::format("  {:<10}{:>12}{:>12}{:>12}{:>12}{:>10}{:>10}{:>10}\n", "load", "offered/s",
                     "answered/s", "refused/s", "expired/s", "p50 ms", "p99 ms", "max ms");
  const auto line = [&](const std::string& load, const OverloadCell& cell) {
    out += fmt::format("  {:<10}{:>12}{:>12}{:>12}{:>12}{:>10}{:>10}{:>10}\n", load,
                       figure(cell.offered_per_second, 0), figure(cell.answered_per_second, 0),
                       figure(cell.refused_per_second, 0), figure(cell.expired_per_second, 0),
                       figure(cell.latency_ms.p50, 3), figure(cell.latency_ms.p99, 3),
                       figure(cell.latency_ms.max, 1));
  };
  line("limit", report.limit);
  for (const OverloadCell& cell : report.cells) line(figure(cell.load, 2), cell);
  out += fmt::format("\n  Latency at the last load to that at the limit: p50 {}, p99 {}\n",
                     figure(report.p50_ratio(), 2), figure(report.p99_ratio(), 2));
  if (!report.error.empty()) {
    out += fmt::format("  {} failed: {}\n", counted(report.calls_failed, "call"), report.error);
  }
  check_lines(report.checks, true, &out);
  return out;
}

}  // namespace diptych::workloads
