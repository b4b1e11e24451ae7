// TableSample: the values of some rows of a table in every column, at the newest snapshot.
//
//   ordinals ──ChangeWatch: by hash, one in 2^level──► drawn rows ──► slots ──► SampledColumn
//   changed rows ──only the drawn ones────────────────► their slots are read again
//
// The sample of a small table contains every row. When a table has grown or shrunk past a limit,
// at about every doubling, a new sample is drawn at another level.
//
// A column that is not in memory is not read for its sample. The sample stays as it was, or
// missing, until all later changes are in memory.
//
// Threads    the dispatcher's thread, between batches. Any thread may use the immutable result of
//            sample().
// Cost       a refresh reads the drawn rows that changed, in the columns that changed, and copies
//            the values of such columns. A draw reads all drawn rows (BM_DrawTable).
//
// Invariants
//   T1  Between two refreshes, the slots belong to the drawn rows that lived at the last one.
//   T2  A column without unread slots has the values of that snapshot.

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
inline constexpr uint64_t kSampledTexts = 256;  // for each text column; likewise

class TableSample {
 public:
  using Changes = std::vector<storage::ChangeWatch::Changes>;  // by PartitionId

  // The sampling levels. A sample with the levels of another one draws the same rows.
  struct Levels {
    uint32_t rows = 0;
    uint32_t texts = 0;
    bool operator==(const Levels&) const = default;
  };
  TableSample(const base::TableSchema& schema, Levels levels);
  explicit TableSample(const base::TableSchema& schema) : TableSample(schema, Levels()) {}

  // Updates the sample to the table's current state. `changed` is by ColumnId and says whether the
  // table's changes() of the column went up.
  void refresh(storage::Table* table, const Changes& changes, const std::vector<bool>& changed);

  // nullptr if the column has not been fully in memory so far.
  SampledColumnPtr sample(base::ColumnId column) const { return columns_[column.value].sample; }
  bool lacks_some() const;  // true if some column was not in memory
  Levels levels() const { return levels_; }

 private:
  using Slot = uint32_t;
  struct Place {  // the place of a drawn row
    base::Tid tid;
    Slot slot;
    auto operator<=>(const Place&) const = default;
  };
  struct Column {
    base::DataType type;
    std::vector<double> numbers;  // by slot, as far as they have been read
    SampledTexts texts;
    SampledValuesPtr given;                      // the numbers, some snapshots ago
    std::vector<SampledColumn::Change> changes;  // since
    SampledTextsPtr given_texts;                 // nullptr: the texts have changed
    std::vector<Place> unread;                   // by TID
    bool is_old = false;                         // `sample` lacks values that have been read
    SampledColumnPtr sample;

    void clear();
    bool has_many_changes() const;
    void set_number(Slot slot, double number);
    void set_text(Slot slot, std::optional<std::string_view> text);  // nullopt: drops the text
    void give_out(SampledColumn::Extent extent, uint64_t table_rows);
  };

  // Both return the rows that have to be read, by TID.
  std::vector<Place> draw(storage::Table* table);
  std::vector<Place> follow(const storage::Table& table, const Changes& changes);
  Slot take_slot(base::Tid tid);
  void drop_slot(Slot slot);
  bool is_current(const Place& place) const {
    return slots_[place.slot].lives && slots_[place.slot].tid == place.tid;
  }
  void add_unread(const std::vector<Place>& places, Column* column) const;
  void refresh_column(const storage::Table& table, base::ColumnId id);
  // Reads the first of these places, as far as they lie in one leaf, and returns their number; 0 if
  // the leaf is not in memory.
  size_t read_leaf(const storage::Table& table, base::ColumnId id, std::span<const Place> places,
                   Column* column) const;
  // The number of these places (at least one) that lie in the leaf of the first.
  static size_t places_of_leaf(const storage::Table& table, std::span<const Place> places);

  struct Owner {
    base::Tid tid;
    bool lives = false;
  };
  Levels levels_;
  uint64_t rows_ = 0;
  std::vector<Owner> slots_;
  std::vector<Slot> free_;
  std::vector<Slot> gone_;  // slots freed in this refresh; some have been taken again
  std::unordered_map<uint64_t, Slot> slot_of_;  // by TID
  std::vector<Column> columns_;                 // by ColumnId
};

}  // namespace diptych::olap
