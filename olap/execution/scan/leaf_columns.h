// LeafReader: the columns of a leaf, for all scans that pass over it together. LeafColumns: the
// columns of one scan, loaded vector by vector on demand.
//
// A column is pinned in memory from its first use in a leaf until the reader begins with another
// leaf; otherwise, between two morsels of a leaf, chunks read ahead could evict it. Whole vectors
// are decoded once for all scans. If a scan has few rows left, only these rows are decoded, for
// that scan alone, unless the whole vector is decoded already.
//
//   LeafReader.begin                                                 next morsel
//   LeafReader.start ─► each scan: LeafColumns.start ─► load ...     next vector
//
// Memory     the texts of a dictionary that a buffer keeps from vector to vector (8 MiB at most)
//            count against the budget of each scan that reads the column.
// Threads    one worker.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/vector/vector.h"
#include "storage/leaf.h"

namespace diptych::olap {

class LeafReader {
 public:
  // Adds columns of the table that will be read; called before the first start().
  void add(const std::vector<base::ColumnId>& columns);

  // Goes on to a morsel of the leaf, and unpins the columns of another leaf.
  void begin(const storage::Leaf& leaf);
  // Goes on to rows [first, first + rows) of the leaf, without decoding anything. `first` is a
  // multiple of kVectorRows.
  void start(uint32_t first, uint32_t rows);

  uint32_t first() const { return first_; }
  uint32_t rows() const { return rows_; }
  // Pins the column. Fails the query if the column cannot be read.
  const storage::PinnedColumn& pinned(base::ColumnId column);

  struct Values {
    storage::ColumnView view;
    const TextCodes* coded = nullptr;  // the view's codes, valid as long as the view
    bool decoded = false;              // the values are in a buffer, not in the leaf's own memory
    bool is_new = false;               // this call decoded them
    size_t known_bytes = 0;            // of texts that the buffer keeps for further vectors
  };
  bool has_all(base::ColumnId column) const { return columns_[column.value].is_viewed; }
  // The values of all rows of the vector.
  Values all(base::ColumnId column);

 private:
  struct Column {
    std::optional<storage::PinnedColumn> pinned;
    storage::DecodeBuffer buffer;
    storage::ColumnView view;  // of the current vector
    bool decoded = false;
    bool is_viewed = false;
  };

  const storage::Leaf* leaf_ = nullptr;
  uint32_t first_ = 0;
  uint32_t rows_ = 0;
  std::vector<Column> columns_;  // by the table's column
};

class LeafColumns {
 public:
  // Batch column i is table column columns[i], of types[i]. The reader and the budget outlive this
  // object.
  LeafColumns(LeafReader* reader, const std::vector<base::ColumnId>& columns,
              const std::vector<base::DataType>& types, MemoryBudget* memory);

  size_t count() const { return columns_.size(); }
  // The loaded columns, and the selection, which belongs to the caller.
  Batch& batch() { return batch_; }

  // Goes on to the reader's vector, of which no column is loaded yet.
  void start() { std::fill(loaded_.begin(), loaded_.end(), false); }
  // Loads a column at these rows of the vector; a second call for a column must not ask for further
  // rows. Fails the query if the column cannot be read, or over its memory.
  void load(uint32_t column, const Selection& rows) {
    if (!loaded_[column]) read(column, rows);
  }
  // A filter on the column's codes for rows of the leaf; nullopt if the column has to be loaded and
  // compared. Valid until the reader begins with another leaf.
  std::optional<storage::encoding::ChunkFilter> filter(
      uint32_t column, const storage::encoding::Predicate& predicate) {
    return reader_.pinned(columns_[column]).filter(predicate);
  }
  // From now on adds the size of decompressed values to *bytes.
  void count_decoded(uint64_t* bytes) { decoded_bytes_ = bytes; }

 private:
  void read(uint32_t column, const Selection& rows);

  LeafReader& reader_;
  const std::vector<base::ColumnId> columns_;
  uint64_t* decoded_bytes_ = nullptr;
  std::vector<storage::DecodeBuffer> buffers_;  // for vectors with few rows
  std::vector<bool> loaded_;                    // in the current vector
  std::vector<size_t> known_bytes_;             // by column, when it was last read
  MemoryCharge charge_;                         // their sum
  Batch batch_;
};

// Selects the live rows among rows [first, first + rows) of the leaf.
void select_live(const storage::Leaf& leaf, uint32_t first, uint32_t rows, Selection* selection);

}  // namespace diptych::olap
