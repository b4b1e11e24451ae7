// KeyBounds: for each key of a join's table, the bound that a probe row's value must pass so that a
// further order comparison of the join can hold for some of the key's rows.
//
//   build rows of a key: d = 5, 9, 7        probe rows with p > d have p > 5
//
// So "there is a row with this key and a smaller d" is one comparison with the least d, whatever
// the number of rows of the key. If it is the only predicate, EXISTS compares no pairs of rows.
// Joins that mark build rows, and joins that need the pairs, make none for probe rows within the
// bound.
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
  // Makes the bounds from the table's rows and their keys' numbers, which are below `keys`. nullopt
  // if no predicate of the join is <, <=, > or >= between an integer column of each side, or if the
  // table does not keep the column.
  static std::optional<KeyBounds> make(const Operator& join, const ColumnStore& rows,
                                       const GrowingArray<uint32_t>& numbers, uint32_t keys,
                                       const StopSignal& stop);

  // True if a row that passes has a match, because the join has no other predicate.
  bool decides() const { return decides_; }

  // Narrows the rows of a probe batch to those that have a key and pass its bound. numbers[k] is
  // the number of the k-th row's key, or KeyTable::kNoKey; the numbers are narrowed with the rows.
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
  bool inclusive_ = false;  // >= or <=; the stored bounds are then moved by one
  bool decides_ = false;
  GrowingArray<int64_t> bounds_;  // by key number; then one that no value passes
};

}  // namespace diptych::olap
