// DifferingRows: finds rows of a vector that differ in text columns with dictionary codes and few
// entries (TextCodes). Work that depends only on the texts is done for these rows, and its results
// are spread to the others.
//
//   codes of l_returnflag   0 0 1 0 2 1     of l_linestatus   0 1 1 0 0 1
//   number                  0 1 2 0 3 2     rows that differ: 0, 1, 2, 4
//
// Rows with different codes may have equal texts, because two entries may be equal.
//
// Cost       1 ns for each row and column.
// Threads    one worker.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class DifferingRows {
 public:
  // Finds the rows that differ in a column or in a number; the k-th selected row has numbers[k] <
  // number_count (nullptr: all rows have the same number). Two NULLs do not differ. Returns false
  // if a column is neither constant nor coded with listed entries, or if most rows differ or might
  // differ. Benchmark: BM_DifferingRows.
  bool find(const uint32_t* numbers, uint32_t number_count, std::span<const Vector> columns,
            const Selection& rows);

  // After find(): the first row of each combination, ascending.
  const Selection& first_rows() const { return first_rows_; }
  // Sets to[j] = values[k], where the j-th of the first rows is the k-th selected row.
  void gather(const uint32_t* values, uint32_t* to) const;
  // Sets to[k] = values[j], where the k-th selected row equals the j-th of the first rows.
  void spread(const uint32_t* values, uint32_t* to) const;

 private:
  // Splits the numbers by the values of one more column.
  void refine(const Vector& column, const Selection& rows);

  Selection first_rows_;
  uint32_t rows_ = 0;
  uint32_t count_ = 0;               // how many numbers there are
  std::vector<uint32_t> numbers_;    // [k]
  std::vector<uint32_t> first_;      // [number]: the k of its first row
  std::vector<uint32_t> number_of_;  // [previous number * entries + code]
};

}  // namespace diptych::olap
