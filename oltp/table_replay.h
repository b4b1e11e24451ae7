// TableReplay: a table's updates in some batches of a physical log, put into its rows and indexes
// as they are, without the procedures that made them; and exported, as they were then.
//
// Batches go one after the other, in each the records in the order of their VIDs. Rows that die and
// keys that rows lose stay until their batch's boundary, as when it ran: behind it the slots are
// used again. What a record will need is fetched into the cache some records ahead.
//
// A transaction's records come row by row, so a row may get a unique key before another one gives
// it up. Who gets a key that another row has is noted, and asked again once the transaction ends.
//
// Threads    one worker's. Nobody else is at the table and its indexes meanwhile.
// Errors     kCorrupt: a record does not fit what is there, or gives a row a unique key that
//            another row keeps; the engine must then be discarded.

#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "oltp/engine_core.h"
#include "oltp/worker.h"
#include "propagation/export/record_run.h"

namespace diptych::oltp {

class TableReplay {
 public:
  TableReplay(EngineCore* core, Table* table, Worker* worker);

  // Those of the batches' runs that are the table's.
  base::Result<void> apply(std::span<const propagation::BatchRuns> batches);

 private:
  // Two rows with one key of a unique index, when the first of them got it.
  struct SharedKey {
    const TableIndex* index;
    base::RowId row_id;
    base::RowId other;
  };

  static constexpr size_t kRecordsAhead = 16;
  static constexpr uint32_t kRowsFetched = 16;  // of a record: the processor finds the others

  // Appends the batch's to records_, checked as far as one record tells.
  base::Result<void> gather(const propagation::BatchRuns& batch);
  void fetch(const propagation::UpdateRecord& record) const;
  base::Result<void> apply_record(const propagation::UpdateRecord& record);
  base::Result<void> apply_to_row(const propagation::UpdateRecord& record, base::RowId row_id);
  base::Result<void> apply_insert(const propagation::UpdateRecord& record, RowSlot* slot);
  base::Result<void> apply_cells(const propagation::UpdateRecord& record, base::RowId row_id,
                                 RowSlot* slot);
  // Moves the row in the indexes whose keys are in old_keys_.
  base::Result<void> apply_keys(base::RowId row_id, base::Vid vid, const std::byte* row);
  void insert_key(TableIndex* index, const base::Key& key, base::RowId row_id);
  // At the transaction's end.
  base::Result<void> check_shared_keys(base::Vid vid);
  void apply_delete(base::RowId row_id, base::Vid vid, RowSlot* slot);

  EngineCore* const core_;
  Table* const table_;
  Worker* const worker_;  // whose memory and slots they become
  // Hash indexes, where keys can be made of a record's row.
  std::vector<const TableIndex*> fetched_indexes_;

  std::vector<const propagation::UpdateRecord*> records_;
  std::vector<size_t> batch_ends_;       // in records_
  std::vector<SharedKey> shared_keys_;   // of the transaction under way
  std::vector<OldKey> old_keys_;         // of the update under way
  std::vector<std::byte> row_;           // likewise
  std::vector<base::ColumnId> columns_;  // likewise
};

}  // namespace diptych::oltp
