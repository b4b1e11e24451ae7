// KeyBounds: of each key of a join's table, what a probe row's value has to be beyond, so that a
// comparison which the join makes besides can hold for some of the key's rows.
//
//   build rows of a key: d = 5, 9, 7        probe rows with p > d have p > 5
//
// "There is a row with this key and a smaller d" is so a comparison with the least d, whatever the
// rows of the key are: EXISTS asks no pair of rows where it is the only predicate. Joins that mark
// build rows, and those that want the pairs, ask none for the probe rows that are not beyond.
//
// Threads    immutable once made.

#pragma once

#include <cstdint>
#include <optional>

#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

class KeyBounds {
 public:
  // Of the table's rows and their keys' numbers, below `keys`. Nothing where no predicate of the
  // join is <, <=, > or >= between an integer column of each side, or the table keeps no such
  // column.
  static std::optional<KeyBounds> make(const Operator& join, const ColumnStore& rows,
                                       const GrowingArray<uint32_t>& numbers, uint32_t keys,
                                       const StopSignal& stop);

  // Whether a row that passes has a match, since the join has no other predicate.
  bool decides() const { return decides_; }

  // Leaves the rows of a batch of the probe side that have a key and are beyond its bound.
  // numbers[k] = the number of the k-th row's key, or KeyTable::kNoKey; they go with the rows.
  void narrow(const Batch& batch, Selection* rows, uint32_t* numbers) const;

  size_t memory_bytes() const { return bounds_.bytes(); }

 private:
  KeyBounds() = default;
  template <class T>
  bool fill(const ColumnStore& rows, size_t column, const GrowingArray<uint32_t>& numbers,
            const StopSignal& stop);
  template <class T>
  void narrow_values(const Vector& values, Selection* rows, uint32_t* numbers) const;

  uint32_t probe_column_ = 0;
  bool above_ = false;      // the probe's value has to be above the bound, not below
  bool inclusive_ = false;  // >= or <=; the bounds are then one further
  bool decides_ = false;
  GrowingArray<int64_t> bounds_;  // by key number; then one that no value is beyond
};

}  // namespace diptych::olap
