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
  // Memory for data: rows, their texts and versions, indexes, columns, and updates on their way.
  // Over it, calls, loads and new indexes that need more for rows, texts and index entries fail
  // with kOutOfMemory; all else goes on (docs/operations.md). 0: three quarters of the machine's.
  size_t data_memory_bytes_max = 0;
  // Rows of a compressed block: a power of two from 2^10 to 2^18; fixed when the database is
  // created, like `partitions`.
  uint32_t block_rows = storage::kBlockRowsDefault;
  // Columns of all tables settle, and not only of those WITH (settled = on): storage/settling.h.
  base::Settled settled = base::Settled::kOff;
  uint32_t partitions = 0;  // of each replicated table; 0: one per OLAP thread, at least 2
  IsolationLevel isolation = IsolationLevel::kSnapshot;  // of procedures that do not say it
  // Limits on admitted, unanswered calls and queries (a query_batch counts once): for callers
  // without a client, by priority; and for each client (dispatcher/client.h). `clients_max` limits
  // the clients of each priority.
  uint32_t queue_requests = 4096;
  uint32_t client_requests = 256;
  uint32_t queue_queries = 1024;
  uint32_t client_queries = 64;
  uint32_t clients_max = 1024;
  uint32_t batch_requests_max = 1024;
  // Further queries wait for a later batch, by priorities and clients in turn. A smaller limit
  // makes priorities take effect sooner, but shares less.
  uint32_t batch_queries_max = 1024;
  uint64_t push_limit_ns = 5'000'000;       // no update waits longer before it is pushed
  uint64_t apply_interval_ns = 20'000'000;  // applied this often though no query asks
  // Updates waiting for the replica; above this, OLTP batches wait. 0: 1 GiB, or a sixteenth of the
  // machine's memory where that is less.
  size_t pending_update_bytes_max = 0;
  size_t query_memory_bytes_max = 0;  // that a query may keep while it runs, its result included;
                                      // over it: kOutOfMemory. 0: a quarter of the machine's memory
  // The same of all queries that run, and of results for as long as somebody holds them; the query
  // that would pass it fails alone. 0: half of the machine's memory.
  size_t queries_memory_bytes_max = 0;
  // A query that has run alone for `long_query_ns`, or is estimated to handle `long_query_rows`
  // rows over all operators, starts again in the long lane (dispatcher/long_lane.h) on its own
  // snapshot, where it delays nobody. 0: never. At most `long_queries_max` run there at once.
  // Queries that scan together for `long_query_ns` start again alone; a pass of star queries
  // (olap/execution/star/star_batch.h) is not ended by it.
  uint64_t long_query_ns = 0;
  double long_query_rows = 0;
  uint32_t long_queries_max = 1;
  // How often a transaction is retried after conflicts before its call fails with kConflict.
  uint32_t conflicts_max = 1000;
  // Operations and scanned rows of one transaction; above this its call fails, since an endless
  // procedure would block all others.
  uint64_t operations_max = 10'000'000;
  uint64_t slow_procedure_ns = 1'000'000'000;  // runs longer than this are reported; 0: none
  LogMode log = LogMode::kCommand;             // of a database at a path
  size_t log_file_bytes = size_t{64} << 20;    // a full file is followed by a new one
  // A background checkpoint starts after this much log, or after this interval if anything changed;
  // 0: never. It writes at most `checkpoint_bytes_per_second`; 0: unlimited. Its cost to
  // transactions grows with that rate; twice the default costs more than 3 % of them on two cores
  // (log_checkpoints in tests/workloads/durability_bench.cpp). Where the log that no checkpoint has
  // comes to 4 times `checkpoint_log_bytes` (of `log_file_bytes`, if that is more), it keeps to no
  // rate; at 8 times, transactions wait for it.
  uint64_t checkpoint_log_bytes = uint64_t{1} << 30;
  uint64_t checkpoint_interval_ns = 0;
  uint64_t checkpoint_bytes_per_second = uint64_t{32} << 20;
  DiskFaults faults;         // for tests
  uint64_t random_seed = 0;  // of the seeds that transactions get; 0: from the system
  // Called with the progress of a recovery. Without a listener, standard error has the progress of
  // one that takes over a second.
  RecoveryListener recovery_listener;
  // The start of transactions' now(); real time passes from there. nullopt: the system clock.
  std::optional<base::Timestamp> time_origin;
};

}  // namespace diptych::dispatcher
