// LeafReader: the columns of a leaf, for all scans that go over it together; LeafColumns: those of
// one scan, loaded vector by vector as somebody asks for them.
//
// A column is pinned in memory from its first use in a leaf until the reader begins with another:
// between two morsels of a leaf, what is read ahead would take its place. Whole vectors are decoded
// once for all scans; where a scan has few rows left, only at those, for it alone, unless the whole
// vector is there.
//
//   LeafReader.begin                                                 next morsel
//   LeafReader.start ─► each scan: LeafColumns.start ─► load ...     next vector
//
// Threads    one worker.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/vector/vector.h"
#include "storage/leaf.h"

namespace diptych::olap {

class LeafReader {
 public:
  // Columns of the table that will be read; before the first start().
  void add(const std::vector<base::ColumnId>& columns);

  // Goes on to a morsel of the leaf. What is pinned of another one no longer is.
  void begin(const storage::Leaf& leaf);
  // Goes on to rows [first, first + rows) of the leaf: nothing of them is decoded. `first` is a
  // multiple of kVectorRows.
  void start(uint32_t first, uint32_t rows);

  uint32_t first() const { return first_; }
  uint32_t rows() const { return rows_; }
  // Fails the query where the column cannot be read.
  const storage::PinnedColumn& pinned(base::ColumnId column);

  struct Values {
    storage::ColumnView view;
    const TextCodes* coded = nullptr;  // the view's, as long as it stays
    bool decoded = false;              // into a buffer, not the leaf's own memory
    bool is_new = false;               // by this call
  };
  bool has_all(base::ColumnId column) const { return columns_[column.value].is_viewed; }
  // Of all rows.
  Values all(base::ColumnId column);

 private:
  struct Column {
    std::optional<storage::PinnedColumn> pinned;
    storage::DecodeBuffer buffer;
    storage::ColumnView view;  // of this vector
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
  // Batch column i is table column columns[i], of types[i]. The reader stays.
  LeafColumns(LeafReader* reader, const std::vector<base::ColumnId>& columns,
              const std::vector<base::DataType>& types);

  size_t count() const { return columns_.size(); }
  // The loaded columns, and the selection, which is the caller's.
  Batch& batch() { return batch_; }

  // Goes on to the reader's vector: nothing of it is loaded.
  void start() { std::fill(loaded_.begin(), loaded_.end(), false); }
  // At these rows of the vector: who asks for a column again asks for no others. Fails the query
  // where the column cannot be read.
  void load(uint32_t column, const Selection& rows) {
    if (!loaded_[column]) read(column, rows);
  }
  // Which rows of the leaf pass, by the column's codes; nothing where it has to be loaded and
  // compared for that. Until the reader begins with another leaf.
  std::optional<storage::encoding::ChunkTest> test(uint32_t column,
                                                   const storage::encoding::Predicate& predicate) {
    return reader_.pinned(columns_[column]).test(predicate);
  }
  // Adds the bytes of what is decompressed to *bytes.
  void count_decoded(uint64_t* bytes) { decoded_bytes_ = bytes; }

 private:
  void read(uint32_t column, const Selection& rows);

  LeafReader& reader_;
  const std::vector<base::ColumnId> columns_;
  uint64_t* decoded_bytes_ = nullptr;
  std::vector<storage::DecodeBuffer> buffers_;  // of vectors with few rows
  std::vector<bool> loaded_;                    // for this vector
  Batch batch_;
};

// Selects the rows of the leaf that live, of [first, first + rows).
void select_live(const storage::Leaf& leaf, uint32_t first, uint32_t rows, Selection* selection);

}  // namespace diptych::olap
