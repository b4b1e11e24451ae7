// RangeRows: of each key's build rows, those whose values can lie where a join's comparisons want
// them, so that a range join does not ask every pair of rows. RangeFinder finds them for the rows
// of a batch.
//
//   on p.at >= b.first and p.at < b.last          the build rows in the order of `first`:
//
//     place    0   1   2   3   4       p.at = 8: places [0, 3) by `first`, found by binary search,
//     first    1   4   4   9  12       and of these the ones whose `last` is 8 or more: 2. The
//     last     3   6   9  11  20       maxima of `last` over places tell where the next one is.
//
// One value of the build side, a column or computed, orders the rows; the comparisons with it bound
// them from below, from above, or both. A comparison of another value is asked of the maxima: with
// one bound each way, this is an interval tree (Cormen et al., Introduction to Algorithms, 17.3)
// that lies in arrays. Joins with keys order the rows of each key.
//
// Superset   Values are taken for the eight bytes of their order (sort_prefix.h), and < for <=: the
//            join asks its predicates of the pairs that are found. A NULL is in no range.
//
// Threads    RangeRows: immutable once made. RangeFinder: one worker's.

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

// Whether comparisons of the join bound a value of its build side.
bool has_ranges(const Operator& join);

class RangeRows {
 public:
  // Fewer rows of a key are asked as fast as they are searched.
  static constexpr uint32_t kRowsMin = 64;

  // The rows of key n are by_key[i] for i in [starts[n], starts[n + 1]); both are empty where the
  // join has no keys, and all rows are one key's. Nothing where no comparison of the join bounds a
  // value of the build side, or each key has few rows.
  static std::optional<RangeRows> make(const Operator& join, const ColumnStore& rows,
                                       const GrowingArray<uint32_t>& starts,
                                       const GrowingArray<uint32_t>& by_key,
                                       const QueryLimits& limits);

  // Places of all keys; rows with a NULL among the values have none.
  uint32_t places() const { return static_cast<uint32_t>(rows_.size()); }
  uint32_t row(uint32_t place) const { return rows_[place]; }
  // The first of the places [place, end) whose other value is `least` or more; `end`: there is
  // none, or no other value is asked.
  uint32_t next(uint32_t place, uint32_t end, uint64_t least) const;
  size_t memory_bytes() const;

 private:
  friend class RangeFinder;

  static constexpr uint32_t kFanBits = 4;

  struct Order;  // what is known of the rows while they are ordered

  RangeRows() = default;
  void add_key(const uint32_t* rows, uint32_t count, Order* order);
  void make_maxima();

  // The probe's values, of the join's predicates; nullptr: there is no such bound.
  const Expression* lower_ = nullptr;  // the ordered value is not below it
  const Expression* upper_ = nullptr;
  const Expression* other_ = nullptr;
  bool is_other_mirrored_ = false;  // the other value is not above it: complements compare
  GrowingArray<uint32_t> starts_;   // by key, and one more: places
  GrowingArray<uint64_t> values_;   // by place, ascending within a key
  GrowingArray<uint32_t> rows_;     // by place
  std::vector<GrowingArray<uint64_t>>
      other_values_;  // by place; then of 2^kFanBits the greatest...
};

class RangeFinder {
 public:
  // Places [next, end) of which next() tells those that are wanted, `next` the first; none: both
  // are equal.
  struct Range {
    uint32_t next;
    uint32_t end;
    uint64_t least;
  };

  // `rows` outlives it.
  RangeFinder(const RangeRows& rows, const QueryLimits& limits);

  // ranges[k] = that of the k-th selected row, whose key is numbers[k], or KeyTable::kNoKey;
  // nullptr: the join has no keys.
  void find(const Batch& batch, const Selection& rows, const uint32_t* numbers, Range* ranges);

 private:
  // prefixes_ of the bound's values by k; a row whose value is NULL has no range from here on.
  // False: a value fails. Whether a pair asks for that one is not known here.
  bool evaluate(ExpressionNode* bound, const Batch& batch, const Selection& rows, Range* ranges);

  const RangeRows& rows_;
  NodePtr lower_;
  NodePtr upper_;
  NodePtr other_;
  std::vector<uint64_t> prefixes_;
};

}  // namespace diptych::olap
