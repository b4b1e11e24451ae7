// TableSample: the values of some rows of a table in every column, as the newest snapshot has them.
//
//   ordinals ──ChangeWatch: by hash, one in 2^level──► drawn rows ──► slots ──► SampledColumn
//   rows that changed ──drawn alone──────────────────► their slots are read again
//
// A table of at most so many rows is looked at whole. Where it has grown or shrunk past a limit, it
// is drawn anew at another level, which is at about every doubling.
//
// A column that is not in memory is not read for it. Its sample stays as it was, or missing, until
// all that changed since is in memory.
//
// Threads    the dispatcher's, between batches. What sample() gives is immutable, for any thread.
// Cost       a refresh: the drawn rows that changed, in the columns that did; a copy of such a
//            column's values. A draw reads all (BM_DrawTable).
//
// Invariants
//   T1  Between two refreshes, slots are those of the drawn rows that lived at the last one.
//   T2  Of a column without unread slots, values are those of that snapshot.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/schema.h"
#include "olap/column_sample.h"
#include "storage/change_watch.h"
#include "storage/table.h"

namespace diptych::olap {

inline constexpr uint64_t kSampledRows = 8192;  // at most a quarter more
inline constexpr uint64_t kSampledTexts = 256;  // of each column of texts: likewise

class TableSample {
 public:
  using Changes = std::vector<storage::ChangeWatch::Changes>;  // by PartitionId

  // `levels`: of another sample of the table, for one of the same rows.
  struct Levels {
    uint32_t rows = 0;
    uint32_t texts = 0;
    bool operator==(const Levels&) const = default;
  };
  TableSample(const base::TableSchema& schema, Levels levels);
  explicit TableSample(const base::TableSchema& schema) : TableSample(schema, Levels()) {}

  // Brings it to the table as it stands. `changed`: by ColumnId, whether the table's changes() of
  // the column went up.
  void refresh(storage::Table* table, const Changes& changes, const std::vector<bool>& changed);

  // nullptr: not all of it was in memory so far.
  SampledColumnPtr sample(base::ColumnId column) const { return columns_[column.value].sample; }
  bool lacks_some() const;  // that were not in memory
  Levels levels() const { return levels_; }

 private:
  using Slot = uint32_t;
  struct Place {  // of a row that was drawn
    base::Tid tid;
    Slot slot;
    auto operator<=>(const Place&) const = default;
  };
  struct Column {
    base::DataType type;
    std::vector<double> numbers;  // by slot, as far as they are read
    SampledTexts texts;
    SampledValuesPtr given;                      // the numbers, some snapshots ago
    std::vector<SampledColumn::Change> changes;  // since
    SampledTextsPtr given_texts;                 // nullptr: they are others
    std::vector<Place> unread;                   // by TID
    bool is_old = false;                         // the sample, of what is read
    SampledColumnPtr sample;

    void clear();
    bool has_many_changes() const;
    void set_number(Slot slot, double number);
    void set_text(Slot slot, std::optional<std::string_view> text);  // nothing: it keeps none
    void give_out(SampledColumn::Extent extent, uint64_t table_rows);
  };

  // Both: the rows to be read, by TID.
  std::vector<Place> draw(storage::Table* table);
  std::vector<Place> follow(const storage::Table& table, const Changes& changes);
  Slot take_slot(base::Tid tid);
  void drop_slot(Slot slot);
  bool is_current(const Place& place) const {
    return slots_[place.slot].lives && slots_[place.slot].tid == place.tid;
  }
  void add_unread(const std::vector<Place>& places, Column* column) const;
  void refresh_column(const storage::Table& table, base::ColumnId id);
  // Reads the first of these places that lie in one leaf; how many: none where it is not in memory.
  size_t read_leaf(const storage::Table& table, base::ColumnId id, std::span<const Place> places,
                   Column* column) const;
  // How many of these places, of which there are some, lie in the first one's leaf.
  static size_t places_of_leaf(const storage::Table& table, std::span<const Place> places);

  struct Owner {
    base::Tid tid;
    bool lives = false;
  };
  Levels levels_;
  uint64_t rows_ = 0;
  std::vector<Owner> slots_;
  std::vector<Slot> free_;
  std::vector<Slot> gone_;  // in this refresh; some of them have other rows since
  std::unordered_map<uint64_t, Slot> slot_of_;  // by TID
  std::vector<Column> columns_;                 // by ColumnId
};

}  // namespace diptych::olap
