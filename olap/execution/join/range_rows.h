// RangeRows: the build rows of each key in the order of a value that the join's comparisons bound,
// so that a range join does not compare every pair of rows. RangeFinder finds the ranges for the
// rows of a batch.
//
//   on p.at >= b.first and p.at < b.last          the build rows in the order of `first`:
//
//     place    0   1   2   3   4       p.at = 8: binary search in `first` gives the places [0, 3).
//     first    1   4   4   9  12       Of these, the rows whose `last` is at least 8 are wanted: 2.
//     last     3   6   9  11  20       Maxima of `last` over places lead to the next such place.
//
// One value of the build side, a column or an expression, orders the rows. Comparisons with it
// bound the range from below, from above, or both. A comparison of another value uses the maxima.
// With one bound each way this is an interval tree in arrays (Cormen et al., Introduction to
// Algorithms, 17.3). For joins with keys, the rows of each key are ordered.
//
// Superset   a range may hold rows that do not match, because values are compared by the eight
//            bytes of their order (sort_prefix.h), and < as <=. The join tests its predicates on
//            every pair. A row with a NULL is in no range.
//
// Threads    RangeRows is immutable once made. A RangeFinder belongs to one worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

// True if comparisons of the join bound a value of its build side.
bool has_ranges(const Operator& join);

class RangeRows {
 public:
  // For fewer rows of a key, comparing all of them is as fast.
  static constexpr uint32_t kRowsMin = 64;

  // The rows of key n are by_key[i] for i in [starts[n], starts[n + 1]). Both are empty for a join
  // without keys, whose rows count as those of one key. nullopt: no comparison of the join bounds a
  // value of the build side, or no key has kRowsMin rows.
  static std::optional<RangeRows> make(const Operator& join, const ColumnStore& rows,
                                       const GrowingArray<uint32_t>& starts,
                                       const GrowingArray<uint32_t>& by_key,
                                       const QueryLimits& limits);

  // The number of places of all keys. Rows with a NULL among the values have no place.
  uint32_t places() const { return static_cast<uint32_t>(rows_.size()); }
  uint32_t row(uint32_t place) const { return rows_[place]; }
  // The first place in [place, end) whose other value is at least `least`, or `end`. If the join
  // compares no other value, `place`.
  uint32_t next(uint32_t place, uint32_t end, uint64_t least) const;
  size_t memory_bytes() const;

 private:
  friend class RangeFinder;

  static constexpr uint32_t kFanBits = 4;

  struct Order;  // the values of the rows while they are ordered

  RangeRows() = default;
  void add_key(const uint32_t* rows, uint32_t count, Order* order);
  void make_maxima();

  // The probe side of the comparisons, from the join's predicates; nullptr: no such bound.
  const Expression* lower_ = nullptr;  // of the ordered value
  const Expression* upper_ = nullptr;
  const Expression* other_ = nullptr;
  bool is_other_mirrored_ = false;  // other_ is an upper bound: complements are compared
  GrowingArray<uint32_t> starts_;   // by key, and the end: the first place
  GrowingArray<uint64_t> values_;   // by place, ascending within a key
  GrowingArray<uint32_t> rows_;     // by place
  // By place, and then, level by level, the maxima of 2^kFanBits values below.
  std::vector<GrowingArray<uint64_t>> other_values_;
};

class RangeFinder {
 public:
  // The wanted places are `next` and those that RangeRows::next(.., end, least) leads to. The range
  // is empty if next == end.
  struct Range {
    uint32_t next;
    uint32_t end;
    uint64_t least;
  };

  // `rows` outlives it.
  RangeFinder(const RangeRows& rows, const QueryLimits& limits);

  // Sets ranges[k] for the k-th selected row, whose key has number numbers[k], or KeyTable::kNoKey.
  // `numbers` is nullptr if the join has no keys.
  void find(const Batch& batch, const Selection& rows, const uint32_t* numbers, Range* ranges);

 private:
  // Sets prefixes_ to the bound's values by k, and empties the ranges of rows whose value is NULL.
  // Returns false if a value fails; only the pairs show whether that value is needed.
  bool evaluate(ExpressionNode* bound, const Batch& batch, const Selection& rows, Range* ranges);

  const RangeRows& rows_;
  NodePtr lower_;
  NodePtr upper_;
  NodePtr other_;
  std::vector<uint64_t> prefixes_;
};

}  // namespace diptych::olap
