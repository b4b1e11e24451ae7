#include "oltp/update_replay.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "oltp/engine_state.h"
#include "oltp/table_replay.h"

namespace diptych::oltp {

UpdateReplay::UpdateReplay(EngineCore* core, std::span<const propagation::BatchRuns> batches)
    : core_(core), batches_(batches) {
  std::vector<size_t> bytes(core->tables.size());
  for (const propagation::BatchRuns& batch : batches) {
    for (const propagation::RecordRun& run : batch.runs) {
      if (run.table.value < bytes.size()) {
        bytes[run.table.value] += run.records.size();
        continue;
      }
      const base::Error missing(
          base::ErrorCode::kCorrupt,
          fmt::format("an update of table {}, which is not there", run.table.value));
      parts_.assign(1, {.table = run.table, .applied = missing});
      // relaxed: the workers come later.
      next_.store(1, std::memory_order_relaxed);
      return;
    }
  }
  for (uint32_t id = 0; id < bytes.size(); ++id) {
    if (bytes[id] != 0) parts_.push_back({.table = base::TableId(id), .bytes = bytes[id]});
  }
  std::sort(parts_.begin(), parts_.end(),
            [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
}

void UpdateReplay::run(Worker* worker) {
  // relaxed: it only shares out the work.
  for (size_t i = 0; (i = next_.fetch_add(1, std::memory_order_relaxed)) < parts_.size();) {
    Part& part = parts_[i];
    try {
      part.applied = TableReplay(core_, &core_->table(part.table), worker).apply(batches_);
    } catch (const std::bad_alloc&) {
      part.applied = base::ErrorCode::kOutOfMemory;
    }
  }
}

base::Result<void> UpdateReplay::result() const {
  for (const Part& part : parts_) {
    if (!part.applied) return part.applied;
  }
  return {};
}

base::Result<void> Engine::replay_updates(std::span<const propagation::BatchRuns> batches) {
  EngineCore& core = state_->core;
  UpdateReplay replay(&core, batches);
  state_->run_on_workers(&replay);
  base::Result<void> applied = replay.result();
  // release: pairs with the acquire at a transaction's begin (C1).
  if (applied) core.last_vid.store(batches.back().last.value, std::memory_order_release);
  state_->reach_boundary();
  return applied;
}

}  // namespace diptych::oltp
