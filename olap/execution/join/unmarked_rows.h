// The build rows that have no mark yet: UnmarkedRows by key, UnmarkedPlaces in the order of
// RangeRows. Joins that mark the build rows with a match (kBuildSemi, kBuildAnti) need no further
// pair of a marked row.
//
// Threads    one worker's.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/join/join_table.h"
#include "olap/execution/join/range_rows.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/threads/workers.h"

namespace diptych::olap {

// The build rows that matched, a bit for each row.
using MatchedRows = std::vector<uint64_t>;

class UnmarkedRows {
 public:
  // True if some key has enough rows.
  static bool pay(const JoinTable& table);
  UnmarkedRows(const JoinTable& table, MemoryBudget* memory);

  // The range of i for which row(i) is an unmarked row of key `number`; `marks` is their count now.
  RowRange find(uint32_t number, const MatchedRows& matched, uint32_t marks);
  uint32_t row(uint64_t index) const { return rows_[index]; }

 private:
  struct Key {
    uint32_t begin;
    uint32_t end;
    uint32_t marks;  // the count when its rows were last checked
  };
  // With fewer rows, checking the marks takes as long as comparing some rows again.
  static constexpr uint32_t kRowsMin = 16;

  MemoryCharge charge_;
  std::vector<Key> keys_;
  std::vector<uint32_t> rows_;  // by key, unmarked rows first
};

// Marked places that follow each other are passed in one step once they were met: a union-find
// (Tarjan, J. ACM 22(2), 1975) with paths that are compressed.
class UnmarkedPlaces {
 public:
  UnmarkedPlaces(const RangeRows& rows, MemoryBudget* memory);

  // The first unmarked place from `place` on, or the number of places.
  uint32_t from(uint32_t place, const MatchedRows& matched);

 private:
  const RangeRows& rows_;
  MemoryCharge charge_;
  std::vector<uint32_t> next_;  // by place, and one more: itself unless the place is marked
};

}  // namespace diptych::olap
