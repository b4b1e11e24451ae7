// UpdateReplay: a physical log's updates of one batch, put into rows and indexes as they are,
// without the procedures that made them; and exported, as they were then.
//
// Tables are independent of each other. In each, records go in the order of their VIDs. Rows that
// die and keys that rows lose stay until the batch boundary, as in a batch that runs.
//
// Threads    the leader alone, between batches.
// Errors     kCorrupt: a record does not fit what is there; the engine must then be discarded.

#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "oltp/engine_core.h"
#include "oltp/worker.h"
#include "propagation/export/record_run.h"

namespace diptych::oltp {

class UpdateReplay {
 public:
  UpdateReplay(EngineCore* core, Worker* worker) : core_(core), worker_(worker) {}

  // Those of the runs that are the table's.
  base::Result<void> apply(base::TableId table, std::span<const propagation::RecordRun> runs);

 private:
  base::Result<void> apply_record(Table* table, const propagation::UpdateRecord& record);
  base::Result<void> apply_insert(Table* table, const propagation::UpdateRecord& record,
                                  RowSlot* slot);
  base::Result<void> apply_cells(Table* table, const propagation::UpdateRecord& record,
                                 RowSlot* slot);
  // Moves the row in the indexes whose keys are in old_keys_.
  base::Result<void> apply_keys(Table* table, const propagation::UpdateRecord& record,
                                const std::byte* row);

  EngineCore* const core_;
  Worker* const worker_;  // whose memory and slots they become

  std::vector<const propagation::UpdateRecord*> records_;
  std::vector<OldKey> old_keys_;         // of the update under way
  std::vector<std::byte> row_;           // likewise
  std::vector<base::ColumnId> columns_;  // likewise
};

}  // namespace diptych::oltp
