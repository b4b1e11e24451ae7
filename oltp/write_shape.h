// WriteShape: the precomputed data for an update of certain columns of a table: the words of the
// row that need images, the further work (indexes, strings), and the layout of the export's record.
//
// A procedure names the columns of an update in its source, so there are few shapes, and all
// updates of the same columns share one.
//
// A transaction that updates a row at several places of its source makes one record of the columns
// of all of them: a union of shapes. There may be as many unions as subsets of the columns. Beyond
// kJoinedMax of a table, a further union is replaced by all columns of its column groups, without
// those of the primary key, and without long strings if the union has none. The record then has
// cells that are unchanged, in groups that the transaction owns.
//
// Threads    WriteShapes: one worker. A shape stays in place until the leader calls clear() between
//            batches.
// Memory     for each table: a shape for each choice of columns in the source, kJoinedMax unions,
//            and two for each combination of column groups.

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
  // The columns' group. If they belong to several groups, the groups of the parts count.
  uint32_t group = 0;
  std::vector<const WriteShape*> parts;  // one a group; none where there is one group only
  uint8_t flags = 0;                     // of ColumnFlag: what holds for any of the columns
  bool is_plain = false;                 // one group, and no flag: only images are to be kept
  bool is_widened = false;               // joined() gives it for others that are less
  std::vector<WordSpan> words;           // of the row, that the columns lie in: ascending, apart
  size_t image_bytes = 0;                // of BeforeImages of all these words
  propagation::UpdateWriter writer;
};

class WriteShapes {
 public:
  static constexpr size_t kJoinedMax = 64;  // of a table

  // The shape of these columns, which may be in any order, each once.
  const WriteShape& of(const Table& table, std::span<const base::ColumnId> columns) {
    Place& place = places_[reinterpret_cast<uintptr_t>(columns.data()) / 2 % kPlaces];
    if (place.table != &table || place.count != columns.size() ||
        !std::equal(columns.begin(), columns.end(), place.columns.begin())) [[unlikely]] {
      return find_anew(table, columns, &place);
    }
    return *place.shape;
  }
  // A shape with at least the columns of both shapes, which belong to one table.
  const WriteShape& joined(const WriteShape& a, const WriteShape& b);
  // Drops all shapes, after the tables' indexes have changed.
  void clear();

 private:
  // The columns of an update are a constant, whose address nearly always identifies them.
  struct Place {
    const Table* table = nullptr;
    const WriteShape* shape = nullptr;
    size_t count = 0;
    std::array<base::ColumnId, 8> columns;  // as they were named; of more, none are remembered
  };
  static constexpr size_t kPlaces = 64;

  const WriteShape& find_anew(const Table& table, std::span<const base::ColumnId> columns,
                              Place* place);

  // The shape of ascending columns; nullptr if there is none yet.
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
