// DenseKeys: numbers the values of an integer key, of one or more columns, without a hash table.
//
// If column i has the bounds [min_i, max_i], key (k_0, k_1, ...) has the number
// sum((k_i - min_i) * stride_i), where a column's stride is the product of the ranges of the
// columns after it in the given order. So a look-up is arithmetic over whole vectors, and an array
// holds the data of each key.
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
  // Returns nullopt if there would be more than size_max numbers (at most 2^31). If a column has no
  // value, there are no keys. `order` lists the columns by descending stride; if it is empty, the
  // columns keep their order.
  static std::optional<DenseKeys> make(std::span<const ValueBounds> bounds, uint64_t size_max,
                                       std::span<const uint32_t> order = {});

  uint32_t size() const { return size_; }

  // Sets numbers[slot] of the selected slots (of all slots, if is_dense(rows)) to the number of the
  // key, or to size() if a column is null or out of bounds. The vectors are kInt32 or kInt64.
  // Benchmark: BM_DenseKeys.
  void number(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const;

 private:
  struct Column {
    int64_t min;
    uint64_t range;  // number of values
    uint32_t stride;
  };

  bool number_at_once(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const;

  std::vector<Column> columns_;
  uint32_t size_ = 0;
};

}  // namespace diptych::olap
