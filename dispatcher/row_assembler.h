// RowAssembler: makes rows in the table's layout from the columns of a leaf, a vector at a time.
//
// For opening a database: the OLTP replica is rebuilt from the columnar one.
//
// Strings    a long string's cell points into the leaf or a buffer, until the next assemble().
// Threads    one.

#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "base/row_layout.h"
#include "storage/leaf.h"

namespace diptych::dispatcher {

class RowAssembler {
 public:
  explicit RowAssembler(const base::RowLayout* layout);

  // Assembles positions [first, first + count) of the leaf, dead ones included (theirs are
  // meaningless). `first` is a multiple of kVectorRows, count at most that. kIo, kCorrupt.
  base::Result<void> assemble(const storage::Leaf& leaf, uint32_t first, uint32_t count);

  // Row i of the last assemble(); its padding is zero.
  const std::byte* row(uint32_t i) const { return rows_.data() + size_t{i} * layout_->bytes; }

 private:
  void fill(const base::ColumnLayout& column, const storage::ColumnView& view, uint32_t count);

  const base::RowLayout* layout_;
  std::vector<storage::DecodeBuffer> buffers_;  // by column
  std::vector<storage::PinnedColumn> pinned_;   // by column: those of the last assemble()
  std::vector<std::byte> rows_;
};

}  // namespace diptych::dispatcher
