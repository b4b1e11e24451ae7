// DifferingRows: which rows of a vector differ in columns of texts that come again (TextCodes).
// What is the same for equal texts is done for these rows, and its result spread to the others.
//
//   codes of l_returnflag   0 0 1 0 2 1     of l_linestatus   0 1 1 0 0 1
//   number                  0 1 2 0 3 2     rows that differ: 0, 1, 2, 4
//
// Rows that differ in their codes may have equal texts, where two entries are one.
//
// Cost       1 ns for a row and column.
// Threads    one worker.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class DifferingRows {
 public:
  // The rows that differ in a column, or in the numbers, of which the k-th selected row has
  // numbers[k] < number_count; nullptr: all have one. False: a column has no codes, and is not
  // constant either, or most rows differ, or might. Two NULLs do not differ. Benchmark:
  // BM_DifferingRows.
  bool find(const uint32_t* numbers, uint32_t number_count, std::span<const Vector> columns,
            const Selection& rows);

  // The first row of each number, ascending; after find().
  const Selection& first_rows() const { return first_rows_; }
  // to[j] = values[k], where the j-th of the first rows is the k-th selected one.
  void gather(const uint32_t* values, uint32_t* to) const;
  // to[k] = values[j], where the k-th selected row is as the j-th of the first rows.
  void spread(const uint32_t* values, uint32_t* to) const;

 private:
  // Tells the numbers apart by another column as well.
  void refine(const Vector& column, const Selection& rows);

  Selection first_rows_;
  uint32_t rows_ = 0;
  uint32_t count_ = 0;               // of numbers
  std::vector<uint32_t> numbers_;    // [k]
  std::vector<uint32_t> first_;      // [number]: its first row's k
  std::vector<uint32_t> number_of_;  // [number before * entries + code]
};

}  // namespace diptych::olap
