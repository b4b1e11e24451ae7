#include "olap/execution/join/unmarked_rows.h"

#include <numeric>

namespace diptych::olap {

bool UnmarkedRows::pay(const JoinTable& table) {
  if (!table.has_keys() || table.unique()) return false;
  for (uint32_t key = 0; key < table.key_count(); ++key) {
    if (table.row_begin(key + 1) - table.row_begin(key) >= kRowsMin) return true;
  }
  return false;
}

UnmarkedRows::UnmarkedRows(const JoinTable& table, MemoryBudget* memory)
    : charge_(memory, "the build side of a join") {
  const uint32_t rows = table.row_begin(table.key_count());
  charge_.set(table.key_count() * sizeof(Key) + rows * sizeof(uint32_t));
  keys_.reserve(table.key_count());
  for (uint32_t key = 0; key < table.key_count(); ++key) {
    keys_.push_back({table.row_begin(key), table.row_begin(key + 1), 0});
  }
  rows_.reserve(rows);
  for (uint32_t i = 0; i < rows; ++i) rows_.push_back(table.build_row(i));
}

RowRange UnmarkedRows::find(uint32_t number, const MatchedRows& matched, uint32_t marks) {
  Key& key = keys_[number];
  if (key.end - key.begin >= kRowsMin && key.marks != marks) {
    key.marks = marks;
    uint32_t left = key.begin;
    for (uint32_t i = key.begin; i < key.end; ++i) {
      const uint32_t row = rows_[i];
      rows_[left] = row;
      left += static_cast<uint32_t>(!bit_at(matched.data(), row));
    }
    key.end = left;
  }
  return {key.begin, key.end};
}

UnmarkedPlaces::UnmarkedPlaces(const RangeRows& rows, MemoryBudget* memory)
    : rows_(rows), charge_(memory, "the build side of a join") {
  charge_.set((rows.places() + size_t{1}) * sizeof(uint32_t));
  next_.resize(rows.places() + size_t{1});
  std::iota(next_.begin(), next_.end(), 0);
}

uint32_t UnmarkedPlaces::from(uint32_t place, const MatchedRows& matched) {
  const uint32_t end = rows_.places();
  uint32_t first = place;
  while (first != end) {
    if (next_[first] == first) {
      if (!bit_at(matched.data(), rows_.row(first))) break;
      next_[first] = first + 1;
    }
    first = next_[first];
  }
  while (place != first) {
    const uint32_t next = next_[place];
    next_[place] = first;
    place = next;
  }
  return first;
}

}  // namespace diptych::olap
