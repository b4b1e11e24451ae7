// The face's metrics: put together from what each part counted.

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"
#include "dispatcher/database_state.h"
#include "dispatcher/metric_registry.h"

namespace diptych::dispatcher {

void Database::State::report_durability(Metrics* metrics) const {
  checkpoints.report(metrics);
  log_replay.report(metrics);
  metrics->backups = backups.spent().times();
  metrics->backup_ns = backups.spent().ns();
  metrics->primary_rebuilds = primary_rebuilds.times();
  metrics->primary_rebuild_ns = primary_rebuilds.ns();
}

Metrics Database::State::metrics() const {
  Metrics metrics;
  const oltp::EngineMetrics counted = engine.metrics();
  metrics.transactions_committed = counted.committed;
  metrics.transactions_aborted = counted.aborted;
  metrics.conflicts = counted.conflicts;
  metrics.transaction_batches = counted.batches;
  oltp_dispatcher->report(&metrics);
  if (slow_watch) {
    SlowProcedureWatch::Figures slow = slow_watch->figures();
    metrics.slow_transactions = slow.ended;
    metrics.slowest_procedure = std::move(slow.slowest);
    metrics.slowest_procedure_ns = slow.slowest_ns;
  }
  if (log != nullptr) log->report(&metrics);
  report_durability(&metrics);
  olap_dispatcher->report(&metrics);
  metrics.queries_waiting = olap_dispatcher->queues().figures().waiting;
  metrics.snapshots = replica.snapshots();
  metrics.last_vid = clock.last();
  metrics.backlog_ns = clock.age_ns(base::steady_ns());
  metrics.pending_update_bytes = updates.pending_bytes();
  metrics.memory.rows = counted.row_bytes;
  metrics.memory.row_strings = counted.string_bytes;
  metrics.memory.undo = counted.undo_bytes;
  metrics.memory.indexes = counted.index_bytes;
  metrics.data_memory_bytes_max = data_memory_bytes_max;
  metrics.memory.pending_updates = metrics.pending_update_bytes;
  metrics.memory.empty_updates = updates.empty_bytes();
  metrics.memory.queries = olap::query_memory_figures();
  metrics.memory.chunks = storage::chunk_heap_figures();
  metrics.queries_memory_bytes = executor.queries_memory_bytes();
  metrics.oltp_memory_bytes =
      counted.memory_bytes() + metrics.memory.pending_updates + metrics.memory.empty_updates;
  // What a side's threads have in common, which belong to several parts, is how they are named.
  metrics.oltp_cpu_ns = base::named_threads_cpu_ns("oltp");
  metrics.olap_cpu_ns = base::named_threads_cpu_ns("olap");
  return metrics;
}

size_t Database::State::data_room() const {
  const size_t taken = engine.metrics().memory_bytes() + updates.pending_bytes() +
                       updates.empty_bytes() + olap_dispatcher->replica_bytes();
  return data_memory_bytes_max - std::min(taken, data_memory_bytes_max);
}

std::vector<olap::SystemTable> Database::State::system_tables() const {
  return {
      {std::string(kMetricsTable), metric_columns(), [this] { return metric_rows(metrics()); }}};
}

Metrics Database::metrics() const {
  return state_->metrics();
}

std::string Database::metrics_text() const {
  return dispatcher::metrics_text(state_->metrics());
}

}  // namespace diptych::dispatcher
