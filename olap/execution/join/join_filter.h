// JoinFilter: a join above a scan. The scan uses it to drop rows that the join would drop, before
// it loads the other columns that the plan reads, and before the joins in between probe.
//
//   scan: predicates ─► implied ranges, join filters ─► other columns ─► probe ─► probe ─► ...
//
// Leaves without a value between the bounds of the join's integer keys are not scanned
// (leaf_filter.h). Single rows are tested as well: by their keys if these are dense, and otherwise
// by each key column for which the table has a set of values. The join probes the remaining rows
// again, so a test pays only if it drops most rows: a worker stops testing if more than one row in
// kJoinFilterShare passes.
//
// The join may also compare a column of the scan with a build column (Q21: lines that were
// delivered later). Rows beyond all build values then have no match either. The implied range is a
// condition on one column, which skips leaves and is evaluated on codes. For a single build row,
// such as a subquery's value, the range is the whole comparison.
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
  std::vector<ColumnRange> implied;  // ranges of the scan's columns

  bool drops_rows() const {
    return !table->key_bounds().empty() || !table->column_sets().empty() || !implied.empty();
  }
};

// The range of a probe column, one of the first `columns`, in which a predicate of the join, its
// comparison with a column of the table, can hold. Exact if the table has one row.
std::optional<ColumnRange> implied_range(const Operator& join, const JoinTable& table,
                                         const Expression& predicate, size_t columns);

// The filter that a built table implies for the scan below the join.
JoinFilter join_filter(const Operator& join, const JoinTable& table, const Operator& scan);

// The scan below this join that may use it as a filter, or nullptr. The rows go from the scan to
// the probe side one by one, and the join drops rows without a match. Computed keys may fail for
// rows that operators in between would drop, so a join with such keys is used only if there are
// none.
const Operator* filtered_scan(const Operator& join);

class JoinFilterProbe {
 public:
  // The filter pays if at most one in this number of tested rows passes.
  static constexpr uint64_t kJoinFilterShare = 4;

  // The join's keys are dense.
  JoinFilterProbe(const JoinFilter& filter, const QueryLimits& limits);
  // Tests one column of the keys. The table has the set.
  JoinFilterProbe(const JoinFilter& filter, const KeyColumnSet& set, const QueryLimits& limits);

  // The scan's columns that narrow() reads.
  const std::vector<uint32_t>& columns() const { return columns_; }
  bool pays() const { return asked_ < kTrialRows || passed_ * kJoinFilterShare <= asked_; }
  // Narrows *rows to the rows that the join may keep. It may be the batch's selection.
  void narrow(const Batch& batch, Selection* rows);

 private:
  static constexpr uint64_t kTrialRows = 16 * kVectorRows;

  void compile(const Expression& key, const QueryLimits& limits);

  const JoinTable& table_;
  const KeyColumnSet* set_ = nullptr;  // nullptr: all key columns are tested
  std::vector<NodePtr> keys_;
  std::vector<uint32_t> columns_;
  std::vector<Vector> key_vectors_;
  uint64_t asked_ = 0;
  uint64_t passed_ = 0;
};

}  // namespace diptych::olap
