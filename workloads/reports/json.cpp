// to_json: the keys that scripts rely on, and the details.

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/value.h"
#include "workloads/benchmark.h"
#include "workloads/isolation.h"
#include "workloads/overload.h"
#include "workloads/propagation.h"
#include "workloads/queries/catalog.h"
#include "workloads/query_benchmark.h"
#include "workloads/recovery.h"
#include "workloads/reports/machine.h"
#include "workloads/scan.h"
#include "workloads/tpcc/population.h"

namespace diptych::workloads {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json count_or_null(const std::optional<uint64_t>& count) {
  return count ? Json(*count) : Json(nullptr);
}

Json latency(const Latency& value) {
  return {{"count", value.count},     {"mean", number(value.mean)}, {"p50", number(value.p50)},
          {"p90", number(value.p90)}, {"p99", number(value.p99)},   {"p999", number(value.p999)},
          {"max", number(value.max)}};
}

Json by_type(const std::map<std::string, TypeReport>& types) {
  Json out = Json::object();
  for (const auto& [name, type] : types) {
    out[name] = {{"completed", type.completed},
                 {"aborted", type.aborted},
                 {"failed", type.failed},
                 {"conflicts", type.conflicts},
                 {"latency_ms", latency(type.latency_ms)}};
    if (!type.error.empty()) out[name]["error"] = type.error;
  }
  return out;
}

Json machine() {
  const Machine here = this_machine();
  return {{"cpu", here.cpu_model},
          {"cpu_family", here.cpu_family},
          {"cpu_model", here.cpu_model_number},
          {"cpu_stepping", here.cpu_stepping},
          {"cpu_mhz", here.cpu_mhz},
          {"avx512", here.avx512},
          {"level2_cache_bytes", here.level2_cache_bytes},
          {"level3_cache_bytes", here.level3_cache_bytes},
          {"cores", here.cores},
          {"memory_bytes", here.memory_bytes},
          {"huge_pages", here.huge_pages},
          {"numa_nodes", here.numa_nodes},
          {"kernel", here.kernel},
          {"compiler", here.compiler}};
}

Json placement(const base::PlacementOptions& options) {
  return {{"oltp_workers", options.oltp_workers},
          {"olap_threads", options.olap_threads},
          {"oltp_cores", options.oltp_cores},
          {"olap_cores", options.olap_cores}};
}

Json configuration(const BenchmarkOptions& options) {
  return {{"warehouses", options.warehouses},
          {"transaction_clients", options.transaction_clients},
          {"query_clients", options.query_clients},
          {"warmup_seconds", options.warmup_seconds},
          {"seconds", options.seconds},
          {"cooldown_seconds", options.cooldown_seconds},
          {"queries", query_set_name(options.queries)},
          {"constant_size", options.size == SizePolicy::kConstant},
          {"export", options.export_updates},
          {"isolation", to_string(options.isolation)},
          {"log", to_string(options.log)},
          {"time_origin", base::to_string(tpcc::kTimeOrigin)},
          {"placement", placement(options.placement)}};
}

Json configuration(const IsolationOptions& options) {
  return {{"warehouses", options.warehouses},
          {"transaction_clients", options.transaction_clients},
          {"query_clients", options.query_clients},
          {"warmup_seconds", options.warmup_seconds},
          {"seconds", options.seconds},
          {"queries", query_set_name(options.queries)},
          {"constant_size", true},
          {"export", true},
          {"isolation", "snapshot"},
          {"log", "none"},
          {"time_origin", base::to_string(tpcc::kTimeOrigin)},
          {"placement", placement(options.placement)}};
}

// What a run measured, without what all runs of a grid share.
Json measured(const BenchmarkReport& report) {
  return {{"transactions_per_second", number(report.transactions_per_second)},
          {"queries_per_second", number(report.queries_per_second)},
          {"aborts_per_second", number(report.aborts_per_second)},
          {"transaction_latency_ms", latency(report.transaction_latency_ms)},
          {"query_latency_ms", latency(report.query_latency_ms)},
          {"freshness_ms", latency(report.freshness_ms)},
          {"wait_apply_ms", latency(report.wait_apply_ms)},
          {"apply_ms", latency(report.apply_ms)},
          {"compaction_ms", latency(report.compaction_ms)},
          {"updates_applied_per_second", number(report.updates_applied_per_second)},
          {"calls_failed", report.calls_failed},
          {"interrupted", report.interrupted},
          {"measured_seconds", report.measured_seconds},
          {"load_seconds", report.load_seconds},
          {"oltp_bytes", report.oltp_bytes},
          {"olap_bytes", report.olap_bytes},
          {"oltp_cpu_percent", number(report.oltp_cpu_percent)},
          {"olap_cpu_percent", number(report.olap_cpu_percent)},
          {"clients_cpu_percent", number(report.clients_cpu_percent)},
          {"table_rows", report.table_rows},
          {"transactions", by_type(report.transactions)},
          {"queries", by_type(report.queries)},
          {"unsupported_queries", report.unsupported_queries},
          {"placement", report.placement},
          {"configuration", configuration(report.options)},
          {"seed", report.options.seed}};
}

void add_checks(const Checks& checks, Json* out) {
  (*out)["consistency_violations"] = count_or_null(checks.consistency_violations);
  (*out)["violations"] = checks.violations;
  (*out)["replica_differences"] = count_or_null(checks.replica_differences);
  (*out)["differences"] = checks.differences;
  (*out)["close_error"] = checks.close_error.empty() ? Json(nullptr) : Json(checks.close_error);
}

// What ends every report: how to repeat it, and where it was made. Text that is no UTF-8 (an error
// may quote it) is replaced.
std::string finish(Json out, uint64_t seed) {
  out["seed"] = seed;
  out["machine"] = machine();
  out["commit"] = build_commit();
  return out.dump(kIndent, ' ', false, Json::error_handler_t::replace);
}

Json configuration(const PropagationOptions& options) {
  const bool rows = options.mode == dispatcher::ExportMode::kRows;
  return {{"warehouses", options.warehouses},
          {"transactions", options.transactions},
          {"round_transactions", options.round_transactions},
          {"transaction_clients", options.transaction_clients},
          {"mode", rows ? "row" : "field"},
          {"blocks", options.blocks == dispatcher::BlockForm::kPlain ? "plain" : "compressed"},
          {"constant_size", options.size == SizePolicy::kConstant}};
}

Json stage(const ColumnScan& scan, const ColumnScan::Stage& of) {
  return {{"decoded_bytes_per_second", number(of.speed.bytes_per_second)},
          {"memory_bytes_per_second", number(of.speed.reference)},
          {"share_of_memory", number(of.speed.share)},
          {"slowdown", number(scan.slowdown(of))},
          {"passes", of.speed.passes},
          {"blocks_by_encoding", of.forms.blocks},
          {"thawed_blocks", of.forms.thawed}};
}

Json column(const ColumnScan& scan) {
  return {{"table", scan.table},
          {"column", scan.column},
          {"encoding", scan.form},
          {"predicate", scan.predicate.empty() ? Json(nullptr) : Json(scan.predicate)},
          {"rows", scan.frozen.forms.rows},
          {"rows_updated", scan.rows_updated},
          {"slowdown_max", number(scan.slowdown_max())},
          {"frozen", stage(scan, scan.frozen)},
          {"updated", stage(scan, scan.updated)},
          {"extended", stage(scan, scan.extended)},
          {"frozen_again", stage(scan, scan.frozen_again)}};
}

// Of reads from the file; null where there were none.
Json cold_scan(const std::optional<scan::ScanSpeed>& cold) {
  const Json none(nullptr);
  const bool has_fio = cold && cold->other_error.empty();
  return {{"read_bytes_per_second", cold ? number(cold->bytes_per_second) : none},
          {"raw_read_bytes_per_second", cold ? number(cold->reference) : none},
          {"share_of_raw_reads", cold ? number(cold->share) : none},
          {"fio_bytes_per_second", has_fio ? number(cold->other) : none},
          {"share_of_fio", has_fio ? number(cold->other_share) : none},
          {"share_of_fio_min", has_fio ? number(cold->other_share_min) : none},
          {"read_bytes", cold ? Json(cold->bytes) : none},
          {"raw_read_bytes", cold ? Json(cold->reference_bytes) : none},
          {"passes", cold ? Json(cold->passes) : none}};
}

Json encoding(const scan::EncodingSpeed& speed) {
  return {{"bytes", speed.bytes},
          {"cpu_seconds", speed.cpu_seconds},
          {"bytes_per_second", number(speed.bytes_per_second())}};
}

// The medians, and what they make.
Json medians(const QueryCell& cell) {
  Json query_ms = Json::object();
  for (const auto& [name, found] : cell.queries) query_ms[name] = number(found.p50);
  Json errors = Json::object();
  for (const auto& [name, error] : cell.errors) errors[name] = error;
  return {{"query_ms", std::move(query_ms)},
          {"geometric_mean_ms", number(cell.geometric_mean_ms())},
          {"geometric_mean_without_q05_ms", number(cell.geometric_mean_ms("Q05"))},
          {"queries_per_second", number(cell.queries_per_second)},
          {"clients", cell.clients},
          {"latency_ms", latency(cell.latency_ms)},
          {"measured_seconds", cell.measured_seconds},
          {"calls_failed", cell.failed},
          {"errors", std::move(errors)}};
}

Json aging(const AgingReport& report) {
  return {{"seconds", report.seconds},
          {"transactions", report.transactions},
          {"order_lines_loaded", report.order_lines_loaded},
          {"order_lines", report.order_lines},
          {"stock_changed", report.stock_changed},
          {"customers_changed", report.customers_changed}};
}

}  // namespace

std::string to_json(const BenchmarkReport& report) {
  Json out = measured(report);
  add_checks(report.checks, &out);
  return finish(std::move(out), report.options.seed);
}

std::string to_json(const IsolationReport& report) {
  Json cells = Json::array();
  for (const BenchmarkReport& cell : report.cells) {
    Json out = measured(cell);
    out["transaction_clients"] = cell.options.transaction_clients;
    out["query_clients"] = cell.options.query_clients;
    out["transaction_loss_percent"] = number(report.transaction_loss_percent(cell));
    out["query_loss_percent"] = number(report.query_loss_percent(cell));
    cells.push_back(std::move(out));
  }
  Json out = {{"cells", std::move(cells)},
              {"calls_failed", report.calls_failed()},
              {"interrupted", report.interrupted},
              {"configuration", configuration(report.options)}};
  add_checks(report.checks, &out);
  return finish(std::move(out), report.options.seed);
}

std::string to_json(const PropagationReport& report) {
  Json shares = Json::object();
  Json updates = Json::object();
  for (const auto& [name, table] : report.tables) {
    shares[name] = number(table.time);
    updates[name] = table.updates;
  }
  Json out = {
      {"applied_transactions_per_second_per_core", number(report.transactions_per_second())},
      {"applied_updates_per_second_per_core", number(report.updates_per_second())},
      {"steps",
       {{"order", number(report.order)},
        {"route", number(report.route)},
        {"apply", number(report.apply)},
        {"index_lookup", number(report.index_lookup)},
        {"write", number(report.write)}}},
      {"tables", std::move(shares)},
      {"table_updates", std::move(updates)},
      {"rounds", report.rounds},
      {"transactions", report.transactions},
      {"updates", report.updates},
      {"apply_cpu_seconds", report.apply_cpu_seconds},
      {"compaction_cpu_seconds", report.compact_cpu_seconds},
      {"compaction_seconds_per_apply_second", number(report.compact_seconds_per_apply_second())},
      {"olap_bytes_loaded", report.olap_bytes_loaded},
      {"olap_bytes", report.olap_bytes},
      {"calls_failed", report.calls_failed},
      {"interrupted", report.interrupted},
      {"configuration", configuration(report.options)}};
  add_checks(report.checks, &out);
  return finish(std::move(out), report.options.seed);
}

std::string to_json(const QueryBenchmarkReport& report) {
  Json cells = Json::array();
  for (const QueryCell& cell : report.cells) cells.push_back(medians(cell));
  const QueryBenchmarkOptions& options = report.options;
  Json out = medians(report.cells.empty() ? QueryCell() : report.cells.back());
  out["cells"] = std::move(cells);
  out["unsupported_queries"] = report.unsupported_queries;
  out["aging"] = report.aging ? aging(*report.aging) : Json(nullptr);
  out["load_seconds"] = report.load_seconds;
  out["threads"] = report.threads;
  out["placement"] = report.placement;
  out["interrupted"] = report.interrupted;
  out["configuration"] = {{"warehouses", options.warehouses},
                          {"queries", query_set_name(options.queries)},
                          {"clients", options.clients},
                          {"alone", options.alone()},
                          {"warmup_seconds", options.warmup_seconds},
                          {"seconds", options.seconds},
                          {"aged", options.aged},
                          {"placement", placement(options.placement)}};
  add_checks(report.checks, &out);
  return finish(std::move(out), options.seed);
}

std::string to_json(const ScanReport& report) {
  const Json none(nullptr);
  const auto& cold = report.cold;
  const auto* const warm = report.columns.empty() ? nullptr : &report.columns.front().frozen.speed;
  const double decoded = cold ? cold->decoded : warm != nullptr ? warm->bytes_per_second : 0;
  Json columns = Json::array();
  for (const ColumnScan& scan : report.columns) columns.push_back(column(scan));
  Json tables = Json::object();
  for (const auto& [table, speed] : report.encoding) tables[table] = encoding(speed);
  const double encoded = report.encoding_in_all().bytes_per_second();
  Json out = {{"decoded_bytes_per_second", report.clean() ? number(decoded) : none},
              {"encoded_bytes_per_second", report.encoding.empty() ? none : number(encoded)},
              {"slowdown_max", report.columns.empty() ? none : number(report.slowdown_max())},
              {"memory_bytes_per_second", warm != nullptr ? number(warm->reference) : none},
              {"share_of_memory", warm != nullptr ? number(warm->share) : none},
              {"integers", cold_scan(report.cold_integers)},
              {"columns", std::move(columns)},
              {"encoding", std::move(tables)},
              {"threads", report.threads},
              {"load_seconds", report.load_seconds},
              {"interrupted", report.interrupted},
              {"configuration",
               {{"warehouses", report.options.warehouses},
                {"cold", report.options.cold},
                {"settled", report.options.settled},
                {"seconds", report.options.seconds},
                {"memory_bytes_max", report.options.memory_bytes_max},
                {"placement", placement(report.options.placement)}}}};
  out.update(cold_scan(cold));
  return finish(std::move(out), report.options.seed);
}

std::string to_json(const RecoveryBenchmarkReport& report) {
  const RecoveryOptions& options = report.options;
  Json out = {{"files_read_seconds", report.files_read_seconds},
              {"recovery_seconds", report.recovery_seconds},
              {"replayed_transactions_per_second", report.replayed_transactions_per_second},
              {"lost_primary_seconds", report.lost_primary_seconds},
              {"first_transactions_per_second", report.first_transactions_per_second},
              {"replayed_transactions", report.replayed_transactions},
              {"replay_seconds", report.replay_seconds},
              {"file_bytes", report.file_bytes},
              {"log_bytes", report.log_bytes},
              {"interrupted", report.interrupted},
              {"configuration",
               {{"warehouses", options.warehouses},
                {"transaction_clients", options.transaction_clients},
                {"seconds", options.seconds},
                {"isolation", to_string(options.isolation)},
                {"log", to_string(options.log)},
                {"placement", placement(options.placement)}}}};
  add_checks(report.checks, &out);
  return finish(std::move(out), options.seed);
}

std::string to_json(const OverloadReport& report) {
  const OverloadOptions& options = report.options;
  const auto cell = [](const OverloadCell& one) -> Json {
    return {{"load", one.load},
            {"offered_per_second", number(one.offered_per_second)},
            {"answered_per_second", number(one.answered_per_second)},
            {"refused_per_second", number(one.refused_per_second)},
            {"expired_per_second", number(one.expired_per_second)},
            {"latency_ms", latency(one.latency_ms)}};
  };
  Json cells = Json::array();
  for (const OverloadCell& one : report.cells) cells.push_back(cell(one));
  Json out = {{"sustainable_per_second", number(report.limit.answered_per_second)},
              {"limit", cell(report.limit)},
              {"loads", std::move(cells)},
              {"latency_p50_ratio", number(report.p50_ratio())},
              {"latency_p99_ratio", number(report.p99_ratio())},
              {"calls_failed", report.calls_failed},
              {"error", report.error.empty() ? Json(nullptr) : Json(report.error)},
              {"interrupted", report.interrupted},
              {"configuration",
               {{"warehouses", options.warehouses},
                {"queue_requests", options.queue_requests},
                {"timeout_ms", options.timeout_ms},
                {"seconds", options.seconds},
                {"isolation", to_string(options.isolation)},
                {"log", to_string(options.log)},
                {"placement", placement(options.placement)}}}};
  add_checks(report.checks, &out);
  return finish(std::move(out), options.seed);
}

}  // namespace diptych::workloads
