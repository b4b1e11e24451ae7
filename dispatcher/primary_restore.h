// restore_primary: fills the OLTP replica, which is empty, from the columnar one: when a database
// is opened, and when its primary was lost.
//
//   leaves of all tables ──► rows in their slots, keys noted  ──► indexes, in steps ──► whole
//        side by side, the next ones' chunks on their way            side by side
//
// Threads    the caller, who waits, and one for each of `cores` (pinned to all of them), while
//            nobody uses either replica.
// Benchmark  diptych bench recovery

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/schema.h"
#include "oltp/engine.h"
#include "storage/table.h"

namespace diptych::dispatcher {

struct PrimaryRestoreOptions {
  std::vector<uint32_t> cores;  // empty: as many threads as the machine has, not pinned
  // Called now and then, by any of the threads, one at a time.
  std::function<void(uint64_t rows_done, uint64_t rows)> progress = nullptr;
};

// kIo, kCorrupt: they name the table. The engine is then useless.
base::Result<void> restore_primary(const base::Catalog& catalog, const storage::Replica& replica,
                                   oltp::Engine* engine, const PrimaryRestoreOptions& options);

}  // namespace diptych::dispatcher
