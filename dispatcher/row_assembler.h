// RowAssembler: writes the rows of a leaf, column by column, to where they lie in the OLTP replica.
//
// For rebuilding it: when a database is opened, and when its primary was lost. A column is decoded
// a vector at a time, and goes out in one loop whose body knows the column's width.
//
// Threads    one, with its own lane of the TableRestore.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "oltp/table_restore.h"
#include "storage/leaf.h"
#include "storage/table.h"

namespace diptych::dispatcher {

class RowAssembler {
 public:
  // `rows`: the leaves are of this table.
  RowAssembler(const storage::Table& rows, oltp::TableRestore* table, uint32_t lane);

  // Puts the leaf's live rows into the table. kIo, kCorrupt, and as TableRestore's; kCorrupt, too:
  // one of them is not the partition's, whose updates would then be another one's.
  base::Result<void> restore(const storage::Leaf& leaf, base::PartitionId partition);

 private:
  base::Result<void> restore_vector(const storage::Leaf& leaf, base::PartitionId partition,
                                    uint32_t first, uint32_t count);
  // Of ids_.
  base::Result<void> check_partition(base::PartitionId partition) const;
  // Of the vector's live rows, to rows[i].
  void write_column(size_t column, uint32_t first, uint32_t count, std::byte* const* rows);
  void write_texts(const base::ColumnLayout& column, const storage::ColumnView& view,
                   std::byte* const* rows);

  const storage::Table& rows_;
  const base::RowLayout* layout_;
  oltp::TableRestore* table_;
  uint32_t lane_;
  std::vector<storage::PinnedColumn> pinned_;  // of the leaf; the RowIDs behind the last
  storage::DecodeBuffer buffer_;
  // The vector's live rows.
  std::vector<uint32_t> positions_;  // in it
  std::vector<base::RowId> ids_;
};

}  // namespace diptych::dispatcher
