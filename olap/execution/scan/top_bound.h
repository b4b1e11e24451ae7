// TopBound: the bound that a sort with a LIMIT (top-k) gives to the scan below it. Rows whose first
// key is worse than that of the last of the best rows so far are not in the result.
//
//   scan: predicates ─► bound, join filters ─► other columns ─► ... ─► sort by k limit n
//     ▲                                                                    │
//     └──────────── k <= the n-th best so far, as of each morsel ◄─────────┘
//
// The bound is a condition on one column. It skips leaves by their summaries and rows by their
// codes, so rows that are not in the result are neither decoded nor joined. A scan that is alone in
// its pass reads the leaves with the best values first, so that the bound is tight early. The best
// rows of any worker are a bound for all workers.
//
// Operators between the scan and the sort treat rows one by one, or take them as a join's probe
// side, and keep the column, so dropping a row affects no other row. Errors that expressions would
// raise for dropped rows may not occur.
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

// A scan whose rows a sort may bound, and the scan's column that is the sort's first key.
struct BoundedScan {
  const Operator* scan;
  uint32_t column;
};
// nullopt if the first key is not a column of a scan whose rows may be dropped, or if its type has
// no bounds.
std::optional<BoundedScan> bounded_scan(const Operator& sort);

class TopBound {
 public:
  TopBound(const Operator& sort, const BoundedScan& bounded);

  // Called when as many rows as are wanted have a first key that is at least as good as that of row
  // `last` in `rows`.
  void tighten(const ColumnStore& rows, size_t last);

  class Bound {
   public:
    enum class Says : uint8_t { kNothing, kAsk, kNone };

    // `bounded` is a scan of the same columns with the condition as its only predicate.
    Bound(const Operator& bounded, bool wants_nulls);
    // Which rows of the leaf may be wanted: all (kNothing), those that pass the condition (kAsk),
    // or none (kNone).
    Says of(const storage::Leaf& leaf) const;
    const ColumnCondition& condition() const { return conditions_[0]; }

   private:
    base::ColumnId column_;
    bool wants_nulls_;  // nulls are wanted as well
    LeafFilter leaves_;
    std::vector<ColumnCondition> conditions_;  // one; empty if codes cannot be tested
  };
  // The current bound, which lives as long as this object; nullptr: there is none yet.
  const Bound* bound() const;

  // The order of leaves: those of a lower rank may have better rows.
  uint64_t rank(const storage::Leaf& leaf) const;

 private:
  using Key = std::variant<std::monostate, int64_t, double, std::string>;  // monostate: NULL

  Key key_of(const ColumnStore& rows, size_t row) const;
  bool is_better(const Key& key, const Key& other) const;
  ExpressionPtr condition_of(const Key& key) const;

  const SortKey key_;
  const Operator& scan_;
  const uint32_t column_;
  mutable std::mutex mutex_;  // guards the following members
  std::optional<Key> last_;
  std::vector<std::unique_ptr<const Bound>> bounds_;  // each tighter than the one before
};

}  // namespace diptych::olap
