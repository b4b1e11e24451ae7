// LeafColumns: the columns of a scan, loaded vector by vector as somebody asks for them.
//
// A column is pinned in memory from its first use in a morsel to the morsel's end, and decoded at
// most once a vector: where few rows are left, only at those.
//
// Threads    one worker.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/vector.h"
#include "storage/leaf.h"

namespace diptych::olap {

class LeafColumns {
 public:
  // Batch column i is table column columns[i], of types[i].
  LeafColumns(const std::vector<base::ColumnId>& columns, const std::vector<base::DataType>& types);

  size_t count() const { return columns_.size(); }
  // The loaded columns, and the selection, which is the caller's.
  Batch& batch() { return batch_; }

  // Goes on to rows [first, first + rows) of the leaf: nothing of them is loaded. `first` is a
  // multiple of kVectorRows. The leaf changes only after unpin().
  void start(const storage::Leaf& leaf, uint32_t first, uint32_t rows);
  // At these rows of the vector: who asks for a column again asks for no others. Fails the query
  // where the column cannot be read.
  void load(uint32_t column, const Selection& rows) {
    if (!loaded_[column]) read(column, rows);
  }
  // Which rows of the leaf pass, by the column's codes; nothing where it has to be loaded and
  // compared for that. Until unpin().
  std::optional<storage::encoding::ChunkTest> test(uint32_t column,
                                                   const storage::encoding::Predicate& predicate) {
    return pinned(column).test(predicate);
  }
  void unpin();
  // Adds the bytes of what is decompressed to *bytes.
  void count_decoded(uint64_t* bytes) { decoded_bytes_ = bytes; }

 private:
  void read(uint32_t column, const Selection& rows);
  const storage::PinnedColumn& pinned(uint32_t column);

  const std::vector<base::ColumnId> columns_;
  const storage::Leaf* leaf_ = nullptr;
  uint32_t first_ = 0;
  uint32_t rows_ = 0;
  uint64_t* decoded_bytes_ = nullptr;
  std::vector<storage::DecodeBuffer> buffers_;
  std::vector<std::optional<storage::PinnedColumn>> pinned_;  // for this morsel
  std::vector<bool> loaded_;                                  // for this vector
  Batch batch_;
};

// Selects the rows of the leaf that live, of [first, first + rows).
void select_live(const storage::Leaf& leaf, uint32_t first, uint32_t rows, Selection* selection);

}  // namespace diptych::olap
