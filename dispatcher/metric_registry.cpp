#include "dispatcher/metric_registry.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace diptych::dispatcher {
namespace {

using enum MetricKind;

constexpr double kNs = 1e-9;

// The values of labels, in the order in which the readers below take their indexes.
constexpr std::array<std::string_view, kPriorities> kPriorityNames = {"high", "normal", "low"};
constexpr std::array<std::string_view, 2> kSides = {"oltp", "olap"};
constexpr std::array<std::string_view, kLogRefusals> kLogRefusalNames = {"failed", "no_space",
                                                                         "suspended"};

struct MemoryPart {
  std::string_view name;
  size_t (*bytes)(const MemoryFigures&);
};
constexpr auto kMemoryParts = std::to_array<MemoryPart>({
    {"rows", [](const MemoryFigures& m) { return m.rows; }},
    {"row_strings", [](const MemoryFigures& m) { return m.row_strings; }},
    {"undo", [](const MemoryFigures& m) { return m.undo; }},
    {"indexes", [](const MemoryFigures& m) { return m.indexes; }},
    {"pending_updates", [](const MemoryFigures& m) { return m.pending_updates; }},
    {"empty_updates", [](const MemoryFigures& m) { return m.empty_updates; }},
    {"log", [](const MemoryFigures& m) { return m.log; }},
    {"replica_pages", [](const MemoryFigures& m) { return m.replica.page_bytes; }},
    {"replica_blocks", [](const MemoryFigures& m) { return m.replica.block_bytes; }},
    {"replica_strings", [](const MemoryFigures& m) { return m.replica.string_bytes; }},
    {"replica_directories", [](const MemoryFigures& m) { return m.replica.directory_bytes; }},
    {"replica_indexes", [](const MemoryFigures& m) { return m.replica_indexes; }},
    {"queries", [](const MemoryFigures& m) { return m.queries.used_bytes; }},
    {"kept_for_queries", [](const MemoryFigures& m) { return m.queries.kept_bytes; }},
    {"kept_for_blocks", [](const MemoryFigures& m) { return m.chunks.kept_bytes; }},
});
constexpr auto kMemoryPartNames = [] {
  std::array<std::string_view, kMemoryParts.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kMemoryParts[i].name;
  return names;
}();

double memory_part(const Metrics& metrics, size_t part) {
  return static_cast<double>(kMemoryParts[part].bytes(metrics.memory));
}

std::span<const std::string_view> error_names() {
  static const auto names = [] {
    std::array<std::string_view, base::kErrorCodes> all;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = base::error_code_name(static_cast<base::ErrorCode>(i));
    }
    return all;
  }();
  return names;
}

// Readers of one member, which is a number, an id, or nanoseconds.
template <auto Member>
double read(const Metrics& metrics, size_t /*index*/) {
  if constexpr (requires { (metrics.*Member).value; }) {
    return static_cast<double>((metrics.*Member).value);
  } else {
    return static_cast<double>(metrics.*Member);
  }
}
template <auto Member>
double read_seconds(const Metrics& metrics, size_t /*index*/) {
  return static_cast<double>(metrics.*Member) * kNs;
}
template <auto Member>
double read_buffers(const Metrics& metrics, size_t /*index*/) {
  return static_cast<double>(metrics.olap_chunks.*Member);
}
template <auto Member>
double read_replica(const Metrics& metrics, size_t /*index*/) {
  return static_cast<double>(metrics.memory.replica.*Member);
}
template <auto Member>
double read_element(const Metrics& metrics, size_t index) {
  return static_cast<double>((metrics.*Member)[index]);
}

using M = Metrics;
using Definitions = std::vector<MetricDefinition>;

// Makers of what has a value for each reason, or each priority, and of histograms.
template <auto Member>
MetricDefinition by_error(std::string_view name, std::string_view unit, std::string_view help) {
  return {.name = name,
          .kind = kCounter,
          .unit = unit,
          .help = help,
          .number = read_element<Member>,
          .label = "reason",
          .label_values = error_names()};
}
template <auto Member>
MetricDefinition by_priority(std::string_view name, std::string_view unit, std::string_view help) {
  return {.name = name,
          .kind = kGauge,
          .unit = unit,
          .help = help,
          .number = read_element<Member>,
          .label = "priority",
          .label_values = kPriorityNames};
}
template <auto Member>
MetricDefinition histogram_of(std::string_view name, std::string_view unit, std::string_view help,
                              double scale = 1) {
  return {.name = name,
          .kind = kHistogram,
          .unit = unit,
          .help = help,
          .histogram = [](const M& metrics) -> const Histogram& { return metrics.*Member; },
          .scale = scale};
}

void add_transactions(Definitions* all) {
  const Definitions some = {
      {"diptych_transactions_committed_total", kCounter, "transactions",
       "Transactions that committed, with and without writes", read<&M::transactions_committed>},
      {"diptych_transactions_aborted_total", kCounter, "transactions",
       "Transactions that ended with an error, or that their procedure aborted",
       read<&M::transactions_aborted>},
      {"diptych_transaction_conflicts_total", kCounter, "runs",
       "Runs of transactions that were repeated because of a conflict", read<&M::conflicts>},
      by_error<&M::calls_failed>("diptych_calls_failed_total", "calls",
                                 "Calls that were admitted and failed, by reason"),
      by_error<&M::calls_refused>(
          "diptych_calls_refused_total", "calls",
          "Calls that were not admitted, by reason: too many were queued, the log takes none, "
          "their time was over before, or they are no calls of a procedure"),
      by_priority<&M::calls_in_flight>("diptych_calls_in_flight", "calls",
                                       "Calls that are admitted and not answered, by priority"),
      by_priority<&M::calls_waiting>("diptych_calls_waiting", "calls",
                                     "Those of them that no batch has taken yet, by priority"),
      {"diptych_clients", kGauge, "clients", "Clients that are connected", read<&M::clients>},
      {"diptych_clients_refused_total", kCounter, "clients",
       "Clients that were not connected, since there were clients_max", read<&M::clients_refused>},
      {"diptych_transaction_batches_total", kCounter, "batches", "Batches of transactions",
       read<&M::transaction_batches>},
      histogram_of<&M::batch_calls>("diptych_transaction_batch_calls", "calls",
                                    "Calls in a batch of transactions"),
      histogram_of<&M::batch_ns>("diptych_transaction_batch_seconds", "seconds",
                                 "How long a batch of transactions ran", kNs),
      histogram_of<&M::call_wait_ns>(
          "diptych_call_wait_seconds", "seconds",
          "Wait of each batch's oldest new call, from its submission until the batch ran", kNs),
      {"diptych_slow_transactions_total", kCounter, "runs",
       "Runs of transactions that took longer than slow_procedure_ns", read<&M::slow_transactions>},
      {"diptych_slowest_transaction_seconds", kGauge, "seconds",
       "The longest of these, one that still runs included",
       read_seconds<&M::slowest_procedure_ns>},
      {"diptych_last_vid", kGauge, "vid", "The version of the newest commit", read<&M::last_vid>},
  };
  all->insert(all->end(), some.begin(), some.end());
}

void add_log(Definitions* all) {
  const Definitions some = {
      {"diptych_log_written_bytes_total", kCounter, "bytes", "Written to the command log",
       read<&M::log_bytes>},
      {"diptych_log_groups_total", kCounter, "groups",
       "Groups of batches that became durable with one write and sync", read<&M::log_groups>},
      histogram_of<&M::log_write_ns>("diptych_log_write_seconds", "seconds",
                                     "How long a group took to write and sync", kNs),
      {"diptych_log_writing_seconds", kGauge, "seconds",
       "For how long the log has waited for the disk by now; 0: it does not",
       read_seconds<&M::log_writing_ns>},
      {"diptych_log_files", kGauge, "files", "Files of the command log", read<&M::log_files>},
      {"diptych_log_waiting_bytes", kGauge, "bytes", "Of groups that are not durable yet",
       read<&M::log_waiting_bytes>},
      {"diptych_log_uncovered_bytes", kGauge, "bytes",
       "Of the command log, what no checkpoint has: about what the next opening would replay",
       read<&M::log_uncovered_bytes>},
      {"diptych_durable_vid", kGauge, "vid",
       "The version up to which everything is in the log, or in a checkpoint",
       read<&M::durable_vid>},
      {.name = "diptych_log_refuses",
       .kind = kGauge,
       .unit = "1 or 0",
       .help =
           "Whether calls are refused: for good since the log has failed, until there is space, "
           "or until a load or DDL is saved",
       .number = [](const M& m, size_t i) { return m.log_refuses[i] ? 1.0 : 0.0; },
       .label = "reason",
       .label_values = kLogRefusalNames},
      {"diptych_checkpoints_total", kCounter, "saves", "Checkpoints, and other saves",
       read<&M::checkpoints>},
      {"diptych_checkpoints_failed_total", kCounter, "saves",
       "Such that failed: while they do, the log grows", read<&M::checkpoints_failed>},
      {"diptych_checkpoints_running", kGauge, "saves", "Checkpoints that are written now",
       read<&M::checkpoints_running>},
      histogram_of<&M::checkpoint_ns>(
          "diptych_checkpoint_seconds", "seconds",
          "How long a checkpoint in the background took, from its snapshot to its manifest", kNs),
      {"diptych_checkpoint_written_bytes_total", kCounter, "bytes",
       "What checkpoints in the background wrote into the block file", read<&M::checkpoint_bytes>},
      {"diptych_checkpoint_waits_total", kCounter, "batches",
       "Batches of transactions that waited for a checkpoint, so that the log keeps its bound",
       read<&M::checkpoint_waits>},
      {"diptych_checkpoint_wait_seconds_total", kCounter, "seconds", "How long they waited",
       read_seconds<&M::checkpoint_wait_ns>},
      {"diptych_snapshots", kGauge, "snapshots",
       "Snapshots of the analytical replica that are held", read<&M::snapshots>},
      {"diptych_snapshot_bytes", kGauge, "bytes",
       "Memory that only these have, as of the last time that updates were taken in",
       read_replica<&storage::PartitionFigures::snapshot_bytes>},
      {"diptych_backups_total", kCounter, "backups", "Backups that were taken", read<&M::backups>},
      {"diptych_backup_seconds_total", kCounter, "seconds", "How long they took",
       read_seconds<&M::backup_ns>},
      {"diptych_recovered_transactions_total", kCounter, "transactions",
       "Transactions of the log that were replayed after the opening",
       read<&M::recovered_transactions>},
      {"diptych_recovery_seconds_total", kCounter, "seconds", "How long that took",
       read_seconds<&M::recovery_ns>},
      {"diptych_primary_rebuilds_total", kCounter, "rebuilds",
       "Lost primaries that were built anew", read<&M::primary_rebuilds>},
      {"diptych_primary_rebuild_seconds_total", kCounter, "seconds",
       "How long transactions stood still for it", read_seconds<&M::primary_rebuild_ns>},
  };
  all->insert(all->end(), some.begin(), some.end());
}

void add_queries(Definitions* all) {
  const Definitions some = {
      {"diptych_queries_completed_total", kCounter, "queries", "Queries that gave a result",
       read<&M::queries_completed>},
      by_error<&M::queries_failed_by>("diptych_queries_failed_total", "queries",
                                      "Queries that ended with an error, by reason"),
      by_error<&M::queries_refused>(
          "diptych_queries_refused_total", "queries",
          "Queries, or batches that one caller submitted, that were not admitted, by reason"),
      by_priority<&M::queries_in_flight>("diptych_queries_in_flight", "queries",
                                         "Such that are admitted and not answered, by priority"),
      by_priority<&M::queries_waiting>("diptych_queries_waiting", "queries",
                                       "Those of them that no batch has taken yet, by priority"),
      {"diptych_long_queries_total", kCounter, "queries",
       "Queries that went to the long lane, each on a snapshot of its own", read<&M::long_queries>},
      {"diptych_long_queries_running", kGauge, "queries", "Queries of the long lane that run",
       read<&M::long_queries_running>},
      {"diptych_long_queries_waiting", kGauge, "queries",
       "Queries of the long lane that wait for others of it to end",
       read<&M::long_queries_waiting>},
      {"diptych_queries_memory_bytes", kGauge, "bytes",
       "What queries that run keep, and results that are still held",
       read<&M::queries_memory_bytes>},
      {"diptych_query_batches_total", kCounter, "batches", "Batches of queries",
       read<&M::query_batches>},
      histogram_of<&M::batch_queries>("diptych_query_batch_queries", "queries",
                                      "Queries in a batch"),
      histogram_of<&M::query_batch_ns>("diptych_query_batch_seconds", "seconds",
                                       "How long a batch of queries ran", kNs),
      histogram_of<&M::wait_apply_ns>(
          "diptych_query_wait_seconds", "seconds",
          "From a query's submission until its batch ran, applying included", kNs),
  };
  all->insert(all->end(), some.begin(), some.end());
}

void add_propagation(Definitions* all) {
  const Definitions some = {
      histogram_of<&M::freshness_ns>(
          "diptych_freshness_seconds", "seconds",
          "When a batch of queries starts: age of the oldest commit that it does not see", kNs),
      {"diptych_backlog_seconds", kGauge, "seconds",
       "Age of the oldest commit that the analytical replica has not taken in",
       read_seconds<&M::backlog_ns>},
      {"diptych_backlog_vids", kGauge, "vid", "Commits that the analytical replica does not show",
       [](const M& m, size_t) { return static_cast<double>(m.backlog_vids()); }},
      {"diptych_backlog_bytes", kGauge, "bytes", "Updates that wait to be applied",
       read<&M::pending_update_bytes>},
      {"diptych_replica_vid", kGauge, "vid", "The version that the analytical replica shows",
       read<&M::replica_vid>},
      {"diptych_updates_applied_total", kCounter, "updates", "Updates applied to the replica",
       read<&M::updates_applied>},
      {"diptych_apply_runs_total", kCounter, "runs", "Runs of the applier that applied something",
       read<&M::apply_runs>},
      histogram_of<&M::apply_ns>("diptych_apply_seconds", "seconds",
                                 "How long such a run took, compaction included", kNs),
      histogram_of<&M::compact_ns>(
          "diptych_compaction_seconds", "seconds",
          "How long compressing pages and columns took, in such a run or where no "
          "updates come",
          kNs),
      {"diptych_apply_cpu_seconds_total", kCounter, "seconds",
       "CPU time of the thread that applies", read_seconds<&M::apply_cpu_ns>},
      {"diptych_compact_cpu_seconds_total", kCounter, "seconds",
       "CPU time of that thread for the compaction in between", read_seconds<&M::compact_cpu_ns>},
      {"diptych_back_pressure_waits_total", kCounter, "batches",
       "Batches of transactions that waited for the replica to catch up",
       read<&M::back_pressure_waits>},
      {"diptych_back_pressure_seconds_total", kCounter, "seconds", "How long they waited",
       read_seconds<&M::back_pressure_ns>},
  };
  all->insert(all->end(), some.begin(), some.end());
}

void add_sizes(Definitions* all) {
  using B = storage::BufferFigures;
  using P = storage::PartitionFigures;
  const Definitions some = {
      {.name = "diptych_memory_bytes",
       .kind = kGauge,
       .unit = "bytes",
       .help = "Memory, by what it holds",
       .number = memory_part,
       .label = "part",
       .label_values = kMemoryPartNames},
      {"diptych_data_memory_bytes", kGauge, "bytes",
       "Of these: rows, versions, indexes, columns and updates on their way",
       [](const M& m, size_t) { return static_cast<double>(m.data_memory_bytes()); }},
      {"diptych_data_memory_limit_bytes", kGauge, "bytes",
       "What they may be together: over it, calls that need more are refused",
       read<&M::data_memory_bytes_max>},
      {"diptych_blocks_made_total", kCounter, "blocks",
       "Blocks compressed, of pages and of rows of loads", read_replica<&P::blocks_made>},
      {"diptych_blocks_melted_total", kCounter, "blocks", "Blocks that became pages again",
       read_replica<&P::blocks_melted>},
      {"diptych_blocks_rewritten_total", kCounter, "blocks",
       "Blocks compressed again without the texts of many dead rows",
       read_replica<&P::blocks_rewritten>},
      {"diptych_rows_moved_total", kCounter, "rows",
       "Rows moved together, from where most others had gone", read_replica<&P::rows_moved>},
      {"diptych_columns_thawed_total", kCounter, "columns",
       "Columns of blocks that were widened to be written in place",
       read_replica<&P::columns_thawed>},
      {"diptych_columns_frozen_total", kCounter, "columns",
       "Columns of blocks that were compressed again once they were quiet",
       read_replica<&P::columns_frozen>},
      {"diptych_columns_settled_total", kCounter, "columns",
       "Columns of blocks that were compressed further, quiet for long",
       read_replica<&P::columns_settled>},
      {"diptych_buffer_bytes", kGauge, "bytes",
       "Columns of blocks that the buffer manager has in memory", read_buffers<&B::memory_bytes>},
      {"diptych_buffer_over_budget_bytes", kGauge, "bytes",
       "By how much it was over its budget, at most so far", read_buffers<&B::bytes_over_budget>},
      {"diptych_buffer_loads_total", kCounter, "columns", "Columns of blocks read from disk",
       read_buffers<&B::loads>},
      {"diptych_buffer_read_bytes_total", kCounter, "bytes", "Read from disk for them",
       read_buffers<&B::bytes_read>},
      {"diptych_buffer_evictions_total", kCounter, "columns", "Columns of blocks that left memory",
       read_buffers<&B::evictions>},
      {"diptych_buffer_writes_total", kCounter, "columns",
       "Changed columns that were written so that they could leave", read_buffers<&B::writes>},
      {.name = "diptych_cpu_seconds_total",
       .kind = kCounter,
       .unit = "seconds",
       .help = "CPU time of each side's threads, of all databases of the process",
       .number =
           [](const M& m, size_t i) {
             return static_cast<double>(i == 0 ? m.oltp_cpu_ns : m.olap_cpu_ns) * kNs;
           },
       .label = "side",
       .label_values = kSides},
  };
  all->insert(all->end(), some.begin(), some.end());
}

constexpr std::array<std::pair<std::string_view, double>, 4> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}};

// Bounds of buckets: 2^0 to 2^36, that is 69 s in nanoseconds, each four times the one before.
constexpr unsigned kBoundExponentMax = 36;
constexpr unsigned kBoundExponentStep = 2;

void append_histogram(const MetricDefinition& metric, const Histogram& histogram,
                      std::string* text) {
  for (unsigned exponent = 0; exponent <= kBoundExponentMax; exponent += kBoundExponentStep) {
    // Values are whole: those below 2^exponent are those up to the number before it.
    const double bound = (std::ldexp(1.0, static_cast<int>(exponent)) - 1) * metric.scale;
    *text += fmt::format("{}_bucket{{le=\"{:.12g}\"}} {}\n", metric.name, bound,
                         histogram.count_below_power(exponent));
  }
  *text +=
      fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2:.15g}\n{0}_count {1}\n", metric.name,
                  histogram.count(), static_cast<double>(histogram.sum()) * metric.scale);
}

}  // namespace

std::string_view metric_kind_name(MetricKind kind) {
  switch (kind) {
    case kCounter: return "counter";
    case kGauge: return "gauge";
    case kHistogram: return "histogram";
  }
  return {};
}

std::span<const MetricDefinition> metric_definitions() {
  static const Definitions all = [] {
    Definitions definitions;
    add_transactions(&definitions);
    add_log(&definitions);
    add_queries(&definitions);
    add_propagation(&definitions);
    add_sizes(&definitions);
    return definitions;
  }();
  return all;
}

std::vector<olap::SystemColumn> metric_columns() {
  const base::DataType text{base::TypeKind::kVarchar};
  return {{"name", text},
          {"label", text, true},
          {"kind", text},
          {"unit", text},
          {"value", {base::TypeKind::kDouble}},
          {"help", text}};
}

std::vector<std::vector<base::Value>> metric_rows(const Metrics& metrics) {
  std::vector<std::vector<base::Value>> rows;
  for (const MetricDefinition& metric : metric_definitions()) {
    const auto add = [&](base::Value label, double value) {
      rows.push_back({std::string(metric.name), std::move(label),
                      std::string(metric_kind_name(metric.kind)), std::string(metric.unit), value,
                      std::string(metric.help)});
    };
    if (metric.kind == kHistogram) {
      const Histogram& recorded = metric.histogram(metrics);
      add("count", static_cast<double>(recorded.count()));
      add("sum", static_cast<double>(recorded.sum()) * metric.scale);
      add("max", static_cast<double>(recorded.max()) * metric.scale);
      for (const auto& [name, quantile] : kQuantiles) {
        add(std::string(name), static_cast<double>(recorded.quantile(quantile)) * metric.scale);
      }
    } else if (metric.label_values.empty()) {
      add(std::monostate(), metric.number(metrics, 0));
    } else {
      for (size_t i = 0; i < metric.label_values.size(); ++i) {
        add(std::string(metric.label_values[i]), metric.number(metrics, i));
      }
    }
  }
  return rows;
}

std::string metrics_text(const Metrics& metrics) {
  std::string text;
  for (const MetricDefinition& metric : metric_definitions()) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help,
                        metric_kind_name(metric.kind));
    if (metric.kind == kHistogram) {
      append_histogram(metric, metric.histogram(metrics), &text);
    } else if (metric.label_values.empty()) {
      text += fmt::format("{} {:.15g}\n", metric.name, metric.number(metrics, 0));
    } else {
      for (size_t i = 0; i < metric.label_values.size(); ++i) {
        text += fmt::format("{}{{{}=\"{}\"}} {:.15g}\n", metric.name, metric.label,
                            metric.label_values[i], metric.number(metrics, i));
      }
    }
  }
  return text;
}

}  // namespace diptych::dispatcher
