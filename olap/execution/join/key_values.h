// KeyValues: a set of integers as bits. KeyColumnSet: the values that one column of a join's keys
// has on the build side.
//
// A join whose keys are hashed cannot say cheaply whether a probe row has a match. But a row whose
// value in one key column does not occur has none. If the build side has few rows, one column drops
// most probe rows before their other columns are read (join_filter.h):
//
//   sales joined with 1,000 returns by (order, item)      set of orders: 1 of 60 sales is left
//
// Threads    immutable once made.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "olap/execution/key/dense_keys.h"
#include "olap/execution/key/key_places.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/column_range.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

struct KeyValues {
  int64_t min;
  std::vector<uint64_t> bits;  // bit i: min + i is in the set

  bool has_all(const KeyValues& others) const;
};

class KeyColumnSet {
 public:
  // The values of a column, of type kInt32 or kInt64, of the table's keys. nullopt if there are no
  // keys, or if the values lie over more than `places_max` places.
  static std::optional<KeyColumnSet> make(const KeyTable& table, const KeyPacker& packer,
                                          size_t column, PhysicalType type, uint64_t places_max,
                                          const StopSignal& stop);

  // The number of the key column.
  size_t column() const { return column_; }
  const ValueBounds& bounds() const { return bounds_; }
  KeyValues values() const { return {bounds_.min, places_.taken(dense_.size())}; }
  // Selects the rows whose value is in the set. *in_set may be `rows`.
  void select(const Vector& values, const Selection& rows, Selection* in_set) const;
  size_t memory_bytes() const { return places_.memory_bytes(); }

 private:
  KeyColumnSet(size_t column, const ValueBounds& bounds, DenseKeys dense)
      : column_(column), bounds_(bounds), dense_(std::move(dense)) {}

  size_t column_;
  ValueBounds bounds_;
  DenseKeys dense_;
  KeyPlaces places_;
};

}  // namespace diptych::olap
