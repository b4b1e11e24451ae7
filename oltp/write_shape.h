// WriteShape: what an update of certain columns of a table needs to know, worked out once.
//
// A procedure names the columns of an update in its source, so there are few shapes, and every
// update of the same columns has the same one: which words of the row to keep an image of, what to
// look after besides, and how the export's record is laid out.
//
// A transaction that updates a row at several places of its source makes one record of it, of the
// columns of all of them: a union of shapes, of which there may be as many as there are subsets of
// the columns. Beyond kJoinedMax of a table, all columns of the column groups in question stand for
// any further one, but those of the primary key, and long strings where none is in question. The
// record has then cells that are as they were, of groups that the transaction owns.
//
// Threads    WriteShapes: one worker's. A shape stays where it is until clear(), by the leader
//            between batches.
// Memory     of a table: a shape for each choice of columns that the source has, kJoinedMax, and
//            two for each combination of column groups.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "oltp/row_version.h"
#include "propagation/export/update_set.h"

namespace diptych::oltp {

struct Table;

struct WriteShape {
  WriteShape(const Table& of_table, std::span<const base::ColumnId> of_columns);

  bool has_all_of(const WriteShape& other) const {
    return std::includes(columns.begin(), columns.end(), other.columns.begin(),
                         other.columns.end());
  }

  const Table* table;
  std::vector<base::ColumnId> columns;  // ascending
  // The columns' group; where they are of several ones, it is the parts' that count.
  uint32_t group = 0;
  std::vector<const WriteShape*> parts;  // one a group; none where there is one group only
  uint8_t flags = 0;                     // of ColumnFlag: what holds for any of the columns
  bool is_plain = false;                 // one group, and no flag: only images are to be kept
  bool is_widened = false;               // joined() gives it for others that are less
  std::vector<WordSpan> words;           // of the row, that the columns lie in: ascending, apart
  size_t image_bytes = 0;                // of BeforeImages of all these words
  propagation::UpdatePieces pieces;
};

class WriteShapes {
 public:
  static constexpr size_t kJoinedMax = 64;  // of a table

  // The columns in any order, each once.
  const WriteShape& of(const Table& table, std::span<const base::ColumnId> columns) {
    Place& place = places_[reinterpret_cast<uintptr_t>(columns.data()) / 2 % kPlaces];
    if (place.table != &table || place.count != columns.size() ||
        !std::equal(columns.begin(), columns.end(), place.columns.begin())) [[unlikely]] {
      return find_anew(table, columns, &place);
    }
    return *place.shape;
  }
  // Of both shapes' columns at least; they are of one table.
  const WriteShape& joined(const WriteShape& a, const WriteShape& b);
  // The tables' indexes have changed.
  void clear();

 private:
  // The columns of an update are a constant, whose address nearly always tells which.
  struct Place {
    const Table* table = nullptr;
    const WriteShape* shape = nullptr;
    size_t count = 0;
    std::array<base::ColumnId, 8> columns;  // as they were named; of more, none are remembered
  };
  static constexpr size_t kPlaces = 64;

  const WriteShape& find_anew(const Table& table, std::span<const base::ColumnId> columns,
                              Place* place);

  // Of columns that ascend. nullptr: there is none yet.
  WriteShape* look_up(const Table& table, std::span<const base::ColumnId> columns);
  WriteShape& find(const Table& table, std::span<const base::ColumnId> columns);
  WriteShape& add(const Table& table, std::span<const base::ColumnId> columns);
  void add_parts(WriteShape* shape);
  const WriteShape& widened(const Table& table, std::span<const base::ColumnId> columns);

  std::array<Place, kPlaces> places_;
  std::unordered_multimap<size_t, std::unique_ptr<WriteShape>> shapes_;  // by hash
  std::unordered_map<const Table*, size_t> joined_count_;
};

}  // namespace diptych::oltp
