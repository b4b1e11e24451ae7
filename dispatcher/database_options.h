// DatabaseOptions: how a database is opened, and the bounds that it keeps (dispatcher/database.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/topology.h"
#include "base/types.h"
#include "dispatcher/database_reports.h"
#include "dispatcher/disk_faults.h"
#include "oltp/isolation.h"
#include "propagation/export/export_mode.h"
#include "storage/storage_options.h"

namespace diptych::dispatcher {

using oltp::IsolationLevel;
using propagation::ExportMode;
using storage::BlockForm;

// What makes transactions of a database at a path durable before their callers know of them.
enum class LogMode : uint8_t {
  kCommand,   // their calls are logged, and run again after a crash
  kPhysical,  // their updates are logged, and need no procedures to be replayed
  kNone,      // nothing: what committed after the last save is lost with the process
};

constexpr std::string_view to_string(LogMode mode) {
  switch (mode) {
    case LogMode::kCommand: return "command";
    case LogMode::kPhysical: return "physical";
    case LogMode::kNone: break;
  }
  return "none";
}

// The most that the options may ask for: of each queue and of clients; of the analytical side's
// threads, and of queries in the long lane.
inline constexpr uint32_t kQueueMax = 1U << 20;
inline constexpr uint32_t kThreadsMax = 1024;

enum class OpenMode : uint8_t { kOpen, kCreate, kOpenOrCreate };

struct DatabaseOptions {
  std::string path;  // a directory; empty: in memory, nothing is kept
  OpenMode mode = OpenMode::kOpenOrCreate;
  base::PlacementOptions placement;
  bool export_updates = true;  // off: the replica stays as it is, queries see old data
  // kRows: updates are exported as whole rows, to be measured; one OLTP worker only.
  ExportMode export_mode = ExportMode::kColumns;
  BlockForm blocks = BlockForm::kCompressed;  // kPlain: to be measured
  // Memory that the columns of the OLAP replica's blocks may take, for a database at a path; what
  // does not fit is read from its block file when a query wants it. 0: no limit.
  size_t olap_memory_bytes_max = 0;
  // Of a compressed block: a power of two from 2^10 to 2^18. Like the number of partitions, a
  // database keeps it from its creation on.
  uint32_t block_rows = storage::kBlockRowsDefault;
  // Columns of all tables settle, and not only of those WITH (settled = on): storage/settling.h.
  base::Settled settled = base::Settled::kOff;
  uint32_t partitions = 0;  // of each replicated table; 0: one per OLAP thread, at least 2. A
                            // database that exists keeps the number that it was created with
  IsolationLevel isolation = IsolationLevel::kSnapshot;  // of procedures that do not say it
  // Calls, and queries (a query_batch is one), admitted and not answered: of each priority by
  // callers without a client handle, and of each client (dispatcher/client.h). At most so many
  // clients of each priority.
  uint32_t queue_requests = 4096;
  uint32_t client_requests = 256;
  uint32_t queue_queries = 1024;
  uint32_t client_queries = 64;
  uint32_t clients_max = 1024;
  uint32_t batch_requests_max = 1024;
  // What more are queued wait for a later batch, by priorities and clients in turn. Fewer: the
  // priorities count sooner, and less is shared.
  uint32_t batch_queries_max = 1024;
  uint64_t push_limit_ns = 5'000'000;       // no update waits longer before it is pushed
  uint64_t apply_interval_ns = 20'000'000;  // applied this often though no query asks
  // Of updates that wait for the replica: then OLTP batches wait, too. 0: 1 GiB, or a sixteenth of
  // the machine's memory where that is less.
  size_t pending_update_bytes_max = 0;
  size_t query_memory_bytes_max = 0;  // that a query may keep while it runs, its result included;
                                      // over it: kOutOfMemory. 0: a quarter of the machine's memory
  // The same of all queries that run, and of results for as long as somebody holds them; the query
  // that would pass it fails alone. 0: half of the machine's memory.
  size_t queries_memory_bytes_max = 0;
  // A query that has run alone for so long, or whose plan is thought to handle so many rows (of all
  // its operators), goes to the long lane (dispatcher/long_lane.h), where it begins anew on a newer
  // snapshot of its own and holds nobody up; 0: none does. So many run at a time, the others wait.
  // Queries that scan together have so long together, too, and begin anew alone; a pass of star
  // queries (olap/execution/star/star_batch.h) is not ended by it.
  uint64_t long_query_ns = 0;
  double long_query_rows = 0;
  uint32_t long_queries_max = 1;
  // How often a transaction is run again that another one was in the way of; then its call fails
  // with kConflict.
  uint32_t conflicts_max = 1000;
  // Of one transaction, and rows that its scans look at. Over it the call fails: a procedure that
  // never ends would hold up all others.
  uint64_t operations_max = 10'000'000;
  uint64_t slow_procedure_ns = 1'000'000'000;  // who runs longer is reported; 0: nobody
  LogMode log = LogMode::kCommand;             // of a database at a path
  size_t log_file_bytes = size_t{64} << 20;    // a full file is followed by a new one
  // A checkpoint is written in the background after so much log, and where anything has changed
  // since the last one after so much time; 0: none. At most so many bytes a second; 0: no limit.
  // What it costs transactions while it runs goes with the rate; twice the default costs more than
  // 3 % of them on two cores (log_checkpoints in tests/workloads/durability_bench.cpp).
  uint64_t checkpoint_log_bytes = uint64_t{1} << 30;
  uint64_t checkpoint_interval_ns = 0;
  uint64_t checkpoint_bytes_per_second = uint64_t{32} << 20;
  DiskFaults faults;         // for tests
  uint64_t random_seed = 0;  // of the seeds that transactions get; 0: from the system
  // Of how far it is. Lines on standard error say it too, unless that is a terminal, which the
  // listener then has to itself.
  RecoveryListener recovery_listener;
  // Transactions' now(): the system's clock; or this, as the database opens, and real time on.
  std::optional<base::Timestamp> time_origin;
};

}  // namespace diptych::dispatcher
