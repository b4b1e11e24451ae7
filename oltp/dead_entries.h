// DeadEntries: the index entries that a worker's transactions have made obsolete in the batch: of
// rows that they have erased, and under keys that they have changed.
//
// At the boundary all of them go. But a queue whose rows leave it again and again has them all at
// its head, and each scan would pass them. So when they have become many, those go that nobody
// needs any more: with one worker all, with several those whose row has not changed since the
// oldest snapshot (drop_unneeded). A later snapshot sees that the row is gone or has another key,
// and a transaction that reads no older state than the row's newest need not meet it when it
// validates its reads (read_set.h) or inserts the key.
//
// Who moves a row back to a key finds the entry or makes it, and owns the row meanwhile. So the
// row is owned while its entry goes, too.
//
// Threads    the worker within a batch; at the boundary whoever the leader lets.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "oltp/row_version.h"
#include "oltp/table.h"
#include "oltp/write.h"

namespace diptych::oltp {

class DeadEntries {
 public:
  // The row is erased, or was never seen. `has_entries`: under the keys in its bytes.
  void add_row(Table* table, RowSlot* slot, base::RowId row_id, bool has_entries) {
    rows_.push_back({table, slot, row_id, has_entries});
  }
  // The row may have, or have had, another key than this.
  void add_key(KeyChange change) { keys_.push_back(std::move(change)); }

  size_t count() const { return rows_.size() - rows_without_entries_ + keys_.size(); }
  bool are_many() const { return count() > many_; }

  // While nobody else is at the rows, or needs the entries.
  void drop();
  // While others run. `oldest_read` is the oldest VID that a transaction reads, or will read; the
  // Undos of the rows on the way stay in the arena.
  void drop_unneeded(base::Vid oldest_read, base::WorkerId worker, base::Arena* undo);

  // Calls bury(table, slot, row_id) for each dead row and forgets it.
  template <class Bury>
  void bury_rows(const Bury& bury) {
    for (const Row& row : rows_) bury(*row.table, *row.slot, row.row_id);
    rows_.clear();
    rows_without_entries_ = 0;
  }
  void clear() { *this = {}; }

 private:
  static constexpr size_t kManyMin = 128;

  struct Row {
    Table* table;
    RowSlot* slot;
    base::RowId row_id;
    bool has_entries;
  };

  std::vector<Row> rows_;
  size_t rows_without_entries_ = 0;  // the first ones
  std::vector<KeyChange> keys_;
  size_t many_ = kManyMin;  // twice as many as could not go the last time
};

}  // namespace diptych::oltp
