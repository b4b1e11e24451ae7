// UnmarkedRows: of a key's build rows, those that have no mark yet, for joins that mark the build
// rows that have a match: no further pair is wanted of the others.
//
// Threads    one worker's.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/join/join_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/threads/workers.h"

namespace diptych::olap {

// The build rows that matched, a bit a row.
using MatchedRows = std::vector<uint64_t>;

class UnmarkedRows {
 public:
  // Whether some key has rows enough.
  static bool pay(const JoinTable& table);
  UnmarkedRows(const JoinTable& table, MemoryBudget* memory);

  // Those of key `number` are row(i) for i in the range; there are so many marks by now.
  RowRange find(uint32_t number, const MatchedRows& matched, uint32_t marks);
  uint32_t row(uint64_t index) const { return rows_[index]; }

 private:
  struct Key {
    uint32_t begin;
    uint32_t end;
    uint32_t marks;  // when its rows were looked at
  };
  // Of fewer rows the marks are not looked at: that took as long as to ask some of them again.
  static constexpr uint32_t kRowsMin = 16;

  MemoryCharge charge_;
  std::vector<Key> keys_;
  std::vector<uint32_t> rows_;  // of each key the unmarked ones first
};

}  // namespace diptych::olap
