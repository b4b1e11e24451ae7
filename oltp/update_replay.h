// UpdateReplay: the updates of some batches of a physical log, put back by all workers: each takes
// a table, the largest one first, until none is left. Tables are independent of each other, since
// a record names all that it changes.
//
// Threads    run() by each worker, once, at the same time; the rest by the leader.

#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "oltp/engine_core.h"
#include "oltp/worker.h"
#include "propagation/export/record_run.h"

namespace diptych::oltp {

class UpdateReplay {
 public:
  UpdateReplay(EngineCore* core, std::span<const propagation::BatchRuns> batches);

  void run(Worker* worker);
  // kCorrupt: as TableReplay; or updates of a table that is not there, of which nothing was done.
  // kOutOfMemory.
  base::Result<void> result() const;

 private:
  struct Part {
    base::TableId table;
    size_t bytes = 0;  // of records
    base::Result<void> applied;
  };

  EngineCore* const core_;
  const std::span<const propagation::BatchRuns> batches_;
  std::vector<Part> parts_;      // of tables that have records
  std::atomic<size_t> next_{0};  // writers: the workers; of parts_
};

}  // namespace diptych::oltp
