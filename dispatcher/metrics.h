// Metrics: what the engine counted since it was opened. A value; reading it stops nobody.
//
// The face for programs. dispatcher/metric_registry.h has the same figures by name, for SQL and for
// Prometheus; docs/metrics.md explains them.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/admission.h"
#include "dispatcher/histogram.h"
#include "olap/query_memory_figures.h"
#include "propagation/apply_steps.h"
#include "storage/buffer_figures.h"
#include "storage/chunk_heap_figures.h"
#include "storage/partition_figures.h"

namespace diptych::dispatcher {

// Where memory is, in bytes.
struct MemoryFigures {
  // The OLTP replica.
  size_t rows = 0;
  size_t row_strings = 0;
  size_t undo = 0;
  size_t indexes = 0;
  // On the way.
  size_t pending_updates = 0;
  size_t empty_updates = 0;  // update sets that are kept for reuse
  // The command log's groups (the one that fills, the one being written), and where it logs
  // updates, those of the present batch.
  size_t log = 0;
  // The OLAP replica.
  storage::PartitionFigures replica;  // its counts included
  size_t replica_indexes = 0;         // RowID -> TID
  // Of all databases of the process.
  olap::QueryMemoryFigures queries;
  storage::ChunkHeapFigures chunks;
};

// Why the command log refuses calls.
enum class LogRefusal : uint8_t {
  kFailed,     // a write or a sync of it: for good
  kNoSpace,    // the disk is full
  kSuspended,  // a load or DDL could not be saved
};
inline constexpr size_t kLogRefusals = static_cast<size_t>(LogRefusal::kSuspended) + 1;

struct Metrics {
  // Transactions.
  uint64_t transactions_committed = 0;
  uint64_t transactions_aborted = 0;                    // by the procedure or an error
  uint64_t transactions_in_flight = 0;                  // admitted and not completed, now
  std::array<uint64_t, kPriorities> calls_in_flight{};  // the same by Priority
  std::array<uint64_t, kPriorities> calls_waiting{};    // of these, that no batch has taken yet
  uint64_t clients = 0;                                 // connected, now
  uint64_t clients_refused = 0;                         // connections, since clients_max were there
  uint64_t conflicts = 0;                               // runs repeated because of a conflict
  uint64_t transaction_batches = 0;
  std::array<uint64_t, base::kErrorCodes> calls_failed{};   // by ErrorCode: of admitted ones
  std::array<uint64_t, base::kErrorCodes> calls_refused{};  // by ErrorCode: not admitted
  Histogram batch_calls;                                    // calls in a batch, repeated ones too
  Histogram batch_ns;                                       // its run, the gate passed
  Histogram call_wait_ns;  // of a batch's oldest new call: from submission to the batch's run
  uint64_t slow_transactions = 0;  // runs over slow_procedure_ns that have ended
  std::string slowest_procedure;   // of those, and of what runs now; empty: none was slow
  uint64_t slowest_procedure_ns = 0;
  base::Vid last_vid;
  // The command log.
  uint64_t log_bytes = 0;
  uint64_t log_groups = 0;
  Histogram log_write_ns;       // of a group: until it is durable
  uint64_t log_writing_ns = 0;  // for how long it waits for the disk, now; 0: it does not
  uint64_t log_files = 0;
  size_t log_waiting_bytes = 0;      // of groups that are not durable yet
  uint64_t log_uncovered_bytes = 0;  // of what no checkpoint has: about what a start would replay
  base::Vid durable_vid;             // up to which everything is in the log, or in a manifest
  std::array<bool, kLogRefusals> log_refuses{};  // calls, now, and why; by LogRefusal
  uint64_t checkpoints = 0;                      // and other saves, since the database was opened
  uint64_t checkpoints_failed = 0;               // likewise; those that were cancelled do not count
  uint64_t checkpoints_running = 0;              // in the background, now
  Histogram checkpoint_ns;                       // of those in the background, from cut to manifest
  uint64_t checkpoint_bytes = 0;                 // that they wrote
  uint64_t checkpoint_waits = 0;                 // OLTP batches that waited for one
  uint64_t checkpoint_wait_ns = 0;               // that they waited, one that waits now included
  uint64_t backups = 0;
  uint64_t backup_ns = 0;               // that they took
  uint64_t recovered_transactions = 0;  // replayed from the log
  uint64_t recovery_ns = 0;             // that it took
  uint64_t primary_rebuilds = 0;        // of a lost primary
  uint64_t primary_rebuild_ns = 0;      // that they took
  // Queries.
  uint64_t queries_completed = 0;
  uint64_t queries_failed = 0;
  std::array<uint64_t, base::kErrorCodes> queries_failed_by{};  // by ErrorCode; the same in all
  // Likewise: calls of query, query_batch, submit_query that were not admitted.
  std::array<uint64_t, base::kErrorCodes> queries_refused{};
  // Calls of query, query_batch, submit_query: admitted and not answered, now; by Priority.
  std::array<uint64_t, kPriorities> queries_in_flight{};
  std::array<uint64_t, kPriorities> queries_waiting{};  // of these, that no batch has taken yet
  uint64_t query_batches = 0;
  Histogram batch_queries;    // statements in a batch
  Histogram query_batch_ns;   // its run, the updates applied
  uint64_t long_queries = 0;  // that went to the long lane
  uint64_t long_queries_running = 0;
  uint64_t long_queries_waiting = 0;
  size_t queries_memory_bytes = 0;  // that running ones keep, and results that are still held
  base::Vid replica_vid;
  uint64_t snapshots = 0;  // of the replica, held now; memory.replica.snapshot_bytes is theirs
  // Propagation.
  uint64_t updates_applied = 0;
  uint64_t apply_runs = 0;
  Histogram apply_ns;    // of applies that applied something, compaction included
  Histogram compact_ns;  // of the compaction behind each of them, and where none come
  // Of the thread that applies, CPU time of applying and of compaction; and where the time of
  // applying goes, by TableId.
  uint64_t apply_cpu_ns = 0;
  uint64_t compact_cpu_ns = 0;
  std::vector<propagation::TableSteps> apply_steps;
  // When a batch of queries starts: the time since the first commit that it does not see (an upper
  // bound); 0 if it sees all. It is counted from the beginning of the first OLTP batch that may
  // hold such a commit; one that still runs counts, though it may commit nothing
  // (dispatcher/freshness_clock.h).
  Histogram freshness_ns;
  uint64_t backlog_ns = 0;  // the same, now
  Histogram wait_apply_ns;  // per query: from submission to the start of its batch's execution
  size_t pending_update_bytes = 0;
  uint64_t back_pressure_waits = 0;  // OLTP batches that waited for the replica to catch up
  uint64_t back_pressure_ns = 0;     // that they waited, one that waits now included
  // Size and cost.
  MemoryFigures memory;
  size_t oltp_memory_bytes = 0;  // rows, versions, indexes, and update sets that wait or are empty
  size_t olap_memory_bytes = 0;
  size_t data_memory_bytes_max = 0;    // what both may be together
  storage::BufferFigures olap_chunks;  // of a database at a path: columns in memory and on disk
  uint64_t oltp_cpu_ns = 0;  // CPU time of the side's threads, of all databases of the process
  uint64_t olap_cpu_ns = 0;

  size_t data_memory_bytes() const { return oltp_memory_bytes + olap_memory_bytes; }
  // Commits that the replica does not show yet.
  uint64_t backlog_vids() const {
    return last_vid > replica_vid ? last_vid.value - replica_vid.value : 0;
  }
};

}  // namespace diptych::dispatcher
