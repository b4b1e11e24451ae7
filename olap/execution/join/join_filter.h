// JoinFilter: a join above a scan, asked by the scan which of its rows the join would drop, before
// the other columns that the plan reads are loaded and the joins in between probe.
//
//   scan: predicates ─► implied ranges, join filters ─► other columns ─► probe ─► probe ─► ...
//
// Leaves without a value between the bounds of the join's integer keys are not scanned at all
// (leaf_filter.h); rows are asked about where the keys are dense. A row that stays is probed again
// by its join, so asking is for joins that drop most rows: one that lets more than one in
// kJoinFilterShare through is not asked any more by that worker.
//
// Where the join also compares a column of the scan with one of the build side (Q21: lines that
// were delivered later), rows beyond all of the build side's values have no match either: the
// range implied is a condition on one column, which skips leaves and is answered on codes. Of one
// build row, as a subquery's value is, that is all the join asks: it compares with the value.
//
// Threads    the list is the plan's; a JoinFilterProbe belongs to one worker.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/join/join_table.h"
#include "olap/execution/vector/column_range.h"
#include "olap/plan.h"

namespace diptych::olap {

struct JoinFilter {
  const Operator* join;
  const JoinTable* table;            // built
  std::vector<ColumnRange> implied;  // of the scan's columns

  bool drops_rows() const { return !table->key_bounds().empty() || !implied.empty(); }
};

// The values of a probe column, one of the first `columns`, for which the predicate of the join, a
// comparison with a column of the table, can hold; exact where the table has one row.
std::optional<ColumnRange> implied_range(const Operator& join, const JoinTable& table,
                                         const Expression& predicate, size_t columns);

// What the table, built, implies for the scan that may ask the join.
JoinFilter join_filter(const Operator& join, const JoinTable& table, const Operator& scan);

// The scan below this join that may ask it: rows go from there to its probe side one by one, and
// those without a match do not come out of it. nullptr: there is none. Keys that are computed may
// fail for rows which go on the way; such a join is asked only where nothing is between.
const Operator* filtered_scan(const Operator& join);

class JoinFilterProbe {
 public:
  // One row in so many that are asked about may pass.
  static constexpr uint64_t kJoinFilterShare = 4;

  // Its keys are dense.
  JoinFilterProbe(const JoinFilter& filter, const QueryLimits& limits);

  // The scan's columns that narrow() reads.
  const std::vector<uint32_t>& columns() const { return columns_; }
  bool pays() const { return asked_ < kTrialRows || passed_ * kJoinFilterShare <= asked_; }
  // Leaves in *rows those of the batch that the join would keep. It may be the batch's selection.
  void narrow(const Batch& batch, Selection* rows);

 private:
  static constexpr uint64_t kTrialRows = 16 * kVectorRows;

  const JoinTable& table_;
  std::vector<NodePtr> keys_;
  std::vector<uint32_t> columns_;
  std::vector<Vector> key_vectors_;
  uint64_t asked_ = 0;
  uint64_t passed_ = 0;
};

}  // namespace diptych::olap
