#include "cli/html_report.h"

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace diptych::cli {
namespace {

using nlohmann::json;
using workloads::BenchmarkReport;
using workloads::IsolationReport;
using workloads::Latency;

json number_or_null(double number) {
  return std::isfinite(number) ? json(number) : json();
}

json latency(const Latency& latency) {
  return {{"count", latency.count}, {"mean", latency.mean}, {"p50", latency.p50},
          {"p90", latency.p90},     {"p99", latency.p99},   {"p999", latency.p999},
          {"max", latency.max}};
}

json cell(const IsolationReport& report, const BenchmarkReport& cell) {
  return {{"transactionClients", cell.options.transaction_clients},
          {"queryClients", cell.options.query_clients},
          {"transactions", cell.transactions_per_second},
          {"queries", cell.queries_per_second},
          {"conflicts", cell.aborts_per_second},
          {"transactionLoss", number_or_null(report.transaction_loss_percent(cell))},
          {"queryLoss", number_or_null(report.query_loss_percent(cell))},
          {"transactionLatency", latency(cell.transaction_latency_ms)},
          {"queryLatency", latency(cell.query_latency_ms)},
          {"freshness", latency(cell.freshness_ms)},
          {"apply", latency(cell.apply_ms)},
          {"updates", cell.updates_applied_per_second},
          {"oltpCpu", cell.oltp_cpu_percent},
          {"olapCpu", cell.olap_cpu_percent}};
}

json report_data(const IsolationReport& report, std::string_view text) {
  const json whole = json::parse(text, nullptr, false);
  const auto from_whole = [&whole](const char* key) {
    return whole.is_object() && whole.contains(key) ? whole[key] : json();
  };
  json cells = json::array();
  for (const BenchmarkReport& one : report.cells) cells.push_back(cell(report, one));
  const bool ch = report.options.queries == workloads::QuerySet::kCh;
  const bool grouped = report.options.queries == workloads::QuerySet::kGrouped;
  return {{"warehouses", report.options.warehouses},
          {"seconds", report.options.seconds},
          {"warmupSeconds", report.options.warmup_seconds},
          {"seed", report.options.seed},
          {"queries", ch        ? "the CH-benCHmark queries, in turn"
                      : grouped ? "the 14 templates of the BatchDB paper, each with a GROUP BY"
                                : "the 14 templates of the BatchDB paper, with random parameters"},
          {"interrupted", report.interrupted},
          {"violations", from_whole("consistency_violations")},
          {"differences", from_whole("replica_differences")},
          {"placement", report.cells.empty() ? "" : report.cells.front().placement},
          {"machine", from_whole("machine")},
          {"commit", from_whole("commit")},
          {"transactionClients", report.options.transaction_clients},
          {"queryClients", report.options.query_clients},
          {"cells", std::move(cells)}};
}

void replace_once(std::string* page, std::string_view mark, std::string_view text) {
  const size_t at = page->find(mark);
  DIPTYCH_CHECK(at != std::string::npos, "the page has a place for each part");
  page->replace(at, mark.size(), text);
}

}  // namespace

std::string to_html(const IsolationReport& report, std::string_view json_text) {
  constexpr int kNoIndent = -1;
  std::string data =
      report_data(report, json_text).dump(kNoIndent, ' ', false, json::error_handler_t::replace);
  // Inside a script element only "</" could end it; in JSON it can only stand in a string.
  for (size_t at = data.find("</"); at != std::string::npos; at = data.find("</", at + 3)) {
    data.replace(at, 2, "<\\/");
  }
  std::string page(kReportPage);
  replace_once(&page, "/*CHART.JS*/", kChartLibrary);
  // After the library: its place stands in front, so no figure is taken for one.
  replace_once(&page, "/*REPORT*/", data);
  return page;
}

}  // namespace diptych::cli
