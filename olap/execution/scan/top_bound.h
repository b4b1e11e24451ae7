// TopBound: what a sort with a LIMIT (top-k) tells the scan below it: rows whose first key is worse
// than that of the last of the best rows known are not among the rows wanted.
//
//   scan: predicates ─► bound, join filters ─► other columns ─► ... ─► sort by k limit n
//     ▲                                                                    │
//     └──────────── k <= the n-th best so far, as of each morsel ◄─────────┘
//
// The bound is a condition on one column: it skips leaves by their summaries and rows by their
// codes, so columns that only the result shows are not decoded, nor rows joined, that it will not
// have. Leaves go best first where a scan is alone, so that the last orders of all are found in the
// leaves that have them. The best rows of any worker are a bound for all.
//
// Between the two, rows go one by one, or as a join's probe side, and keep the column: a row that
// is dropped takes none of the others with it. What would have failed for such a row may not fail.
//
// Threads    any; a Bound is immutable.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "olap/execution/scan/column_predicate.h"
#include "olap/execution/scan/leaf_filter.h"
#include "olap/execution/vector/column_store.h"
#include "olap/plan.h"
#include "storage/leaf.h"

namespace diptych::olap {

// The scan whose rows a sort may bound, and the scan's column that is its first key.
struct BoundedScan {
  const Operator* scan;
  uint32_t column;
};
// Nothing: the key is no column of a scan, or of none whose rows may be dropped; or of a type
// without a bound.
std::optional<BoundedScan> bounded_scan(const Operator& sort);

class TopBound {
 public:
  TopBound(const Operator& sort, const BoundedScan& bounded);

  // There are as many rows as are wanted whose first key is rows' at `last` or better.
  void tighten(const ColumnStore& rows, size_t last);

  class Bound {
   public:
    enum class Says : uint8_t { kNothing, kAsk, kNone };

    // `bounded`: of the scan's columns, with the condition as its one predicate.
    Bound(const Operator& bounded, bool wants_nulls);
    // Whether rows of the leaf may be wanted: all of them, those of the condition, or none.
    Says of(const storage::Leaf& leaf) const;
    const ColumnCondition& condition() const { return conditions_[0]; }

   private:
    base::ColumnId column_;
    bool wants_nulls_;  // beside those of the condition
    LeafFilter leaves_;
    std::vector<ColumnCondition> conditions_;  // one; none: codes do not tell
  };
  // As of now, and there until this goes; nullptr: there is none yet.
  const Bound* bound() const;

  // Leaves of a lower rank may have better rows.
  uint64_t rank(const storage::Leaf& leaf) const;

 private:
  using Key = std::variant<std::monostate, int64_t, double, std::string>;  // monostate: NULL

  Key key_of(const ColumnStore& rows, size_t row) const;
  bool is_better(const Key& key, const Key& other) const;
  ExpressionPtr condition_of(const Key& key) const;

  const SortKey key_;
  const Operator& scan_;
  const uint32_t column_;
  mutable std::mutex mutex_;  // of the following
  std::optional<Key> last_;
  std::vector<std::unique_ptr<const Bound>> bounds_;  // one tighter than the other
};

}  // namespace diptych::olap
