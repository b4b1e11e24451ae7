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

namespace diptych::dispatcher {

class RowAssembler {
 public:
  RowAssembler(const base::RowLayout* layout, oltp::TableRestore* table, uint32_t lane);

  // Puts the leaf's live rows into the table. kIo, kCorrupt, and as TableRestore's.
  base::Result<void> restore(const storage::Leaf& leaf);

 private:
  base::Result<void> restore_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count);
  // Of the vector's live rows, to rows[i].
  void write_column(size_t column, uint32_t first, uint32_t count, std::byte* const* rows);
  void write_texts(const base::ColumnLayout& column, const storage::ColumnView& view,
                   std::byte* const* rows);

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
