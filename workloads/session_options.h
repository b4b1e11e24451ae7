// SessionOptions: what a loaded database is made with (workloads/session.h), for whichever runs.

#pragma once

#include <cstdint>
#include <string>

#include "base/topology.h"
#include "dispatcher/database_options.h"

namespace diptych::workloads {

enum class QuerySet : uint8_t {
  kCh,         // the 22 CH-benCHmark queries, in turn; those not supported yet are listed
  kTemplates,  // the 14 templates of BatchDB's appendix, with random parameters
  kGrouped,    // the same, each with a GROUP BY
};
// kConstant: New-Order deletes an old order, and so on (workloads/README.md).
enum class SizePolicy : uint8_t { kGrowing, kConstant };

// Of a run; clients of each side.
inline constexpr uint32_t kWarehousesMax = 100'000;
inline constexpr uint32_t kClientsMax = 100'000;
static_assert(kClientsMax <= dispatcher::kQueueMax, "each may have one call admitted");

struct SessionOptions {
  uint32_t warehouses = 1;
  uint32_t transaction_clients = 32;  // at most, of any run: the queues have room for so many
  uint32_t query_clients = 0;         // likewise
  QuerySet queries = QuerySet::kCh;
  SizePolicy size = SizePolicy::kGrowing;
  bool export_updates = true;
  dispatcher::ExportMode export_mode = dispatcher::ExportMode::kColumns;
  dispatcher::BlockForm blocks = dispatcher::BlockForm::kCompressed;
  uint64_t apply_interval_ns = 0;  // 0: the database's default
  uint64_t push_limit_ns = 0;      // 0: the database's default
  uint32_t queue_requests = 0;     // 0: the database's default, or as many as clients
  dispatcher::IsolationLevel isolation = dispatcher::IsolationLevel::kSnapshot;
  base::PlacementOptions placement;
  uint64_t seed = 42;
  dispatcher::LogMode log = dispatcher::LogMode::kNone;  // of a database that is kept
  uint64_t checkpoint_log_bytes = uint64_t{1} << 30;     // likewise: a checkpoint after so much
  double checkpoint_seconds = 0;                         // likewise, and after so long; 0: never
  double checkpoint_mib_per_second = 0;                  // 0: the database's default
  std::string keep_path;  // a new directory where the database is kept; empty: in memory only
};

}  // namespace diptych::workloads
