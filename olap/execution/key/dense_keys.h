// DenseKeys: numbers the values of an integer key, of one column or several, without a table.
//
// With bounds [min_i, max_i] of each column, key (k_0, k_1, ...) has the number
// sum((k_i - min_i) * stride_i), where a column's stride is the product of the ranges of those that
// count for less: in the order given, the ones after it. So a lookup is arithmetic over whole
// vectors, and what belongs to a key is found in an array.
//
// Threads    immutable once built.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/vector/column_range.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class DenseKeys {
 public:
  // Nothing where there would be more than size_max numbers (at most 2^31). Where a column has no
  // value there are no keys. `order`: the columns, that which counts for most first; as they are
  // where it is empty.
  static std::optional<DenseKeys> make(std::span<const ValueBounds> bounds, uint64_t size_max,
                                       std::span<const uint32_t> order = {});

  uint32_t size() const { return size_; }

  // numbers[slot] for the selected slots (where is_dense(rows), for all): the number of its key,
  // or size() where a column is null or out of bounds. The vectors are kInt32 or kInt64.
  // Benchmark: BM_DenseKeys.
  void number(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const;

 private:
  struct Column {
    int64_t min;
    uint64_t range;  // values
    uint32_t stride;
  };

  bool number_at_once(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const;

  std::vector<Column> columns_;
  uint32_t size_ = 0;
};

}  // namespace diptych::olap
